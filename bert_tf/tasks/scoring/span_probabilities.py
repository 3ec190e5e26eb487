"""Probabilities of answers among all spans of all windows of a passage.

nbest_predictions.json has a softmax over its entries, as released: the fewer entries, the larger
their probabilities. These are shares of everything that may be answered instead, so they depend
neither on the number of entries nor on how a passage is cut into windows: a span is scored in one
window only.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt


def log_normalizer(span_scores: Iterable[npt.NDArray], null_score: float | None = None) -> float:
    """Logarithm of the sum of exp(score) over all spans that may answer, and no answer.

    Args:
      span_scores: of each window, scores of its spans in any shape, -inf where there is no span.
      null_score: that of no answer, which is one for all windows; None: it does not compete.

    Returns:
      -inf where there is nothing to answer.
    """
    scores = [np.asarray(each, np.float64).ravel() for each in span_scores]
    scores = [each for each in scores if each.size]
    if null_score is not None:
        scores.append(np.array([null_score], np.float64))
    highest = max((float(each.max()) for each in scores), default=-np.inf)
    if highest == -np.inf:
        return -np.inf
    return highest + float(np.log(sum(np.exp(each - highest).sum() for each in scores)))


def probabilities(scores: npt.ArrayLike, normalizer: float) -> npt.NDArray[np.float64]:
    """Probabilities of some of the spans, or of no answer: float64 of the shape of `scores`.

    Args:
      normalizer: see `log_normalizer`; finite.
    """
    return np.exp(np.asarray(scores, np.float64) - normalizer)
