"""Dev-set scores of a run, one line per evaluation; they tell which weights are the best."""

import json
import os

from bert_tf import files


class Scores:
    """The scores in `scores.jsonl`: one JSON object a line, with `step` and the metrics.

    Args:
      directory: str, the model directory.
      main_metric: str, the metric that decides; higher is better.
    """

    def __init__(self, directory, main_metric):
        self._path = os.path.join(directory, "scores.jsonl")
        self._main_metric = main_metric
        self._lines = []
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                self._lines = [json.loads(line) for line in file]

    def forget_after(self, step):
        """Drops the scores of updates that a restart runs again."""
        self._lines = [line for line in self._lines if line["step"] <= step]

    def add(self, step, metrics):
        """Keeps the scores of the weights after `step` updates.

        Returns:
          whether they are the best so far; of two equal ones the earlier is.
        """
        best = self.best
        self._lines.append({"step": step} | metrics)
        files.write_text(self._path, "".join(json.dumps(line) + "\n" for line in self._lines))
        return best is None or metrics[self._main_metric] > best[self._main_metric]

    @property
    def best(self):
        """The best line, a dict, or None before the first evaluation."""
        return max(self._lines, key=lambda line: line[self._main_metric], default=None)

    @property
    def last(self):
        """The newest line, a dict, or None before the first evaluation."""
        return self._lines[-1] if self._lines else None

    def results(self, prefix=""):
        """Everything for eval_results.txt: the last weights' metrics, then the best weights'.

        Args:
          prefix: str, put before the names of the metrics, e.g. "eval_".
        """
        if not self._lines:
            return {}
        last, best = dict(self.last), dict(self.best)
        results = {"global_step": last.pop("step"), "best_global_step": best.pop("step")}
        results |= {f"{prefix}{name}": value for name, value in last.items()}
        return results | {f"best_{prefix}{name}": value for name, value in best.items()}
