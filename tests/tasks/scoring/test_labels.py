"""Scores of labels against values worked out by hand."""

import math

import numpy as np
import pytest

from bert_tf.tasks.scoring import labels

# 3 true positives, 2 false positives, 1 false negative, 5 true negatives.
PREDICTED = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
ACTUAL = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0])

# Of the classes 0, 1, 2: 1, 1, 0 right; 2, 2, 2 answered; 2, 3, 1 actual.
THREE_ANSWERS = np.array([0, 1, 2, 1, 0, 2])
THREE_ACTUAL = np.array([0, 1, 1, 0, 2, 1])

# Of the labels: 2, 2, 1 right; 2, 3, 1 answered; 3, 2, 2 actual.
SET_ANSWERS = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0]], bool)
SET_ACTUAL = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0]], bool)


def test_two_classes():
    assert labels.accuracy(PREDICTED, ACTUAL) == pytest.approx(8 / 11)
    assert labels.of_class_1(labels.f1s)(PREDICTED, ACTUAL) == pytest.approx(6 / 9)
    assert labels.of_class_1(labels.precisions)(PREDICTED, ACTUAL) == pytest.approx(3 / 5)
    assert labels.of_class_1(labels.recalls)(PREDICTED, ACTUAL) == pytest.approx(3 / 4)
    assert labels.balanced_accuracy(PREDICTED, ACTUAL) == pytest.approx((3 / 4 + 5 / 7) / 2)
    assert labels.matthews(PREDICTED, ACTUAL) == pytest.approx(
        (3 * 5 - 2 * 1) / math.sqrt((3 + 2) * (3 + 1) * (5 + 2) * (5 + 1))
    )


def test_matthews_of_three_classes():
    # Gorodkin's R_K: 4 of 5 right; 1, 2, 2 rows predicted and 1, 3, 1 rows of each class.
    predicted, actual = np.array([0, 1, 2, 2, 1]), np.array([0, 1, 2, 1, 1])
    assert labels.matthews(predicted, actual) == pytest.approx(
        (4 * 5 - (1 * 1 + 2 * 3 + 2 * 1)) / math.sqrt((5 * 5 - (1 + 4 + 4)) * (5 * 5 - (1 + 9 + 1)))
    )


def test_averages_over_three_classes():
    def score(average, ratios):
        return average(ratios)(THREE_ANSWERS, THREE_ACTUAL)

    precisions, recalls, f1s = (1 / 2, 1 / 2, 0), (1 / 2, 1 / 3, 0), (1 / 2, 2 / 5, 0)
    for ratios, each in (
        (labels.precisions, precisions),
        (labels.recalls, recalls),
        (labels.f1s, f1s),
    ):
        assert score(labels.macro, ratios) == pytest.approx(sum(each) / 3)
        assert score(labels.micro, ratios) == pytest.approx(2 / 6)
        assert score(labels.weighted, ratios) == pytest.approx((2 * each[0] + 3 * each[1]) / 6)
    assert labels.balanced_accuracy(THREE_ANSWERS, THREE_ACTUAL) == pytest.approx(sum(recalls) / 3)


def test_sets_of_labels():
    def score(average, ratios):
        return average(ratios)(SET_ANSWERS, SET_ACTUAL)

    precisions, recalls = (1, 2 / 3, 1), (2 / 3, 1, 1 / 2)
    f1s = (4 / 5, 4 / 5, 2 / 3)
    assert labels.exact_match(SET_ANSWERS, SET_ACTUAL) == 0.5
    assert score(labels.macro, labels.precisions) == pytest.approx(sum(precisions) / 3)
    assert score(labels.macro, labels.recalls) == pytest.approx(sum(recalls) / 3)
    assert score(labels.macro, labels.f1s) == pytest.approx(sum(f1s) / 3)
    assert score(labels.micro, labels.precisions) == pytest.approx(5 / 6)
    assert score(labels.micro, labels.recalls) == pytest.approx(5 / 7)
    assert score(labels.micro, labels.f1s) == pytest.approx(10 / 13)
    assert score(labels.weighted, labels.f1s) == pytest.approx(
        (3 * f1s[0] + 2 * f1s[1] + 2 * f1s[2]) / 7
    )


def test_a_class_of_one_side_counts_and_one_of_neither_does_not():
    # Class 1 is answered and never right; class 7 is neither answered nor actual.
    answers, actual = np.array([0, 1, 8, 8]), np.array([0, 0, 8, 8])
    assert labels.macro(labels.f1s)(answers, actual) == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert labels.balanced_accuracy(answers, actual) == pytest.approx((1 / 2 + 1) / 2)
    # In sets of labels a label that never occurs is a label all the same, as in scikit-learn.
    nothing = np.array([[1, 0], [1, 0]], bool)
    assert labels.macro(labels.f1s)(nothing, nothing) == 0.5


def test_no_score_where_nothing_is_answered():
    ones, zeros = np.ones(5, int), np.zeros(5, int)
    mixed = np.array([0, 1, 0, 1, 1])
    for ratios in (labels.f1s, labels.precisions, labels.recalls):
        assert labels.of_class_1(ratios)(zeros, mixed) == 0.0
        assert labels.of_class_1(ratios)(zeros, zeros) == 0.0
        assert labels.weighted(ratios)(np.ones((2, 3), bool), np.zeros((2, 3), bool)) == 0.0
    assert labels.matthews(ones, mixed) == labels.matthews(mixed, ones) == 0.0
    assert labels.matthews(ones, ones) == 0.0
