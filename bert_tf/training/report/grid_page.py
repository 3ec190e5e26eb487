"""The report of a grid: its runs side by side, and the answers of the best one."""

import dataclasses
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.formatting import duration
from bert_tf.training.grid import plan
from bert_tf.training.grid.plan import as_text
from bert_tf.training.grid.results import Point, Result, Results
from bert_tf.training.report import answers, evaluation, run_files
from bert_tf.training.report.figures import Frame, smoothed, thinned, ticks, value_range
from bert_tf.training.report.rendering import digits_to_tell_apart, number, render, shown, words
from bert_tf.training.report.rendering import is_share as is_share_of

_Floats = npt.NDArray[np.float64]

_STRIP = 240  # width of the scores of a point
_MARGIN = 10
_MAX_DOTS = 10  # of a curve whose points are drawn


@dataclasses.dataclass(frozen=True)
class Line:
    """What a figure shows of a run.

    Attributes:
      name: of the run.
      epochs, values: [n] each.
    """

    name: str
    epochs: _Floats
    values: _Floats
    is_best: bool


def page(directory: str, found: Results, title: str) -> str:
    """The report as HTML.

    Args:
      directory: of the grid.
      title: of the task.
    """
    best, metric = found.best, found.main_metric
    files = _read(os.path.join(directory, plan.RUNS, best.name)) if best else None
    return render(
        "grid.html",
        title=title,
        metric=words(metric),
        tiles=list(_tiles(found)),
        points=_points(found),
        runs=_runs(found),
        figures=list(_figures(directory, found)),
        best=best,
        files=files,
        confusion=evaluation.confusion(files) if files else {},
        answers=answers.shown(files.evaluation) if files else {},
        settings=_settings(best, files),
        failed=[(run.name, run.error) for run in found.failed],
    )


def _read(directory: str) -> run_files.Run | None:
    """The files of a run; None if they are gone."""
    try:
        return run_files.read(directory)
    except InputError:
        return None


def _tiles(found: Results) -> Iterator[tuple[str, str]]:
    metric, best = found.main_metric, found.best
    yield "runs with a score", f"{len(found.complete):,}"
    if found.failed:
        yield "runs that failed", f"{len(found.failed):,}"
    yield "time of all runs", duration(sum(run.seconds for run in found.runs))
    if best:
        yield f"{words(metric)} of the best run", shown(metric, found.score(best))
        point = found.points[0]
        yield f"{words(metric)} of the best point, mean", shown(metric, point.mean)


def _points(found: Results) -> dict[str, Any]:
    """A row for each point: values, mean, deviation, best, and its scores as a figure."""
    points = found.points
    if not points:
        return {}
    metric = found.main_metric
    scores = [each for point in points for each in point.scores.values() if math.isfinite(each)]
    low, high = (min(scores), max(scores)) if scores else (0.0, 1.0)
    header = [*points[0].values, "Runs", "Mean", "Standard deviation", "Best"]
    return {
        "header": header,
        "low": shown(metric, low),
        "high": shown(metric, high),
        "rows": [
            {
                "cells": [
                    *(as_text(value) for value in point.values.values()),
                    str(len(point.scores)),
                    shown(metric, point.mean),
                    ""
                    if point.deviation is None
                    else number(point.deviation, is_share_of(metric), 2),
                    shown(metric, found.best_score(point)),
                ],
                "svg": _strip(point, metric, low, high),
            }
            for point in points
        ],
    }


def _deviation(point: Point, is_share: bool) -> str:
    """With two digits: of a few seeds, more would mean nothing."""
    return "" if point.deviation is None else number(point.deviation, is_share, 2 + is_share)


def _strip(point: Point, metric: str, low: float, high: float) -> str:
    """The scores of a point as dots, mean and deviation as a bar; an `svg` element."""
    reach = high - low or 1.0

    def x(score: float) -> float:
        share = min(1.0, max(0.0, (score - low) / reach))
        return round(_MARGIN + (_STRIP - 2 * _MARGIN) * share, 1)

    deviation = point.deviation or 0.0
    mean = point.mean
    is_known = math.isfinite(mean)
    return render(
        "spread.svg",
        width=_STRIP,
        mean=x(mean) if is_known else None,
        ends=(x(mean - deviation), x(mean + deviation)) if is_known and deviation else None,
        dots=[
            (x(score), f"seed {seed}: {shown(metric, score)}")
            for seed, score in point.scores.items()
            if math.isfinite(score)
        ],
    )


