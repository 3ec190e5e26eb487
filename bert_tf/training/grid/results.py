"""The scores of the runs of a grid: kept, compared and shown."""

import dataclasses
import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.formatting import number
from bert_tf.options.finetuning.grid import Value
from bert_tf.tasks import metrics
from bert_tf.training.grid.plan import PlannedRun, as_text, named

JSON_NAME, TSV_NAME = "grid_results.json", "grid_results.tsv"
_FORMAT = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a run.

    Attributes:
      name: its directory in `runs`.
      values: of the searched options.
      metrics: of its best weights on the dev set; empty if it failed.
      step: updates behind these weights.
      seconds: how long it took, over all of its starts.
      error: why it failed, or "".
    """

    name: str
    values: Mapping[str, Value]
    seed: int
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    error: str = ""

    @classmethod
    def of(cls, run: PlannedRun, **outcome: Any) -> "Result":
        """The result of a planned run."""
        return cls(name=run.name, values=dict(run.values), seed=run.seed, **outcome)

    @property
    def is_complete(self) -> bool:
        """Whether the run has a score."""
        return bool(self.metrics)


@dataclasses.dataclass(frozen=True)
class Point:
    """The complete runs with the same values.

    Attributes:
      scores: of the main metric by seed.
    """

    values: Mapping[str, Value]
    scores: Mapping[int, float]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return statistics.fmean(self.scores.values())

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation over the seeds; None of a single one."""
        if math.isnan(self.mean):
            return math.nan
        return statistics.stdev(self.scores.values()) if len(self.scores) > 1 else None


@dataclasses.dataclass(frozen=True)
class Results:
    """The runs of a grid, in the order in which they were planned.

    Attributes:
      main_metric: the metric that decides, see `metrics.more_is_better`.
    """

    main_metric: str
    runs: Sequence[Result] = ()

    def get(self, name: str) -> Result | None:
        """The result of a run; None before it has one."""
        return next((run for run in self.runs if run.name == name), None)

    def with_run(self, result: Result) -> "Results":
        """These results with one more, or with another one for the same run."""
        if self.get(result.name):
            runs = [result if run.name == result.name else run for run in self.runs]
        else:
            runs = [*self.runs, result]
        return dataclasses.replace(self, runs=runs)

    def score(self, run: Result) -> float:
        """The main metric of a complete run."""
        return run.metrics[self.main_metric]

    @property
    def complete(self) -> list[Result]:
        """The runs with scores."""
        return [run for run in self.runs if run.is_complete]

    @property
    def failed(self) -> list[Result]:
        """The runs without."""
        return [run for run in self.runs if not run.is_complete]

    @property
    def best(self) -> Result | None:
        """The run with the best score, of equal ones the first; None if no run is complete."""
        return max(self.complete, key=lambda run: self._rank(self.score(run)), default=None)

    @property
    def by_score(self) -> list[Result]:
        """The complete runs, the best first."""
        return sorted(self.complete, key=lambda run: self._rank(self.score(run)), reverse=True)

    @property
    def points(self) -> list[Point]:
        """The points with a complete run, the best mean first."""
        groups: dict[str, tuple[Mapping[str, Value], dict[int, float]]] = {}
        for run in self.complete:
            _, scores = groups.setdefault(named(run.values), (run.values, {}))
            scores[run.seed] = self.score(run)
        points = [Point(values, scores) for values, scores in groups.values()]
        return sorted(points, key=lambda point: self._rank(point.mean), reverse=True)

    def best_score(self, point: Point) -> float:
        """That of the best of its runs."""
        return max(point.scores.values(), key=self._rank)

    def _rank(self, score: float) -> float:
        """What scores are compared by: NaN, as of a correlation with a constant, is the worst."""
        if math.isnan(score):
            return -math.inf
        return score if metrics.more_is_better(self.main_metric) else -score


def read(directory: str) -> Results | None:
    """The results in the directory of a grid; None if there are none yet.

    Raises:
      InputError: the file is damaged, or of a later version.
    """
    path = os.path.join(directory, JSON_NAME)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
            if found["format"] != _FORMAT:
                raise ValueError(f"it has format {found['format']!r}, {_FORMAT} was wanted")
            runs = [_read(run) for run in found["runs"]]
            return Results(found["main_metric"], runs)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} cannot be read ({error}); it should hold the scores of the grid's runs. "
                "Remove it, and the command makes again the runs whose weights are gone."
            ) from None


def _read(run: Mapping[str, Any]) -> Result:
    scores = {name: math.nan if x is None else x for name, x in run["metrics"].items()}
    names = [field.name for field in dataclasses.fields(Result)]
    return Result(**{name: run[name] for name in names} | {"metrics": scores})


def _written(run: Result) -> dict[str, Any]:
    scores = {name: _or_none(value) for name, value in run.metrics.items()}
    return dataclasses.asdict(run) | {"metrics": scores}


def _or_none(value: float | None) -> float | None:
    """None for what standard JSON does not have."""
    return value if value is not None and math.isfinite(value) else None


def write(directory: str, results: Results) -> None:
    """Writes both files, each completely or not at all."""
    best = results.best
    content = {
        "format": _FORMAT,
        "main_metric": results.main_metric,
        "best": best.name if best else None,
        "points": [
            {
                "values": point.values,
                "runs": len(point.scores),
                "mean": _or_none(point.mean),
                "standard_deviation": _or_none(point.deviation),
                "best": _or_none(results.best_score(point)),
            }
            for point in results.points
        ],
        "runs": [_written(run) for run in results.runs],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    files.write_text(os.path.join(directory, JSON_NAME), text)
    lines = ["\t".join(row) for row in rows(results)]
    files.write_text(os.path.join(directory, TSV_NAME), "".join(line + "\n" for line in lines))


def rows(results: Results) -> list[list[str]]:
    """The table of all runs with its header: for programs, so with every digit.

    A run has its own scores, and mean and standard deviation of those of its point.
    """
    searched = list(dict.fromkeys(name for run in results.runs for name in run.values))
    scores = list(dict.fromkeys(name for run in results.complete for name in run.metrics))
    points = {named(point.values): point for point in results.points}
    of_point = [f"mean_{results.main_metric}", f"std_{results.main_metric}"]
    found = [[*searched, "seed", *scores, *of_point, "step", "seconds", "run", "error"]]
    for run in results.runs:
        point = points.get(named(run.values))
        spread = (point.mean, point.deviation) if point else (None, None)
        found.append(
            [
                *(as_text(run.values[name]) for name in searched),
                str(run.seed),
                *(_full(run.metrics.get(name)) for name in scores),
                *map(_full, spread),
                str(run.step) if run.is_complete else "",
                f"{run.seconds:.1f}",
                run.name,
                " ".join(run.error.split()),
            ]
        )
    return found


def _full(value: float | None) -> str:
    return "" if value is None else repr(value)


def table(results: Results) -> str:
    """The points for a terminal, the best mean first: values, mean, deviation, every score.

    Where no point has several runs, a point has its score alone.
    """
    points, metric = results.points, results.main_metric
    searched = list(points[0].values) if points else []
    has_spread = any(point.deviation is not None for point in points)
    lines = [[*searched, *(["mean", "std", f"{metric} of each run"] if has_spread else [metric])]]
    for point in points:
        scores = " ".join(number(score) for score in point.scores.values())
        deviation = "" if point.deviation is None else number(point.deviation, 2)
        values = [as_text(point.values[name]) for name in searched]
        lines.append([*values, *([number(point.mean), deviation] if has_spread else []), scores])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n".join(f"  {row}" for row in rows)
