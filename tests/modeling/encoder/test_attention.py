import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import dropout
from bert_tf.modeling.encoder import SelfAttention, positions_in_text, visibility
from tests.modeling import harness
from tests.reference import numpy_bert

B, T, A, D, H = harness.B, harness.T, harness.A, harness.D, harness.H


@pytest.fixture
def attention():
    layer = SelfAttention(harness.config(), salt=1, name="attention")
    layer.build()
    return harness.randomize(layer)


def expected(layer, hidden, mask):
    """One row and one head at a time, over what the mask, [B S] or [B T S], has."""
    qkv, qkv_bias, output, output_bias = (
        np.asarray(v.value).astype(np.float64) for v in layer.variables
    )
    result = np.zeros((B, T, H))
    for row, real in enumerate(mask):
        query, key, value = np.split(hidden.reshape(B, T, H)[row] @ qkv + qkv_bias, 3, axis=-1)
        heads = [slice(D * head, D * head + D) for head in range(A)]
        context = [numpy_bert.attention(query[:, h], key[:, h], value[:, h], real) for h in heads]
        result[row] = np.hstack(context) @ output + output_bias
    return result.reshape(B * T, H)


def test_values(attention):
    hidden = harness.hidden()
    found = attention(hidden, visibility(harness.mask()))
    np.testing.assert_allclose(
        found, expected(attention, hidden, harness.mask()), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("is_packed", [False, True])
def test_some_queries_are_answered_as_all_are(attention, is_packed):
    hidden, mask = harness.hidden(), harness.mask()
    visible = np.array(visibility(mask, harness.packed_ids() if is_packed else None))
    queries = np.array([[0, 2], [13, 13], [30, 26], [39, 40], [52, 52]], np.int32)
    of_queries = visible.reshape(-1, T)[queries] if is_packed else visible
    found = attention(hidden, of_queries, queries)
    whole = np.asarray(attention(hidden, visible))
    np.testing.assert_allclose(found, whole[queries.reshape(-1)], rtol=0, atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_gradients_are_those_of_the_formula(rate):
    """Vaswani et al. 2017, equation 1, with dropout of the softmax, derived by TensorFlow."""
    layer = SelfAttention(harness.config(attention_probs_dropout_prob=rate), salt=1)
    layer.build()
    harness.randomize(layer)
    hidden, mask = tf.constant(harness.hidden()), harness.mask()
    variables = [variable.value for variable in layer.variables]
    upstream = np.random.default_rng(7).normal(size=(B * T, H)).astype(np.float32)

    def formula(hidden):
        qkv, qkv_bias, output, output_bias = variables
        parts = tf.reshape(hidden @ qkv + qkv_bias, (B, T, 3, A, D))
        query, key, value = (tf.transpose(parts[:, :, i], (0, 2, 1, 3)) for i in range(3))
        scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(D)
        scores = tf.where(mask[:, None, None].astype(bool), scores, -1e9)
        probs = layer.dropout(tf.nn.softmax(scores), training=True)
        context = tf.transpose(tf.matmul(probs, value), (0, 2, 1, 3))
        return tf.reshape(context, (B * T, H)) @ output + output_bias

    found = []
    for function in (lambda x: layer(x, visibility(mask), training=True), formula):
        with tf.GradientTape() as tape, dropout.step_seed([1, 2]):
            tape.watch(hidden)
            loss = tf.reduce_sum(function(hidden) * upstream)
        found.append([loss, *tape.gradient(loss, [hidden, *variables])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_padding_is_never_attended_to(attention):
    mask, hidden = harness.mask(), harness.hidden()
    visible = visibility(mask)
    real = mask.reshape(-1).astype(bool)
    other = np.where(real[:, None], hidden, 1e4).astype(np.float32)
    np.testing.assert_array_equal(
        np.array(attention(hidden, visible))[real], np.array(attention(other, visible))[real]
    )


def test_more_padding_changes_nothing(attention):
    mask, hidden = harness.mask(), harness.hidden().reshape(B, T, H)
    wide = np.pad(hidden, ((0, 0), (0, 5), (0, 0)), constant_values=3.0).reshape(-1, H)
    visible = visibility(mask), visibility(np.pad(mask, ((0, 0), (0, 5))))
    short = np.array(attention(hidden.reshape(-1, H), visible[0])).reshape(B, T, H)
    found = np.array(attention(wide, visible[1])).reshape(B, T + 5, H)
    np.testing.assert_allclose(found[:, :T], short, rtol=0, atol=1e-5)


def test_a_row_without_tokens_is_finite(attention):
    mask = harness.mask()
    mask[0] = 0
    assert np.isfinite(attention(harness.hidden(), visibility(mask))).all()


@pytest.mark.parametrize("policy", harness.POLICIES)
def test_large_scores_are_finite_in_every_precision(policy):
    layer = SelfAttention(harness.config(), salt=1, dtype=policy)
    layer.build()
    harness.randomize(layer)
    found = layer(20 * harness.hidden(), visibility(harness.mask()))
    assert found.dtype == layer.compute_dtype
    assert np.isfinite(tf.cast(found, "float32")).all()


def test_probabilities_are_dropped_in_training():
    layer = SelfAttention(harness.config(attention_probs_dropout_prob=0.5), salt=1)
    layer.build()
    harness.randomize(layer)
    inputs = harness.hidden(), visibility(harness.mask())
    with dropout.step_seed([1, 2]):
        one, two = layer(*inputs, training=True), layer(*inputs, training=True)
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - layer(*inputs)).max() > 0.1


def test_wrong_rank_of_the_mask_is_an_error(attention):
    with pytest.raises(ValueError, match=r"input_mask: want \[B S\]"):
        visibility(harness.mask()[:, None])
    with pytest.raises(ValueError, match=r"visible: want \[B T S\]"):
        attention(harness.hidden(), harness.mask())


def test_serialization():
    layer = SelfAttention(harness.config(), salt=7, name="attention")
    copy = SelfAttention.from_config(layer.get_config())
    assert (copy.salt, copy.config, copy.name) == (7, layer.config, "attention")


def seen_by_hand(sequence_ids, is_causal):
    seen = np.zeros((B, T, T), bool)
    for row, t, s in np.ndindex(B, T, T):
        same = sequence_ids is None or sequence_ids[row, t] == sequence_ids[row, s]
        seen[row, t, s] = harness.mask()[row, s] and same and (s <= t or not is_causal)
    return seen


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_what_is_visible(attention, is_packed, is_causal):
    sequence_ids = harness.packed_ids() if is_packed else None
    found = visibility(harness.mask(), sequence_ids, is_causal)
    seen = seen_by_hand(sequence_ids, is_causal)
    np.testing.assert_array_equal(np.broadcast_to(found, seen.shape), seen)

    hidden, real = harness.hidden(), harness.mask().reshape(-1).astype(bool)
    values = np.array(attention(hidden, seen))[real]
    wanted = expected(attention, hidden, seen)[real]
    np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-5)


def test_positions_start_again_with_every_text():
    found = np.array(positions_in_text(harness.packed_ids()))
    assert found[0].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 0]
    assert found[2, :7].tolist() == [0, 1, 0, 1, 2, 0, 1]
    assert found.min() >= 0 and found.max() < T


@pytest.mark.parametrize("policy", harness.POLICIES)
def test_a_token_that_sees_nothing_is_finite_in_every_precision(policy):
    layer = SelfAttention(harness.config(), salt=1, dtype=policy)
    layer.build()
    found = harness.randomize(layer)(harness.hidden(), np.zeros((B, T, T), bool))
    assert np.isfinite(tf.cast(found, "float32")).all()
