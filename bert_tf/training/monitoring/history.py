"""Reads `metrics.jsonl`, the log of a run: a JSON object per line.

Every line has `step`, the number of updates done, and `time`, seconds since 1970. A line without
`event` holds values at that step: losses, accuracies, norms, speeds; null means not finite. The
events:

    start        `number` 1, 2, ... of the process that trains; `seconds_before`, how long the
                 earlier ones ran; `last_step`, the last one logged by then, above `step` where a
                 restart runs updates again; further details such as `environment`
    plan         the run makes `num_steps` updates, unless it ends early
    phase        the updates from here on have the sizes in `sizes`
    evaluation   `metrics` of these weights on held-out data; of a classifier `confusion` too, see
                 `scores.Evaluation`
    peak         `flops_per_second` of all devices, which `mfu` is relative to
    interrupted  the run was asked to stop
    end          the run is complete; of one that ended early, `early_stopping` says why and
                 `num_steps` how many updates there were to be
"""

import dataclasses
import json
import math
import os
from typing import Any

NAME = "metrics.jsonl"
_NOT_VALUES = ("step", "time", "event")
_Line = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class History:
    """The lines of a run.

    Attributes:
      lines: in the order of the file.
      num_damaged: lines that could not be read, e.g. one that a kill cut off.
    """

    lines: list[_Line]
    num_damaged: int = 0

    def up_to(self, step: int) -> "History":
        """The history without what came after `step` updates."""
        kept = [line for line in self.lines if line["step"] <= step]
        return History(kept, self.num_damaged)

    def events(self, kind: str) -> list[_Line]:
        """The lines of one kind of event."""
        return [line for line in self.lines if line.get("event") == kind]

    def names(self) -> list[str]:
        """Names of the values, in the order of their first line."""
        lines = (line for line in self.lines if "event" not in line)
        names = dict.fromkeys(name for line in lines for name in line)
        return [name for name in names if name not in _NOT_VALUES]

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """Steps and values of one name; NaN for a value that was not finite."""
        lines = [line for line in self.lines if "event" not in line and name in line]
        return [line["step"] for line in lines], [_number(line[name]) for line in lines]

    def evaluations(self) -> dict[int, dict[str, float]]:
        """Metrics by step; of two evaluations of one step the later counts."""
        return {
            line["step"]: {name: _number(value) for name, value in line["metrics"].items()}
            for line in self.events("evaluation")
        }

    def phases(self) -> list[_Line]:
        """The first lines of the phases; the same phase logged again is not a new one."""
        phases: list[_Line] = []
        for line in self.events("phase"):
            if not phases or line["sizes"] != phases[-1]["sizes"]:
                phases.append(line)
        return phases

    @property
    def last_step(self) -> int:
        """The largest number of updates in it, or 0."""
        return max((line["step"] for line in self.lines), default=0)

    @property
    def seconds(self) -> float:
        """How long the processes ran, repeated updates included."""
        starts = self.events("start")
        if not starts:
            return 0.0
        return starts[-1]["seconds_before"] + self.lines[-1]["time"] - starts[-1]["time"]

    @property
    def state(self) -> str:
        """One of "complete", "interrupted" and "unfinished", which is running or was killed."""
        last = self.lines[-1].get("event") if self.lines else None
        return {"end": "complete", "interrupted": "interrupted"}.get(last or "", "unfinished")


def read(path: str | os.PathLike[str]) -> History:
    """Reads a file; a missing one is an empty history.

    Damaged lines are counted and left out, because nothing that a run computes depends on them.
    """
    try:
        with open(path, "rb") as file:
            parsed = [_parse(line) for line in file if line.strip()]
    except FileNotFoundError:
        return History([])
    lines = [line for line in parsed if line is not None]
    return History(lines, len(parsed) - len(lines))


def to_line(values: _Line) -> bytes:
    """A line of the file; numbers that are not finite become null, which is standard JSON."""
    return (json.dumps(_finite(values), ensure_ascii=False, allow_nan=False) + "\n").encode()


def _parse(line: bytes) -> _Line | None:
    try:
        values = json.loads(line)
    except ValueError:
        return None
    is_good = isinstance(values, dict) and all(
        isinstance(values.get(name), kind) for name, kind in (("step", int), ("time", int | float))
    )
    return values if is_good and _is_complete_event(values) else None


_EVENT_KEYS: dict[str, dict[str, Any]] = {
    "start": {"number": int, "seconds_before": int | float, "last_step": int},
    "phase": {"sizes": dict},
    "evaluation": {"metrics": dict},
}


def _is_complete_event(values: _Line) -> bool:
    wanted = _EVENT_KEYS.get(values.get("event", ""), {})
    return all(isinstance(values.get(name), kind) for name, kind in wanted.items())


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if value is None or isinstance(value, str | int):
        return value
    value = float(value)
    return value if math.isfinite(value) else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
