"""How good the answers to questions are if only those are given that the model is sure enough of.

A question is answered if its odds are not above a threshold. In SQuAD 2.0 they are the null odds;
in 1.1, where every question is answered, the less probable of the answers may be kept back, too.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from bert_tf.tasks.evaluation import Cell, Column, Diagram, Table

_Floats = npt.NDArray[np.float64]

_NUM_SHARES = 10  # thresholds at a tenth of the answers, two tenths, ...
_BEST, _USED = "best F1", "used"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What becomes of N questions when they are answered, and when they are not.

    Attributes:
      odds: float64 [N], of giving no answer.
      has_candidate: bool [N], whether there is anything to answer.
      exact, f1: float64 [N], scores of the best answer.
      none_is_right: float64 [N], score of no answer, both exact match and F1.
      has_answer: bool [N], whether the question has a gold answer.
    """

    odds: _Floats
    has_candidate: npt.NDArray[np.bool_]
    exact: _Floats
    f1: _Floats
    none_is_right: _Floats
    has_answer: npt.NDArray[np.bool_]

    def answered(self, threshold: float) -> npt.NDArray[np.bool_]:
        """Which questions are answered at a threshold: bool [N]."""
        return self.has_candidate & (self.odds <= threshold)

    def exact_at(self, threshold: float) -> float:
        """Mean exact match of all questions at a threshold."""
        return _mean(np.where(self.answered(threshold), self.exact, self.none_is_right))

    def f1_at(self, threshold: float) -> float:
        """Mean F1 of all questions at a threshold."""
        return _mean(np.where(self.answered(threshold), self.f1, self.none_is_right))

    @property
    def best_threshold(self) -> float:
        """The smallest threshold with the best F1; minus infinity: nothing is answered."""
        gains = (self.f1 - self.none_is_right)[self.has_candidate]
        # Questions with equal odds are answered together.
        odds, group = np.unique(self.odds[self.has_candidate], return_inverse=True)
        totals = np.cumsum(np.bincount(group, weights=gains, minlength=len(odds)))
        return float(np.append(-np.inf, odds)[np.append(0.0, totals).argmax()])

    def thresholds(self) -> list[float]:
        """Thresholds that answer a tenth of the questions with candidates, two tenths, ..., all."""
        odds = np.sort(self.odds[self.has_candidate])
        ranks = np.ceil(len(odds) * np.arange(1, _NUM_SHARES + 1) / _NUM_SHARES).astype(int)
        return np.unique(odds[ranks - 1]).tolist() if len(odds) else []


def _mean(values: _Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def by_null_odds(outcomes: Outcomes, threshold: float) -> Table:
    """Scores of SQuAD 2.0 by threshold.

    Args:
      outcomes: N of at least 1; odds are null odds.
      threshold: the one that the model uses.
    """
    best = outcomes.best_threshold
    comments = {best: _BEST, threshold: _USED if threshold != best else f"{_BEST}, {_USED}"}
    thresholds = sorted({-np.inf, *outcomes.thresholds(), *comments})
    num_gold = max(1, int(outcomes.has_answer.sum()))
    rows: list[list[Cell]] = []
    for each in thresholds:
        answered = outcomes.answered(each)
        right = outcomes.exact[answered & outcomes.has_answer]
        rows.append(
            [
                each if np.isfinite(each) else "no answers",
                comments.get(each, ""),
                _mean(answered.astype(np.float64)),
                outcomes.exact_at(each),
                outcomes.f1_at(each),
                float(right.sum()) / int(answered.sum()) if answered.any() else "",
                float(right.sum()) / num_gold,
            ]
        )
    columns = (
        *map(Column, ("Threshold", "Comment")),
        *(Column(name, True) for name in ("Answered", "Exact match", "F1", "Precision", "Recall")),
    )
    note = (
        "Questions whose null odds, the score of no answer less that of the best answer, are above "
        "the threshold (--null_score_diff_threshold) get no answer. Exact match and F1 are those "
        "of all questions. Precision is the share of the given answers that are exactly right, "
        "recall the share of the questions with a right answer that got it."
    )
    marks = tuple((i, comments[each]) for i, each in enumerate(thresholds) if each in comments)
    return Table("Scores by threshold", note, columns, rows, Diagram(2, (4, 3, 5, 6), marks))


def by_probability(outcomes: Outcomes) -> Table:
    """Scores of SQuAD 1.1 if only the most probable answers are given.

    Args:
      outcomes: odds are the probabilities of the best answers with a minus sign.
    """
    rows: list[list[Cell]] = []
    for each in outcomes.thresholds():
        answered = outcomes.answered(each)
        rows.append(
            [
                -each,
                _mean(answered.astype(np.float64)),
                _mean(outcomes.exact[answered]),
                _mean(outcomes.f1[answered]),
            ]
        )
    columns = [Column(name, True) for name in ("Probability from", "Answered", "Exact match", "F1")]
    note = (
        "If only the answers that the model is surest of were given: the smallest probability "
        "among them, the share of the questions that they answer, and the scores of the answers "
        "that are given."
    )
    return Table("Scores of the surest answers", note, columns, rows, Diagram(1, (3, 2)))
