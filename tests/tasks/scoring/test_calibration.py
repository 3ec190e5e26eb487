"""Calibration and worst answers against values worked out by hand."""

import numpy as np
import pytest

from bert_tf.tasks.scoring import calibration
from bert_tf.tasks.scoring.calibration import WrongDecision, WrongLabel, WrongValue

CHANCES = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.75, 0.25], [0.6, 0.4]])
ACTUAL = np.array([0, 0, 1, 1, 0])


def test_bins_of_confidence():
    found = calibration.of_labels(CHANCES, ACTUAL, num_bins=5)
    assert [round(each.low, 9) for each in found.bins] == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert [round(each.high, 9) for each in found.bins] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert [each.num_answers for each in found.bins] == [0, 0, 1, 3, 1]
    # 0.6 is right; of 0.7, 0.8 and 0.75 only 0.8 is; 0.9 is right.
    assert [each.confidence for each in found.bins] == pytest.approx([0, 0, 0.6, 0.75, 0.9])
    assert [each.accuracy for each in found.bins] == pytest.approx([0, 0, 1, 1 / 3, 1])
    gaps = [0.4, 0.75 - 1 / 3, 0.1]
    assert found.expected_error == pytest.approx((gaps[0] + 3 * gaps[1] + gaps[2]) / 5)
    assert found.maximum_error == pytest.approx(gaps[1])


def test_certainty_is_in_the_last_bin_and_rounding_too():
    chances = np.array([[1.0, 0.0], [1.0 + 1e-7, 0.0]], np.float32)
    found = calibration.of_labels(chances, np.array([0, 0]))
    assert [each.num_answers for each in found.bins] == [0] * 9 + [2]
    assert found.expected_error == pytest.approx(0.0, abs=1e-6)


def test_sets_of_labels_are_decisions():
    chances = np.array([[0.9, 0.4], [0.5, 0.2]])
    found = calibration.of_label_sets(chances, np.array([[1, 0], [0, 1]], bool), num_bins=2)
    # Confidences 0.9, 0.6, 0.5, 0.8; right, right, wrong, wrong.
    assert [each.num_answers for each in found.bins] == [1, 3]
    assert [each.accuracy for each in found.bins] == pytest.approx([0, 2 / 3])
    assert found.expected_error == pytest.approx((0.5 + 3 * (2.3 / 3 - 2 / 3)) / 4)


def test_the_surest_wrong_labels_come_first():
    wrong = calibration.worst_labels(CHANCES, ACTUAL)
    assert wrong == [WrongLabel(3, 0, 1, 0.75, 0.25), WrongLabel(1, 1, 0, 0.7, 0.3)]
    assert calibration.worst_labels(CHANCES, ACTUAL, limit=1) == wrong[:1]
    assert calibration.worst_labels(CHANCES, CHANCES.argmax(axis=1)) == []


def test_the_surest_wrong_decisions_come_first():
    chances = np.array([[0.9, 0.4], [0.5, 0.2]])
    wrong = calibration.worst_decisions(chances, np.array([[1, 0], [0, 1]], bool))
    assert wrong == [WrongDecision(1, 1, True, 0.2), WrongDecision(1, 0, False, 0.5)]


def test_the_farthest_numbers_come_first():
    wrong = calibration.worst_values(np.array([1.0, 2.0, 5.0]), np.array([1.0, 2.5, 3.0]))
    assert wrong == [WrongValue(2, 5.0, 3.0), WrongValue(1, 2.0, 2.5)]
