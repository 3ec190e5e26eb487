"""Scores of a task: predictions and references -> one float per metric name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import stats

if TYPE_CHECKING:
    from bert_tf.tasks.registry import Task


def accuracy(predictions: npt.NDArray, references: npt.NDArray) -> float:
    """Share of right predictions."""
    return float(np.mean(predictions == references))


def f1(predictions: npt.NDArray, references: npt.NDArray) -> float:
    """F1 of class 1, as MRPC and QQP report it; 0 where precision and recall are both 0."""
    both = np.sum((predictions == 1) & (references == 1))
    total = np.sum(predictions == 1) + np.sum(references == 1)
    return float(2 * both / total) if total else 0.0


def matthews(predictions: npt.NDArray, references: npt.NDArray) -> float:
    """Matthews correlation of any number of classes (Gorodkin 2004), CoLA's score.

    0 where either side names one class only, as in scikit-learn.
    """
    classes = np.union1d(predictions, references)
    predicted = (predictions[:, None] == classes).sum(axis=0).astype(float)
    actual = (references[:, None] == classes).sum(axis=0).astype(float)
    size = len(references)
    covariance = np.sum(predictions == references) * size - predicted @ actual
    spread = (size**2 - predicted @ predicted) * (size**2 - actual @ actual)
    return float(covariance / np.sqrt(spread)) if spread > 0 else 0.0


def pearson(predictions: npt.NDArray, references: npt.NDArray) -> float:
    """Linear correlation; 0 where either side is constant and it has no value."""
    return _correlation(stats.pearsonr, predictions, references)


def spearman(predictions: npt.NDArray, references: npt.NDArray) -> float:
    """Rank correlation, ties sharing their mean rank; 0 where either side is constant."""
    return _correlation(stats.spearmanr, predictions, references)


def _correlation(
    function: Callable[..., Any], predictions: npt.NDArray, references: npt.NDArray
) -> float:
    if np.ptp(predictions) == 0 or np.ptp(references) == 0:
        return 0.0
    return float(function(predictions, references).statistic)


METRICS = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
}


def evaluate(task: Task, predictions: npt.ArrayLike, references: npt.ArrayLike) -> dict[str, float]:
    """All metrics of a task.

    Args:
      task: names the metrics.
      predictions: [B], indices into `task.labels` to classify, floats to regress.
      references: [B], the right answers in the same form.

    Returns:
      By metric, the task's main metric first. Shares, not percent.

    Raises:
      ValueError: the two differ in length or are empty, or a prediction is not finite.
    """
    predictions, references = np.asarray(predictions), np.asarray(references)
    if predictions.shape != references.shape or predictions.ndim != 1 or not len(predictions):
        raise ValueError(
            f"{task.name}: predictions have shape {predictions.shape}, references "
            f"{references.shape}; wanted the same [B] with B of at least 1."
        )
    if not np.all(np.isfinite(predictions)):
        raise ValueError(f"{task.name}: a prediction is not a finite number.")
    return {name: METRICS[name](predictions, references) for name in task.metrics}
