"""Scores of numbers, [N] each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt


def pearson(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Linear correlation; 0 where either side is constant and it has no value."""
    from scipy import stats  # takes a second to load

    return _correlation(stats.pearsonr, answers, references)


def spearman(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Rank correlation, ties sharing their mean rank; 0 where either side is constant."""
    from scipy import stats

    return _correlation(stats.spearmanr, answers, references)


def _correlation(
    function: Callable[..., Any], answers: npt.NDArray, references: npt.NDArray
) -> float:
    if np.ptp(answers) == 0 or np.ptp(references) == 0:
        return 0.0
    return float(function(answers, references).statistic)


def mean_squared_error(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Mean of the squared differences; less is better."""
    return float(np.mean(_differences(answers, references) ** 2))


def mean_absolute_error(answers: npt.NDArray, references: npt.NDArray) -> float:
    """Mean of the differences without their sign; less is better."""
    return float(np.mean(np.abs(_differences(answers, references))))


def _differences(answers: npt.NDArray, references: npt.NDArray) -> npt.NDArray[np.float64]:
    return answers.astype(np.float64) - references.astype(np.float64)
