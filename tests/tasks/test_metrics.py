"""Scores against values worked out by hand."""

import math

import numpy as np
import pytest

from bert_tf.tasks import metrics, registry

# 3 true positives, 2 false positives, 1 false negative, 5 true negatives.
PREDICTED = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
ACTUAL = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0])


def test_two_classes():
    assert metrics.accuracy(PREDICTED, ACTUAL) == pytest.approx(8 / 11)
    assert metrics.f1(PREDICTED, ACTUAL) == pytest.approx(2 * 3 / (2 * 3 + 2 + 1))
    assert metrics.matthews(PREDICTED, ACTUAL) == pytest.approx(
        (3 * 5 - 2 * 1) / math.sqrt((3 + 2) * (3 + 1) * (5 + 2) * (5 + 1))
    )


def test_matthews_of_three_classes():
    # Gorodkin's R_K: 4 of 5 right; 1, 2, 2 rows predicted and 1, 3, 1 rows of each class.
    predicted, actual = np.array([0, 1, 2, 2, 1]), np.array([0, 1, 2, 1, 1])
    assert metrics.matthews(predicted, actual) == pytest.approx(
        (4 * 5 - (1 * 1 + 2 * 3 + 2 * 1)) / math.sqrt((5 * 5 - (1 + 4 + 4)) * (5 * 5 - (1 + 9 + 1)))
    )


def test_correlations():
    predicted, actual = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 3.0, 2.0, 4.0])
    # Means 2.75 and 2.5; products 2.625 - 0.375 - 0.125 + 3.375 = 5.5; squares 8.75 and 5.
    assert metrics.pearson(predicted, actual) == pytest.approx(5.5 / math.sqrt(8.75 * 5))
    # Ranks 1 2 3 4 and 1 3 2 4: 1 - 6 * (0 + 1 + 1 + 0) / (4 * 15).
    assert metrics.spearman(predicted, actual) == pytest.approx(0.8)
    # A tie shares its ranks, 1.5 1.5 3: products 1.5, squares 1.5 and 2.
    assert metrics.spearman(np.array([7.0, 7.0, 9.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(
        1.5 / math.sqrt(1.5 * 2)
    )


def test_constant_answers_score_zero():
    ones, zeros = np.ones(5, int), np.zeros(5, int)
    mixed = np.array([0, 1, 0, 1, 1])
    assert metrics.f1(zeros, mixed) == 0.0
    assert metrics.f1(zeros, zeros) == 0.0
    assert metrics.matthews(ones, mixed) == metrics.matthews(mixed, ones) == 0.0
    assert metrics.matthews(ones, ones) == 0.0
    for correlation in (metrics.pearson, metrics.spearman):
        assert correlation(np.full(5, 2.5), mixed.astype(float)) == 0.0
        assert correlation(mixed.astype(float), np.full(5, 2.5)) == 0.0
        assert correlation(np.array([1.0]), np.array([2.0])) == 0.0


def test_evaluate_gives_the_metrics_of_the_task_main_one_first():
    results = metrics.evaluate(registry.get("mrpc"), list(PREDICTED), list(ACTUAL))
    assert list(results) == ["f1", "accuracy"]
    assert all(type(value) is float for value in results.values())
    results = metrics.evaluate(registry.get("sts-b"), [1, 2, 3], [1.0, 2.0, 4.0])
    assert results["spearman"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        ([1, 0], [1], r"shape \(2,\), references \(1,\)"),
        ([], [], r"B of at least 1"),
        ([[1]], [[1]], r"shape \(1, 1\)"),
        ([1.0, np.nan], [1.0, 0.0], "not a finite number"),
    ],
)
def test_evaluate_refuses(predictions, references, message):
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(registry.get("cola"), predictions, references)