def _runs(found: Results) -> evaluation.Table:
    """A row for each run with its scores, the best first."""
    if not found.complete:
        return {}
    names = list(dict.fromkeys(name for run in found.complete for name in run.metrics))
    order = found.by_score
    searched = list(order[0].values)
    return {
        "is_long": len(order) > answers.LONG,
        "header": [*searched, "Seed", *map(words, names), "After update", "Time"],
        "rows": [
            [
                *(as_text(run.values[name]) for name in searched),
                str(run.seed),
                *(shown(name, run.metrics[name]) if name in run.metrics else "" for name in names),
                f"{run.step:,}",
                duration(run.seconds),
            ]
            for run in order
        ],
    }


def _figures(directory: str, found: Results) -> Iterator[dict[str, str]]:
    """Metric and loss on the dev set, and the loss of the training, of every run."""
    logs = {}
    for run in found.complete:
        if files := _read(os.path.join(directory, plan.RUNS, run.name)):
            logs[run.name] = files
    best = found.best.name if found.best else ""
    for name in dict.fromkeys((found.main_metric, "loss")):
        held_out = [_held_out(run, files, name, run == best) for run, files in logs.items()]
        if lines := [line for line in held_out if len(line.values)]:
            title = f"{words(name)}, held-out"
            yield {"title": title, "svg": overlay(title, lines, is_share_of(name))}
    training = [_training(run, files, run == best) for run, files in logs.items()]
    if lines := [line for line in training if len(line.values)]:
        yield {"title": "Loss, training", "svg": overlay("Loss, training", lines, is_share=False)}


def _held_out(run: str, files: run_files.Run, name: str, is_best: bool) -> Line:
    evaluations = files.history.evaluations()
    steps, values = list(evaluations), [each.get(name, math.nan) for each in evaluations.values()]
    return Line(run, *_finite(steps, values, files), is_best)


def _training(run: str, files: run_files.Run, is_best: bool) -> Line:
    epochs, values = _finite(*files.history.series("loss"), files)
    return Line(run, *thinned(epochs, smoothed(epochs, values)), is_best)


def _finite(
    steps: Sequence[int], values: Sequence[float], files: run_files.Run
) -> tuple[_Floats, _Floats]:
    """Epochs and values, of the values that are finite."""
    totals = [line.get("num_steps") for line in files.history.events("plan")]
    total = (totals[-1] if totals else None) or max(1, files.history.last_step)
    epochs = np.array(steps, np.float64) * float(files.flags.get("num_train_epochs", 1)) / total
    known = np.array(values, np.float64)
    is_finite = np.isfinite(known)
    return epochs[is_finite], known[is_finite]


def overlay(title: str, lines: Sequence[Line], is_share: bool) -> str:
    """Draws the curves of several runs over the epochs, that of the best run on top.

    Args:
      is_share: whether values are shown in per cent.

    Returns:
      An `svg` element.
    """
    nothing = np.array([])
    low, high = value_range(nothing, nothing, np.concatenate([line.values for line in lines]))
    last = max(float(line.epochs.max()) for line in lines) or 1.0
    frame = Frame(last, low, high)
    value_ticks = ticks(low, high)
    digits = digits_to_tell_apart(value_ticks, is_share)
    return render(
        "lines.svg",
        title=title,
        frame=frame,
        value_ticks=[(frame.y(value), number(value, is_share, digits)) for value in value_ticks],
        step_ticks=[(frame.x(step), number(step)) for step in ticks(0, last)],
        lines=[
            {
                "path": frame.path(line.epochs, line.values),
                "kind": "smooth" if line.is_best else "run",
                "hint": f"{line.name}: last {number(float(line.values[-1]), is_share)}",
                "dots": list(zip(frame.x(line.epochs), frame.y(line.values), strict=True))
                if len(line.values) <= _MAX_DOTS
                else [],
            }
            for line in sorted(lines, key=lambda line: line.is_best)
        ],
    )


def _settings(best: Result | None, files: run_files.Run | None) -> list[tuple[str, dict[str, Any]]]:
    if best is None or files is None:
        return []
    searched = {name: as_text(value) for name, value in best.values.items()} | {
        "random_seed": str(best.seed)
    }
    rest = {name: value for name, value in files.flags.items() if name not in searched}
    return [("Varied from run to run", searched), ("The same in all runs", rest)]
