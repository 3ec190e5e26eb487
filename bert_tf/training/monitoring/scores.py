"""Dev-set scores of a run, which decide which weights are the best."""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from bert_tf import files

_Line = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What a model reaches on a dev set.

    Attributes:
      metrics: by name.
      confusion: [C C], how often each label (rows) got each answer (columns), in the order of the
        task's labels; empty where there are no labels, or too many to show.
    """

    metrics: dict[str, float]
    confusion: list[list[int]] = dataclasses.field(default_factory=list)


def results(last: _Line | None, best: _Line | None, prefix: str = "") -> dict[str, Any]:
    """Everything for eval_results.txt: the last weights' metrics, then the best weights'.

    Args:
      last, best: metrics with `step`, the updates behind the weights; None: there are none.
      prefix: of the names of the metrics, e.g. "eval_".
    """
    named = {}
    for which, line in (("", last), ("best_", best)):
        if line is not None:
            named[f"{which}global_step"] = line["step"]
            metrics = {name: value for name, value in line.items() if name != "step"}
            named |= {f"{which}{prefix}{name}": value for name, value in metrics.items()}
    return named


class Scores:
    """The scores in `scores.jsonl`: a JSON object per line, with `step` and the metrics.

    Args:
      directory: the model directory.
      main_metric: the metric that decides; higher is better.
    """

    def __init__(self, directory: str, main_metric: str) -> None:
        self._path = os.path.join(directory, "scores.jsonl")
        self._main_metric = main_metric
        self._lines: list[dict[str, Any]] = []
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                self._lines = [json.loads(line) for line in file]

    def forget_after(self, step: int) -> None:
        """Drops the scores of updates that a restart runs again."""
        self._lines = [line for line in self._lines if line["step"] <= step]

    def add(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Adds the scores of the weights after `step` updates; `write` puts them on the disk.

        Returns:
          Whether they are the best so far; of two equal ones the earlier is.
        """
        best = self.best
        self._lines.append({"step": step, **metrics})
        return best is None or metrics[self._main_metric] > best[self._main_metric]

    def write(self) -> None:
        """Writes the file."""
        files.write_text(self._path, "".join(json.dumps(line) + "\n" for line in self._lines))

    @property
    def best(self) -> dict[str, Any] | None:
        """The best line; None before the first evaluation."""
        return max(self._lines, key=lambda line: line[self._main_metric], default=None)

    @property
    def last(self) -> dict[str, Any] | None:
        """The newest line; None before the first evaluation."""
        return self._lines[-1] if self._lines else None

    def results(self, prefix: str = "") -> dict[str, Any]:
        """`results` of the last and the best line."""
        return results(self.last, self.best, prefix)
