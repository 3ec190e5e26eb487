"""Loads a SavedModel, and runs its warm-up requests, so that no client waits for the first run."""

import time
from collections.abc import Callable

from bert_tf import formatting
from serving.models import warmup
from serving.models.servable import Servable, SessionSettings
from serving.monitoring.metrics import Metrics
from serving.options import ModelFlags
from serving.status import Code, ServingError


class ServableLoader:
    """Gives servables that are ready to answer. May be called from several threads at once.

    Args:
      report: takes a line for the operator.
    """

    def __init__(
        self, options: ModelFlags, metrics: Metrics, report: Callable[[str], None]
    ) -> None:
        self._options, self._metrics, self._report = options, metrics, report
        intra_op, inter_op = options.session_threads
        tags = tuple(options.saved_model_tags.split(","))
        self._settings = SessionSettings(tags, intra_op=intra_op, inter_op=inter_op)

    def __call__(self, name: str, version: int, path: str) -> Servable:
        """Loads a version.

        Raises:
          ServingError: TensorFlow cannot load it, or a warm-up request fails.
        """
        start = time.monotonic()
        try:
            servable = Servable(name, version, path, self._settings)
        except ServingError:
            self._metrics.load_attempt_count.add(path, "fail")
            raise
        self._metrics.load_attempt_count.add(path, "success")
        self._metrics.load_latency.add(path, amount=_microseconds_since(start))
        if self._options.enable_model_warmup:
            try:
                self._warm_up(servable)
            except BaseException:
                servable.close()
                raise
        return servable

    def _warm_up(self, servable: Servable) -> None:
        start = time.monotonic()
        repeats = max(1, self._options.num_request_iterations_for_warmup)
        num_records, status = 0, Code.OK.name
        try:
            num_records = warmup.run(servable, repeats)
        except ServingError as error:
            status = str(error)
            raise
        finally:
            if num_records or status != Code.OK.name:
                microseconds = _microseconds_since(start)
                self._metrics.model_warmup_latency.observe(microseconds, servable.path, status)
                self._metrics.model_warmup_records_read.add(
                    servable.path, status, amount=num_records
                )
        if num_records:
            self._report(
                f"{servable.name}, version {servable.version}: {num_records} warm-up requests in "
                f"{formatting.duration(time.monotonic() - start)}."
            )


def _microseconds_since(start: float) -> float:
    return round((time.monotonic() - start) * 1e6)
