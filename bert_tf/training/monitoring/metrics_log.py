"""What a run does, step by step: into `metrics.jsonl` and to TensorBoard.

Both are for people: a full disk costs lines and a warning, never the run.
"""

import os
import sys
import time

import tensorflow as tf

from bert_tf import files
from bert_tf.training.monitoring import history
from bert_tf.training.monitoring.event_file import EventFile


class MetricsLog:
    """Writes the lines that `history` describes.

    A restart drops the lines of updates that it will run again. Each line is one write to the end
    of the file, so that a kill loses a piece of a line at most, which the next start removes.

    Args:
      directory: str, the model directory; `metrics.jsonl` and `tensorboard/` are in it.
      step: int, updates done, those of the restored state.
      is_writer: bool; of several worker processes only the chief writes.
      clock: gives seconds since 1970.
      **details: dicts that the line of this start is to hold, e.g. `environment=...`.
    """

    def __init__(self, directory, step, *, is_writer=True, clock=time.time, **details):
        self._clock = clock
        self._file = self._events = None
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

    def add(self, step, values):
        """Logs values at a step.

        Args:
          step: int, updates done.
          values: dict from name to a number, or to what `float` makes one of.
        """
        self._write(step, _numbers(values))

    def evaluation(self, step, metrics):
        """Logs metrics on held-out data of the weights after `step` updates.

        Args:
          step: int.
          metrics: dict from name to number; those of the name of a training value are drawn
            into the same figure.
        """
        metrics = _numbers(metrics)
        self._write(step, {"event": "evaluation", "metrics": metrics}, prefix="eval/")

    def phase(self, step, sizes):
        """Logs that a phase begins after `step` updates.

        Args:
          step: int.
          sizes: dict, e.g. `{"max_seq_length": 512, "train_batch_size": 64}`.
        """
        self.event(step, "phase", sizes=sizes)

    def event(self, step, kind, **details):
        """Logs an event of another kind, see `history`, e.g. "end" or "interrupted"."""
        self._write(step, {"event": kind} | details)

    def close(self):
        """Ends both files."""
        if self._file:
            self._file.close()
            self._guarded(self._events.close)
        self._file = None

    def _write(self, step, values, prefix=""):
        if not self._file:
            return
        now = self._clock()
        line = history.to_line({"step": int(step), "time": round(now, 3)} | values)
        self._guarded(self._append, line)
        scalars = values.get("metrics", {}) if "event" in values else values
        if scalars:
            scalars = {prefix + name: value for name, value in scalars.items()}
            self._guarded(self._events.add, int(step), now, scalars)
        self._guarded(self._events.flush)

    def _append(self, line):
        # The line end closes what a full disk has left of the line before.
        line = b"\n" + line if self._is_broken else line
        self._is_broken = True
        if self._file.write(line) < len(line):
            raise OSError("only part of a line was written")
        self._is_broken = False

    def _guarded(self, function, *arguments):
        try:
            function(*arguments)
        except (OSError, tf.errors.OpError) as error:
            if not self._has_warned:
                print(
                    f"WARNING: {self._path} or tensorboard/ beside it cannot be written ({error}). "
                    "The run goes on; its curves will have gaps.",
                    file=sys.stderr,
                    flush=True,
                )
            self._has_warned = True


def _numbers(values):
    return {
        name: value if isinstance(value, int) else float(value) for name, value in values.items()
    }
