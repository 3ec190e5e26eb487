"""Scores of numbers against values worked out by hand."""

import math

import numpy as np
import pytest

from bert_tf.tasks.scoring import values

PREDICTED, ACTUAL = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 3.0, 2.0, 4.0])


def test_correlations():
    # Means 2.75 and 2.5; products 2.625 - 0.375 - 0.125 + 3.375 = 5.5; squares 8.75 and 5.
    assert values.pearson(PREDICTED, ACTUAL) == pytest.approx(5.5 / math.sqrt(8.75 * 5))
    # Ranks 1 2 3 4 and 1 3 2 4: 1 - 6 * (0 + 1 + 1 + 0) / (4 * 15).
    assert values.spearman(PREDICTED, ACTUAL) == pytest.approx(0.8)
    # A tie shares its ranks, 1.5 1.5 3: products 1.5, squares 1.5 and 2.
    assert values.spearman(np.array([7.0, 7.0, 9.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(
        1.5 / math.sqrt(1.5 * 2)
    )


@pytest.mark.parametrize("correlation", [values.pearson, values.spearman])
def test_constant_answers_have_no_correlation(correlation):
    mixed = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    assert correlation(np.full(5, 2.5), mixed) == 0.0
    assert correlation(mixed, np.full(5, 2.5)) == 0.0
    assert correlation(np.array([1.0]), np.array([2.0])) == 0.0


def test_errors():
    assert values.mean_squared_error(PREDICTED, ACTUAL) == 3 / 4
    assert values.mean_absolute_error(PREDICTED, ACTUAL + 1) == (1 + 2 + 0 + 0) / 4
