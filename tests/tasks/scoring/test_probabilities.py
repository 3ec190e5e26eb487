"""Scores of probabilities against values worked out by hand."""

import math

import numpy as np
import pytest

from bert_tf.tasks.scoring import probabilities as scoring

# Class 2 has a tie of three rows, one of which is its own.
CHANCES = np.array(
    [
        [0.7, 0.2, 0.1],
        [0.1, 0.5, 0.4],
        [0.3, 0.3, 0.4],
        [0.2, 0.6, 0.2],
        [0.5, 0.1, 0.4],
        [0.25, 0.25, 0.5],
    ]
)
ACTUAL = np.array([0, 1, 1, 0, 2, 1])


def test_area_under_the_roc_curve():
    # Pairs of a row of the class and one of another that are ranked rightly, a tie counting half.
    areas = [(4 + 1) / 8, (2 + 2 + 2) / 9, (2 + 2 * 0.5) / 5]
    assert scoring.roc_auc(CHANCES, ACTUAL) == pytest.approx(sum(areas) / 3)
    one_hot = np.eye(3, dtype=bool)[ACTUAL]
    assert scoring.roc_auc(CHANCES, one_hot) == pytest.approx(sum(areas) / 3)


def test_two_classes_score_the_second():
    second = np.array([0.1, 0.4, 0.4, 0.35, 0.8])
    chances, actual = np.stack([1 - second, second], axis=1), np.array([0, 0, 1, 1, 1])
    assert scoring.roc_auc(chances, actual) == pytest.approx((1.5 + 1 + 2) / 6)
    # 0.8 is right; at 0.4 two of three are; at 0.35 three of four.
    assert scoring.average_precision(chances, actual) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)


def test_average_precision():
    areas = [(1 + 2 / 5) / 2, (1 / 2 + 2 / 3 + 3 / 4) / 3, 1 / 4]
    assert scoring.average_precision(CHANCES, ACTUAL) == pytest.approx(sum(areas) / 3)


def test_values_of_scikit_learn():
    # From scikit-learn 1.9.1.
    chances = np.array([[0.9, 0.2, 0.6], [0.3, 0.8, 0.4], [0.6, 0.1, 0.7], [0.2, 0.7, 0.1]])
    references = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1], [1, 1, 0]], bool)
    assert scoring.roc_auc(chances, references) == pytest.approx(0.8333333333333334)
    assert scoring.average_precision(chances, references) == pytest.approx(0.9166666666666666)
    assert scoring.log_loss(chances, references) == pytest.approx(0.48210320678054136)
    swapped = np.array([0, 1, 2, 0, 2, 1])
    assert scoring.roc_auc(CHANCES, swapped) == pytest.approx(0.625)
    assert scoring.average_precision(CHANCES, swapped) == pytest.approx(0.5666666666666667)
    assert scoring.log_loss(CHANCES, swapped) == pytest.approx(0.9796893103001633)


def test_labels_that_all_or_no_rows_have_are_left_out():
    chances = np.array([[0.9, 0.2, 0.4], [0.4, 0.7, 0.6]])
    references = np.array([[1, 0, 1], [1, 0, 0]], bool)
    assert scoring.roc_auc(chances, references) == 0.0  # of the third label alone
    assert scoring.average_precision(chances, references) == pytest.approx((1 + 1 / 2) / 2)
    nobody = np.zeros((2, 3), bool)
    assert scoring.roc_auc(chances, nobody) == 0.5
    assert scoring.average_precision(chances, nobody) == 0.0


def test_log_loss():
    of_actual = (0.7, 0.5, 0.3, 0.2, 0.4, 0.25)
    assert scoring.log_loss(CHANCES, ACTUAL) == pytest.approx(-sum(map(math.log, of_actual)) / 6)
    chances, references = np.array([[0.9, 0.2], [0.4, 0.7]]), np.array([[1, 0], [1, 1]], bool)
    assert scoring.log_loss(chances, references) == pytest.approx(
        -sum(map(math.log, (0.9, 0.8, 0.4, 0.7))) / 4
    )


def test_log_loss_of_a_sure_and_wrong_answer_is_finite():
    sure = np.array([[1.0, 0.0]], np.float32)
    assert scoring.log_loss(sure, np.array([1])) == pytest.approx(52 * math.log(2))
