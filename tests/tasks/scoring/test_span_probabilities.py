"""Probabilities among all spans, counted by hand."""

import numpy as np
import pytest

from bert_tf.tasks.scoring import span_probabilities


def test_all_spans_of_all_windows_and_no_answer_share_the_probability():
    """Weights 1 and 2 in one window, 3 and no span in the other one, 4 of no answer: 10."""
    windows = [np.log([[1.0], [2.0]]), np.array([np.log(3.0), -np.inf], np.float32)]
    normalizer = span_probabilities.log_normalizer(windows, np.log(4.0))
    assert normalizer == pytest.approx(np.log(10.0))
    found = span_probabilities.probabilities(np.log([1.0, 2.0, 3.0, 4.0]), normalizer)
    assert found == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert span_probabilities.log_normalizer(windows) == pytest.approx(np.log(6.0))


def test_large_scores_do_not_overflow():
    normalizer = span_probabilities.log_normalizer([np.array([5000.0, 5000.0])], -5000.0)
    assert normalizer == pytest.approx(5000.0 + np.log(2.0))


def test_windows_without_spans():
    assert span_probabilities.log_normalizer([]) == -np.inf
    assert span_probabilities.log_normalizer([np.zeros([0, 3]), np.full([2], -np.inf)]) == -np.inf
    assert span_probabilities.log_normalizer([np.zeros([0, 3])], 1.5) == 1.5
