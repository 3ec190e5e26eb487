"""Dev-set scores of a run, which decide which weights are the best."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bert_tf import files
from bert_tf.tasks import metrics

_Line = Mapping[str, Any]


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
            named |= {
                f"{which}{prefix}{name}": value for name, value in line.items() if name != "step"
            }
    return named


class Scores:
    """The scores in `scores.jsonl`: a JSON object per line, with `step` and the metrics.

    Args:
      directory: the model directory.
      main_metric: the metric that decides, see `metrics.more_is_better`.
    """

    def __init__(self, directory: str, main_metric: str) -> None:
        self._path = os.path.join(directory, "scores.jsonl")
        self.main_metric = main_metric
        self._sign = 1 if metrics.more_is_better(main_metric) else -1
        self._lines: list[dict[str, Any]] = []
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                self._lines = [json.loads(line) for line in file]

    @property
    def lines(self) -> Sequence[_Line]:
        """`step` and the metrics of every evaluation, in order."""
        return self._lines

    def forget_after(self, step: int) -> None:
        """Drops the scores of updates that a restart runs again."""
        self._lines = [line for line in self._lines if line["step"] <= step]

    def add(self, step: int, values: Mapping[str, float]) -> bool:
        """Adds the scores of the weights after `step` updates; `write` puts them on the disk.

        Returns:
          Whether they are the best so far; of two equal ones the earlier is.
        """
        best = self.best
        self._lines.append({"step": step, **values})
        return best is None or self._rank(self._lines[-1]) > self._rank(best)

    def write(self) -> None:
        """Writes the file."""
        files.write_text(self._path, "".join(json.dumps(line) + "\n" for line in self._lines))

    def _rank(self, line: _Line) -> float:
        """What lines are compared by: NaN, as of a correlation with a constant, is the worst."""
        score = self._sign * line[self.main_metric]
        return -math.inf if math.isnan(score) else score

    @property
    def best(self) -> dict[str, Any] | None:
        """The best line; None before the first evaluation."""
        return max(self._lines, key=self._rank, default=None)

    @property
    def last(self) -> dict[str, Any] | None:
        """The newest line; None before the first evaluation."""
        return self._lines[-1] if self._lines else None

    def results(self, prefix: str = "") -> dict[str, Any]:
        """`results` of the last and the best line."""
        return results(self.last, self.best, prefix)
