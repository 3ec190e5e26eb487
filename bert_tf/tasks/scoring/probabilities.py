"""Scores of probabilities [N C] against labels: one per row [N], or several per row [N C].

Equal to scikit-learn's wherever that has a value; `benchmarks/tasks/metrics.py` compares.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

_CHANCE = 0.5  # area under the ROC curve of a model that ranks at random


def roc_auc(probabilities: npt.NDArray, references: npt.NDArray) -> float:
    """Area under the ROC curve.

    Of class 1 where there are two classes, otherwise the mean over labels, one against the rest.
    Labels that all rows have, or none, have no curve and are left out; 0.5 if no label has one.
    """
    areas = [
        _area(scores, truth)
        for scores, truth in _by_label(probabilities, references)
        if truth.any() and not truth.all()
    ]
    return float(np.mean(areas)) if areas else _CHANCE


def average_precision(probabilities: npt.NDArray, references: npt.NDArray) -> float:
    """Area under the steps of the precision-recall curve; labels as in `roc_auc`.

    Labels that no row has are left out; 0 if no row has any.
    """
    areas = [
        _average_precision(scores, truth)
        for scores, truth in _by_label(probabilities, references)
        if truth.any()
    ]
    return float(np.mean(areas)) if areas else 0.0


def log_loss(probabilities: npt.NDArray, references: npt.NDArray) -> float:
    """Mean negative logarithm of the probability of what is so; less is better.

    Of several labels per row it is the mean over rows and labels. Probabilities are clipped by the
    float64 epsilon, so that no answer costs more than 36.
    """
    epsilon = np.finfo(np.float64).eps
    clipped = np.clip(probabilities.astype(np.float64), epsilon, 1 - epsilon)
    if references.ndim == 2:
        return float(-np.mean(np.log(np.where(references, clipped, 1 - clipped))))
    return float(-np.mean(np.log(clipped[np.arange(len(references)), references])))


def _by_label(
    probabilities: npt.NDArray, references: npt.NDArray
) -> Iterator[tuple[Scores, Truth]]:
    """Scores and truth of each label to score, [N] each; of two classes only the second."""
    num_labels = probabilities.shape[1]
    is_several = references.ndim == 2
    for label in range(num_labels) if is_several or num_labels != 2 else (1,):
        truth = references[:, label].astype(bool) if is_several else references == label
        yield probabilities[:, label].astype(np.float64), truth


def _area(scores: Scores, truth: Truth) -> float:
    """Share of the pairs (one true, one not) that are ranked rightly, ties counting half."""
    num_true = int(truth.sum())
    _, group, size = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(size) - (size - 1) / 2)[group]  # from 1; equal scores share their mean
    wins = ranks[truth].sum() - num_true * (num_true + 1) / 2
    return float(wins / (num_true * (len(truth) - num_true)))


def _average_precision(scores: Scores, truth: Truth) -> float:
    """Mean precision at the true rows; rows of one score are taken together."""
    order = np.argsort(-scores, kind="stable")
    is_last = np.append(np.diff(scores[order]) != 0, True)
    num_right = np.cumsum(truth[order])[is_last]
    num_taken = np.flatnonzero(is_last) + 1
    gained = np.diff(num_right, prepend=0)
    return float(np.sum(gained * num_right / num_taken) / truth.sum())
