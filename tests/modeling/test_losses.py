import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import losses

B, P, T, V, C = 5, 3, 13, 101, 11


def nll(logits, ids):
    """Negative log-probabilities in float64."""
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(log_probs, ids[..., None], -1)[..., 0]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def check(found, total, count, rtol=1e-6):
    assert [part.dtype for part in found] == ["float32", "float32"]
    assert [part.shape.rank for part in found] == [0, 0]
    np.testing.assert_allclose(found, [total, count], rtol=rtol)


def test_masked_lm_counts_predictions_only(rng):
    logits = rng.normal(size=(B, P, V)).astype(np.float32)
    ids = rng.integers(0, V, (B, P))
    weights = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]], np.float32)
    check(losses.masked_lm(logits, ids, weights), (nll(logits, ids) * weights).sum(), 9)


def test_next_sentence_and_classification(rng):
    for loss, num_classes in ((losses.next_sentence, 2), (losses.classification, C)):
        logits = rng.normal(size=(B, num_classes)).astype(np.float32)
        ids = rng.integers(0, num_classes, B)
        check(loss(logits, ids), nll(logits, ids).sum(), B)


def test_regression_is_the_squared_error(rng):
    logits, values = rng.normal(size=(B, 1)).astype(np.float32), rng.normal(size=B)
    check(losses.regression(logits, values), ((logits[:, 0] - values) ** 2).sum(), B)


def test_regression_takes_one_output():
    with pytest.raises(ValueError, match="axis C .* must be 1, got 2"):
        losses.regression(np.zeros((B, 2), np.float32), np.zeros(B, np.float32))


def test_span_is_the_mean_of_both_ends(rng):
    start, end = rng.normal(size=(2, B, T)).astype(np.float32)
    starts, ends = rng.integers(0, T, (2, B))
    total = (nll(start, starts) + nll(end, ends)).sum() / 2
    check(losses.span(start, end, starts, ends), total, B)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_are_summed_in_float32(dtype):
    """70,000 losses of ln 2: more than float16 holds."""
    total, count = losses.classification(tf.zeros((70_000, 2), dtype), np.zeros(70_000, np.int32))
    check((total, count), 70_000 * np.log(2), 70_000, rtol=1e-5)


def test_an_impossible_label_costs_its_distance():
    """The loss of a label whose probability is 0 in float32."""
    total, _ = losses.classification(np.array([[1000.0, 0.0, -500.0]], np.float32), [1])
    np.testing.assert_allclose(total, 1000.0, rtol=1e-6)


def test_gradient_is_probability_minus_one_hot(rng):
    logits = tf.constant(rng.normal(size=(B, C)), tf.float32)
    ids = rng.integers(0, C, B)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        total, _ = losses.classification(logits, ids)
    expected = tf.nn.softmax(logits) - tf.one_hot(ids, C)
    np.testing.assert_allclose(tape.gradient(total, logits), expected, rtol=0, atol=1e-6)


def test_the_parts_of_a_batch_add_up(rng):
    """Replicas and micro-batches: sums of totals and of counts are those of the whole batch."""
    logits = rng.normal(size=(B, P, V)).astype(np.float32)
    ids = rng.integers(0, V, (B, P))
    weights = rng.integers(0, 2, (B, P)).astype(np.float32)
    whole = losses.masked_lm(logits, ids, weights)
    parts = [losses.masked_lm(logits[s], ids[s], weights[s]) for s in (slice(0, 2), slice(2, B))]
    np.testing.assert_allclose(np.sum(parts, axis=0), whole, rtol=1e-6)
