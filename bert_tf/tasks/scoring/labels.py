"""Scores of labels: one per row [N], or several per row [N C].

Equal to scikit-learn's with zero_division=0; `benchmarks/tasks/metrics.py` compares.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Score = Callable[[npt.NDArray, npt.NDArray], float]


def accuracy(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Share of right answers, [N] each."""
    return float(np.mean(answers == references))


def exact_match(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Share of the rows in which all labels are right, [N C] each."""
    return float(np.mean(np.all(answers == references, axis=1)))


def matthews(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Matthews correlation of any number of classes (Gorodkin 2004), CoLA's score.

    0 where either side names one class only.
    """
    right, answered, actual = (each.astype(float) for each in counts(answers, references))
    size = len(references)
    covariance = right.sum() * size - answered @ actual
    spread = (size**2 - answered @ answered) * (size**2 - actual @ actual)
    return float(covariance / np.sqrt(spread)) if spread > 0 else 0.0


def balanced_accuracy(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Mean recall of the classes that the references have, [N] each."""
    found = counts(answers, references)
    occurs = found.actual > 0
    return float(np.mean(found.right[occurs] / found.actual[occurs]))


class Counts(NamedTuple):
    """Rows by label, [C] each: answered rightly, answered, and actually so."""

    right: npt.NDArray[np.int64]
    answered: npt.NDArray[np.int64]
    actual: npt.NDArray[np.int64]

    def summed(self) -> "Counts":
        """All labels as one, [1] each."""
        return Counts(*(each.sum(keepdims=True) for each in self))


def counts(answers: npt.NDArray, references: npt.NDArray) -> Counts:
    """Counts of each class that either side names, or of each label of [N C]."""
    if references.ndim == 1:
        classes = np.union1d(answers, references)
        answers, references = answers[:, None] == classes, references[:, None] == classes
    is_answered, is_actual = answers.astype(bool), references.astype(bool)
    return Counts(
        np.sum(is_answered & is_actual, axis=0), is_answered.sum(axis=0), is_actual.sum(axis=0)
    )


Ratio = Callable[[Counts], npt.NDArray[np.float64]]


def precisions(found: Counts) -> npt.NDArray[np.float64]:
    """Right of what was answered, by label; 0 where nothing was."""
    return _ratio(found.right, found.answered)


def recalls(found: Counts) -> npt.NDArray[np.float64]:
    """Right of what is actually so, by label; 0 where nothing is."""
    return _ratio(found.right, found.actual)


def f1s(found: Counts) -> npt.NDArray[np.float64]:
    """Harmonic means of precision and recall, by label; 0 where both are 0."""
    return _ratio(2 * found.right, found.answered + found.actual)


def _ratio(part: npt.NDArray[np.int64], whole: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), 0.0)


def of_class_1(ratios: Ratio) -> Score:
    """A score of class 1 alone, the second of two labels, as MRPC and QQP report F1."""
    return lambda answers, references: float(
        ratios(counts((answers == 1)[:, None], (references == 1)[:, None]))[0]
    )


def macro(ratios: Ratio) -> Score:
    """A score as the mean over labels: in [N] those that either side names, in [N C] all."""
    return lambda answers, references: float(np.mean(ratios(counts(answers, references))))


def micro(ratios: Ratio) -> Score:
    """A score of all labels counted together; with one label per row it is the accuracy."""
    return lambda answers, references: float(ratios(counts(answers, references).summed())[0])


def weighted(ratios: Ratio) -> Score:
    """A score as the mean over labels, each weighted by the rows that actually have it."""

    def score(answers: npt.NDArray, references: npt.NDArray) -> float:
        found = counts(answers, references)
        total = found.actual.sum()
        return float(ratios(found) @ found.actual / total) if total else 0.0

    return score
