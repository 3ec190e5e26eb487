"""`metrics.jsonl`: the course of a run, a JSON object a line, as it is read back.

Every line has `step`, the number of updates done, and `time`, seconds since 1970. A line without
`event` holds values at that step: losses, accuracies, norms, speeds; null stands for one that was
not finite. The events:

    start        `number` 1, 2, ... of the process that trains; `seconds_before`, how long those
                 before it ran; `last_step`, the last one logged by then, above `step` where a
                 restart runs updates again; what else the caller tells, e.g. `environment`
    phase        the updates from here on have the sizes in `sizes`
    evaluation   `metrics` of these weights on held-out data
    interrupted  the run was asked to stop
    end          the run is complete
"""

import dataclasses
import json
import math

NAME = "metrics.jsonl"
_NOT_VALUES = ("step", "time", "event")


@dataclasses.dataclass(frozen=True)
class History:
    """The lines of a run.

    Attributes:
      lines: list of dicts, in the order of the file.
      num_damaged: int, lines that could not be read, e.g. one that a kill cut off.
    """

    lines: list
    num_damaged: int = 0

    def up_to(self, step):
        """The history without what came after `step` updates."""
        kept = [line for line in self.lines if line["step"] <= step]
        return History(kept, self.num_damaged)

    def events(self, kind):
        """The lines of one kind of event."""
        return [line for line in self.lines if line.get("event") == kind]

    def names(self):
        """Names of the values, in the order of their first line."""
        found = {}
        for line in self.lines:
            if "event" not in line:
                found |= dict.fromkeys(line)
        return [name for name in found if name not in _NOT_VALUES]

    def series(self, name):
        """Steps and values of one name.

        Returns:
          (list of int, list of float), NaN for a value that was not finite.
        """
        lines = [line for line in self.lines if "event" not in line and name in line]
        return [line["step"] for line in lines], [_number(line[name]) for line in lines]

    def evaluations(self):
        """Dict from step to metrics; of two evaluations of one step the later counts."""
        return {
            line["step"]: {name: _number(value) for name, value in line["metrics"].items()}
            for line in self.events("evaluation")
        }

    def phases(self):
        """The first lines of the phases; a restart that tells its phase again begins none."""
        found = []
        for line in self.events("phase"):
            if not found or line["sizes"] != found[-1]["sizes"]:
                found.append(line)
        return found

    @property
    def last_step(self):
        """The largest number of updates in it, or 0."""
        return max((line["step"] for line in self.lines), default=0)

    @property
    def seconds(self):
        """How long the processes ran, updates that were run again included."""
        starts = self.events("start")
        if not starts:
            return 0.0
        return starts[-1]["seconds_before"] + self.lines[-1]["time"] - starts[-1]["time"]

    @property
    def state(self):
        """ "complete", "interrupted", or "unfinished": it runs, or was killed."""
        last = self.lines[-1].get("event") if self.lines else None
        return {"end": "complete", "interrupted": "interrupted"}.get(last, "unfinished")


def read(path):
    """Reads a file; a missing one is an empty history.

    Lines that are damaged are counted and left out: they are there to be looked at, and nothing
    that a run computes depends on them.
    """
    try:
        with open(path, "rb") as file:
            found = [_parse(line) for line in file if line.strip()]
    except FileNotFoundError:
        return History([])
    lines = [line for line in found if line is not None]
    return History(lines, len(found) - len(lines))


def to_line(values):
    """One line of the file, bytes.

    Args:
      values: dict; numbers that are not finite become null, which every reader of JSON knows.
    """
    return (json.dumps(_finite(values), ensure_ascii=False, allow_nan=False) + "\n").encode()


def _parse(line):
    try:
        values = json.loads(line)
    except ValueError:
        return None
    is_good = isinstance(values, dict) and all(
        isinstance(values.get(name), kind) for name, kind in (("step", int), ("time", int | float))
    )
    return values if is_good and _is_whole_event(values) else None


_EVENT_KEYS = {
    "start": {"number": int, "seconds_before": int | float, "last_step": int},
    "phase": {"sizes": dict},
    "evaluation": {"metrics": dict},
}


def _is_whole_event(values):
    wanted = _EVENT_KEYS.get(values.get("event"), {})
    return all(isinstance(values.get(name), kind) for name, kind in wanted.items())


def _finite(value):
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if value is None or isinstance(value, str | int):
        return value
    value = float(value)
    return value if math.isfinite(value) else None


def _number(value):
    return float(value) if isinstance(value, int | float) else math.nan
