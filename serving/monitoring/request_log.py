"""The request log: a share of the requests of a model, in TFRecord files of PredictionLog records.

TensorFlow Serving has the configuration and the sampling, but its public sources have no log
collector. The one here, of type `tfrecord`, is ours. A file holds no more records than TensorFlow
Serving reads to warm a version up, so each can be given to one as
`assets.extra/tf_serving_warmup_requests`.
"""

import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError, invalid

COLLECTOR = "tfrecord"

MakeRecord = Callable[[], Any]

# A file ends after any of these.
_MAX_RECORDS = 1000  # TensorFlow Serving loads no version with more of them to warm up
_MAX_BYTES = 64 * 2**20
_MAX_SECONDS = 600

_MAX_WAITING = 256  # requests; they hold their tensors until they are written


class RequestLogs:
    """The logs of all models. May be called from any thread."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._logs: dict[tuple[str, bytes], _Log] = {}
        self._by_model: Mapping[str, Sequence[_Log]] = {}

    def configure(self, configs: Mapping[str, Sequence[Any]]) -> None:
        """Sets what is logged from now on; see `prepared`."""
        self.prepared(configs)()

    def prepared(self, configs: Mapping[str, Sequence[Any]]) -> Callable[[], None]:
        """Checks what is to be logged, and changes nothing.

        Args:
          configs: LoggingConfig messages by model name.

        Returns:
          What sets it. Logs whose configuration stays go on; the files of others are finished.

        Raises:
          ServingError: NOT_FOUND, there is no such collector; INVALID_ARGUMENT, nothing can be
            written there.
        """
        logs: dict[tuple[str, bytes], _Log] = {}
        for name, of_model in configs.items():
            for config in of_model:
                if config.log_collector_config.type:
                    key = (name, config.SerializeToString(deterministic=True))
                    logs[key] = self._logs.get(key) or self._made(name, config)
        return lambda: self._replace(logs)

    def _replace(self, logs: dict[tuple[str, bytes], "_Log"]) -> None:
        before, self._logs = self._logs, logs
        for key, log in logs.items():
            if key not in before:
                log.start()
        self._by_model = {
            name: [log for key, log in logs.items() if key[0] == name] for name, _ in logs
        }
        for key, log in before.items():
            if key not in logs:
                log.close()

    def _made(self, name: str, config: Any) -> "_Log":
        kind, prefix = config.log_collector_config.type, config.log_collector_config.filename_prefix
        if kind != COLLECTOR:
            raise ServingError(
                Code.NOT_FOUND,
                f"Cannot find LogCollector::Factory for type: {kind}. This server has "
                f'"{COLLECTOR}".',
            )
        rate = config.sampling_config.sampling_rate
        if not 0 <= rate <= 1:
            raise invalid(f"The sampling_rate of model {name} is {rate}; wanted: from 0 to 1.")
        directory = os.path.dirname(prefix) or "."
        if not prefix or not os.path.isdir(directory) or not os.access(directory, os.W_OK):
            raise invalid(
                f"The request log of model {name} has filename_prefix {prefix!r}. Wanted: a path "
                "in a directory that is there and can be written to, and how file names begin."
            )
        return _Log(name, prefix, rate, self._metrics)

    def log(self, model_name: str, make: MakeRecord) -> None:
        """Logs a request, if it is in the sample; the caller never waits.

        Args:
          make: makes the PredictionLog, later and in another thread.
        """
        for log in self._by_model.get(model_name, ()):
            log.offer(make)

    def close(self) -> None:
        """Writes what waits and finishes all files."""
        self.configure({})


class _Log:
    """One log, with a thread that writes."""

    def __init__(self, model_name: str, prefix: str, rate: float, metrics: Metrics) -> None:
        self._model_name, self._rate, self._metrics = model_name, rate, metrics
        self._files = _Files(prefix)
        self._waiting: queue.Queue[MakeRecord | None] = queue.Queue(_MAX_WAITING)
        self._thread = threading.Thread(target=self._write, name="request log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def offer(self, make: MakeRecord) -> None:
        if random.random() >= self._rate:
            return
        try:
            self._waiting.put_nowait(make)
        except queue.Full:
            self._count(Code.RESOURCE_EXHAUSTED)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _count(self, code: Code) -> None:
        self._metrics.request_log_count.add(self._model_name, code.name)

    def _write(self) -> None:
        while True:
            try:
                make = self._waiting.get(timeout=self._files.seconds_left())
            except queue.Empty:
                self._finish()
                continue
            if make is None:
                self._finish()
                return
            try:
                self._files.write(make().SerializeToString())
            except Exception:  # whatever a request holds, the next one is logged
                logging.exception("A request of model %s was not logged.", self._model_name)
                self._count(Code.INTERNAL)
            else:
                self._count(Code.OK)

    def _finish(self) -> None:
        try:
            self._files.finish()
        except Exception:  # the disk may be full, the directory gone
            logging.exception("A request log of model %s is lost.", self._model_name)


class _Files:
    """Record files, one after the other; each has another name until it is finished."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._number = 0
        self._writer: Any = None
        self._path = ""
        self._num_records = self._num_bytes = 0
        self._begin = 0.0

    def write(self, record: bytes) -> None:
        if self._writer is None:
            self._writer = self._opened()
        self._writer.write(record)
        self._num_records += 1
        self._num_bytes += len(record)
        if self._num_records >= _MAX_RECORDS or self._num_bytes >= _MAX_BYTES:
            self.finish()

    def _opened(self) -> Any:
        import tensorflow as tf  # takes seconds: not before something is logged

        self._number += 1
        when = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        self._path = f"{self._prefix}-{when}-{os.getpid()}-{self._number}.tfrecord"
        self._num_records = self._num_bytes = 0
        self._begin = time.monotonic()
        return tf.io.TFRecordWriter(self._unfinished)

    @property
    def _unfinished(self) -> str:
        return f"{self._path}.unfinished"

    def seconds_left(self) -> float | None:
        """How long the file may stay open; None: none is."""
        if self._writer is None:
            return None
        return max(0.0, self._begin + _MAX_SECONDS - time.monotonic())

    def finish(self) -> None:
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        writer.close()
        os.replace(self._unfinished, self._path)
