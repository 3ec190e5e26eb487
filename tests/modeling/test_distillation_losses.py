"""The losses of a student, against sums written out."""

import numpy as np
from scipy import special, stats

from bert_tf.modeling import distillation_losses, layer

B, T, C, H = 2, 3, 5, 7
WEIGHTS = np.array([1.0, 2.5], np.float32)
TEMPERATURE = 3.0


def normal(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def divergence(logits, teacher):
    """Nats between two lists of logits, times the square of the temperature."""
    theirs, ours = (special.softmax(x / TEMPERATURE) for x in (teacher, logits))
    return stats.entropy(theirs, ours) * TEMPERATURE**2


def test_classification():
    logits, teacher = normal(B, C), normal(B, C, seed=2)
    total, count = distillation_losses.classification(logits, teacher, TEMPERATURE, WEIGHTS)
    wanted = [divergence(*each) for each in zip(logits, teacher, strict=True)]
    np.testing.assert_allclose(total, np.dot(wanted, WEIGHTS), rtol=1e-5)
    assert count == 3.5
    total, count = distillation_losses.classification(logits, logits + 9.0, TEMPERATURE)
    assert abs(total) < 1e-5 and count == B


def test_choices_that_do_not_exist_add_nothing():
    logits, teacher = normal(1, 4), normal(1, 4, seed=2)
    few, _ = distillation_losses.classification(logits[:, :3], teacher[:, :3], TEMPERATURE)
    logits[0, 3] = teacher[0, 3] = layer.MASKED
    total, _ = distillation_losses.classification(logits, teacher, TEMPERATURE)
    np.testing.assert_allclose(total, few, rtol=1e-6)


def test_several_labels():
    logits, teacher = normal(B, C), normal(B, C, seed=2)
    total, count = distillation_losses.multi_label(logits, teacher, TEMPERATURE, WEIGHTS)
    wanted = [
        np.mean(
            [divergence(np.array([x, 0]), np.array([y, 0])) for x, y in zip(*each, strict=True)]
        )
        for each in zip(logits, teacher, strict=True)
    ]
    np.testing.assert_allclose(total, np.dot(wanted, WEIGHTS), rtol=1e-5)
    assert count == 3.5


def test_tagging():
    logits, teacher = normal(B, T, C), normal(B, C, T, seed=2)
    labels = np.array([[4, -1, 0], [-1, -1, 2]], np.int32)
    total, count = distillation_losses.tagging(logits, teacher, labels, TEMPERATURE, WEIGHTS)
    of_tokens = [divergence(logits[b, t], teacher[b, :, t]) for b, t in ((0, 0), (0, 2), (1, 2))]
    np.testing.assert_allclose(total, np.dot(of_tokens, [1, 1, 2.5]), rtol=1e-5)
    assert count == 4.5


def test_hidden_states():
    states, teacher = normal(B, T, H), normal(B, T, H, seed=2)
    weights = np.array([[1, 0, 1], [0, 0, 2]], np.float32)
    total, count = distillation_losses.hidden_states(states, teacher, weights)
    wanted = [
        weights[b, t]
        * (
            1
            - states[b, t]
            @ teacher[b, t]
            / np.linalg.norm(states[b, t])
            / np.linalg.norm(teacher[b, t])
        )
        for b, t in ((0, 0), (0, 2), (1, 2))
    ]
    np.testing.assert_allclose(total, sum(wanted), rtol=1e-5)
    assert count == 4.0


def test_spans():
    logits, teacher = normal(B, 2, T), normal(B, 2, T, seed=2)
    mask = np.array([[1, 1, 1], [1, 1, 0]], np.int32)
    logits[1, :, 2] = layer.MASKED  # as the model gives it; the teacher's is anything
    total, count = distillation_losses.spans(logits, teacher, mask, TEMPERATURE, WEIGHTS)
    wanted = [
        np.mean([divergence(logits[b, i, :size], teacher[b, i, :size]) for i in range(2)])
        for b, size in enumerate((3, 2))
    ]
    np.testing.assert_allclose(total, np.dot(wanted, WEIGHTS), rtol=1e-5)
    assert count == 3.5
