"""How far a model's probabilities can be trusted, and where it is sure and wrong."""

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Bin(NamedTuple):
    """Answers of similar confidence.

    Attributes:
      low, high: the confidences of the bin: above `low`, up to `high`.
      num_answers: how many are in it; the two means are 0 where there are none.
      confidence: mean probability of the answers.
      accuracy: share of right answers.
    """

    low: float
    high: float
    num_answers: int
    confidence: float
    accuracy: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How confidence and accuracy of answers agree (Guo et al. 2017, arXiv 1706.04599).

    Attributes:
      bins: of equal width over the confidences from 0 to 1.
    """

    bins: tuple[Bin, ...]

    @property
    def expected_error(self) -> float:
        """Expected calibration error: mean over answers of their bin's |confidence - accuracy|."""
        total = sum(each.num_answers for each in self.bins)
        return sum(each.num_answers * _gap(each) for each in self.bins) / total

    @property
    def maximum_error(self) -> float:
        """The largest |confidence - accuracy| of a bin."""
        return max(_gap(each) for each in self.bins)


def _gap(each: Bin) -> float:
    return abs(each.confidence - each.accuracy)


def of_labels(
    probabilities: npt.NDArray, references: npt.NDArray, num_bins: int = 10
) -> Calibration:
    """Calibration of answers with one label each: the label of the highest probability.

    Args:
      probabilities: [N C], N of at least 1; rows may be words of tagged sentences.
      references: [N] class indices.
    """
    is_right = probabilities.argmax(axis=1) == references
    return of_answers(probabilities.max(axis=1), is_right, num_bins)


def of_label_sets(
    probabilities: npt.NDArray, references: npt.NDArray, num_bins: int = 10
) -> Calibration:
    """Calibration of every answer on whether a label holds: it does from a probability of 0.5.

    Args:
      probabilities: [N C], N and C of at least 1.
      references: [N C] bool.
    """
    holds = probabilities >= 0.5
    confidence = np.where(holds, probabilities, 1 - probabilities)
    return of_answers(confidence.ravel(), (holds == references.astype(bool)).ravel(), num_bins)


def of_answers(confidence: npt.NDArray, is_right: npt.NDArray, num_bins: int = 10) -> Calibration:
    """Calibration of N answers, N of at least 1, of which confidence and truth are known.

    Args:
      confidence: [N], probability of each answer.
      is_right: [N] bool.
    """
    confidence = confidence.astype(np.float64)
    edges = np.linspace(0.0, 1.0, num_bins + 1)
    # A bin has its upper edge. Confidence is at most 1 but for rounding.
    bins = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, num_bins - 1)
    count = np.bincount(bins, minlength=num_bins)
    means = [
        np.bincount(bins, weights=of, minlength=num_bins) / np.maximum(count, 1)
        for of in (confidence, is_right.astype(np.float64))
    ]
    columns = (edges[:-1], edges[1:], count, *means)
    return Calibration(
        tuple(map(Bin._make, zip(*(each.tolist() for each in columns), strict=True)))
    )


class WrongLabel(NamedTuple):
    """A wrong answer.

    Attributes:
      row: its position.
      answer, reference: class indices; of a set of labels both are the label in question.
      confidence: probability of the answer.
      right_probability: probability of the right answer.
    """

    row: int
    answer: int
    reference: int
    confidence: float
    right_probability: float


def worst_labels(
    probabilities: npt.NDArray, references: npt.NDArray, limit: int = 20
) -> list[WrongLabel]:
    """The wrong answers that the model is surest of, the surest first.

    Args:
      probabilities: [N C].
      references: [N] class indices.
      limit: how many at most.
    """
    answers, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    of_right = probabilities[np.arange(len(references)), references]
    wrong = np.flatnonzero(answers != references)
    order = wrong[np.argsort(-confidence[wrong], kind="stable")][:limit]
    return [
        WrongLabel(
            int(row),
            int(answers[row]),
            int(references[row]),
            float(confidence[row]),
            float(of_right[row]),
        )
        for row in order
    ]


class WrongDecision(NamedTuple):
    """A label that was given and does not hold, or holds and was not given.

    Attributes:
      row, label: positions.
      holds: whether the label holds.
      probability: that the model gives it.
    """

    row: int
    label: int
    holds: bool
    probability: float


def worst_decisions(
    probabilities: npt.NDArray, references: npt.NDArray, limit: int = 20
) -> list[WrongDecision]:
    """The wrong answers on whether a label holds, the surest first.

    Args:
      probabilities: [N C].
      references: [N C] bool.
      limit: how many at most.
    """
    truth = references.astype(bool)
    distance = np.where(truth, 1 - probabilities, probabilities)
    rows, labels = np.nonzero((probabilities >= 0.5) != truth)
    order = np.argsort(-distance[rows, labels], kind="stable")[:limit]
    return [
        WrongDecision(
            int(row), int(label), bool(truth[row, label]), float(probabilities[row, label])
        )
        for row, label in zip(rows[order], labels[order], strict=True)
    ]


class WrongValue(NamedTuple):
    """A number far from the right one; `row` is its position."""

    row: int
    answer: float
    reference: float


def worst_values(
    answers: npt.NDArray, references: npt.NDArray, limit: int = 20
) -> list[WrongValue]:
    """The numbers that are farthest from the right ones, the farthest first; [N] each."""
    order = np.argsort(-np.abs(answers - references), kind="stable")[:limit]
    return [
        WrongValue(int(row), float(answers[row]), float(references[row]))
        for row in order
        if answers[row] != references[row]
    ]
