"""Logs a run step by step, to `metrics.jsonl` and for TensorBoard.

Both are only looked at: a full disk costs lines and a warning, never the run.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat

import tensorflow as tf

from bert_tf import files
from bert_tf.training.monitoring import history

_VERSION = "brain.Event:2"  # without it TensorBoard ignores the start message


class MetricsLog:
    """Writes the lines that `history` describes.

    A restart drops the lines of updates that it will run again. Each line is one write to the end
    of the file, so that a kill cuts off one line at most, which the next start removes.

    Args:
      directory: the model directory; `metrics.jsonl` and `tensorboard/` are in it.
      step: updates behind the restored state.
      is_writer: of several worker processes only the chief writes.
      clock: gives seconds since 1970.
      **details: what else the line of this start holds, e.g. `environment=...`.
    """

    def __init__(
        self,
        directory: str,
        step: int,
        *,
        is_writer: bool = True,
        clock: Callable[[], float] = time.time,
        **details: dict[str, Any],
    ) -> None:
        self._clock = clock
        self._file: io.RawIOBase | None = None
        self._is_broken = self._has_warned = False
        if not is_writer:
            return
        self._path = os.path.join(directory, history.NAME)
        before = history.read(self._path)
        kept = b"".join(history.to_line(line) for line in before.up_to(step).lines)
        with files.replacing(self._path) as temporary, open(temporary, "wb") as file:
            file.write(kept)
        self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115  closed in `close`
        number = max((line["number"] for line in before.events("start")), default=0) + 1
        self._events = EventFile(os.path.join(directory, "tensorboard"), number, step, clock())
        self.event(
            step,
            "start",
            number=number,
            seconds_before=before.seconds,
            last_step=max(step, before.last_step),
            **details,
        )

    def add(self, step: int, values: Mapping[str, SupportsFloat]) -> None:
        """Logs values after `step` updates."""
        self._write(step, _numbers(values))

    def evaluation(
        self, step: int, metrics: Mapping[str, SupportsFloat], **details: object
    ) -> None:
        """Logs metrics on held-out data of the weights after `step` updates.

        A metric with the name of a training value appears in the same figure.

        Args:
          **details: what else is known of them, e.g. `confusion=...`.
        """
        values = {"event": "evaluation", "metrics": _numbers(metrics)} | details
        self._write(step, values, prefix="eval/")

    def phase(self, step: int, sizes: Mapping[str, int]) -> None:
        """Logs that a phase begins after `step` updates.

        Args:
          sizes: e.g. `{"max_seq_length": 512, "train_batch_size": 64}`.
        """
        self.event(step, "phase", sizes=sizes)

    def event(self, step: int, kind: str, **details: Any) -> None:
        """Logs an event of another kind, see `history`, e.g. "end" or "interrupted"."""
        self._write(step, {"event": kind} | details)

    def close(self) -> None:
        """Closes both files."""
        if self._file:
            self._file.close()
            self._guarded(self._events.close)
        self._file = None

    def _write(self, step: int, values: dict[str, Any], prefix: str = "") -> None:
        if not self._file:
            return
        now = self._clock()
        line = history.to_line({"step": int(step), "time": round(now, 3)} | values)
        self._guarded(self._append, self._file, line)
        scalars = values.get("metrics", {}) if "event" in values else values
        if scalars:
            scalars = {prefix + name: value for name, value in scalars.items()}
            self._guarded(self._events.add, int(step), now, scalars)
        self._guarded(self._events.flush)

    def _append(self, file: io.RawIOBase, line: bytes) -> None:
        # The line end completes what a full disk has left of the line before.
        line = b"\n" + line if self._is_broken else line
        self._is_broken = True
        if (file.write(line) or 0) < len(line):
            raise OSError("only part of a line was written")
        self._is_broken = False

    def _guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            function(*arguments)
        except (OSError, tf.errors.OpError) as error:
            if not self._has_warned:
                print(
                    f"WARNING: {self._path} or tensorboard/ next to it cannot be written ({error})."
                    " The run continues; its curves will have gaps.",
                    file=sys.stderr,
                    flush=True,
                )
            self._has_warned = True


def _numbers(values: Mapping[str, SupportsFloat]) -> dict[str, float]:
    return {
        name: value if isinstance(value, int) else float(value) for name, value in values.items()
    }


class EventFile:
    """A file of scalars for TensorBoard: TFRecords of `Event` messages.

    A restart tells TensorBoard where it resumes, so that the curves show every step once; the
    writer of `tf.summary` cannot do that.

    Args:
      directory: TensorBoard reads its files in the order of their names.
      number: of the process among those of the run, 1, 2, ...
      step: updates done; TensorBoard drops what earlier files hold of later ones.
      seconds: since 1970.
    """

    def __init__(self, directory: str, number: int, step: int, seconds: float) -> None:
        os.makedirs(directory, exist_ok=True)
        name = f"events.out.tfevents.{int(seconds):010d}.{number:05d}"
        self._writer = tf.io.TFRecordWriter(os.path.join(directory, name))
        self._write(tf.compat.v1.Event(wall_time=seconds, file_version=_VERSION))
        start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
        self._write(tf.compat.v1.Event(wall_time=seconds, step=step + 1, session_log=start))

    def add(self, step: int, seconds: float, values: Mapping[str, float]) -> None:
        """Writes scalars by tag; `seconds` counts from 1970."""
        scalars = [
            tf.compat.v1.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()
        ]
        summary = tf.compat.v1.Summary(value=scalars)
        self._write(tf.compat.v1.Event(wall_time=seconds, step=step, summary=summary))

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def _write(self, event: Any) -> None:
        self._writer.write(event.SerializeToString())
