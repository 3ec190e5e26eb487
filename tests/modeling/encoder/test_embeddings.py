import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling.encoder import Embeddings
from tests.modeling import harness


@pytest.fixture
def embeddings():
    layer = Embeddings(harness.config(), name="embeddings")
    layer.build()
    return harness.randomize(layer)


def test_sum_of_three_tables_then_layer_norm(embeddings):
    batch = harness.batch()
    words, types = batch["input_word_ids"], batch["input_type_ids"]
    word, position, kind, gamma, beta = (np.asarray(v.value) for v in embeddings.variables)
    expected = np.zeros((harness.B, harness.T, harness.H))
    for b, t in np.ndindex(words.shape):
        x = word[words[b, t]] + position[t] + kind[types[b, t]]
        expected[b, t] = (x - x.mean()) / x.std() * gamma + beta
    np.testing.assert_allclose(embeddings(words, types), expected, rtol=0, atol=1e-5)


def test_dropout_only_in_training(embeddings):
    batch = harness.batch()
    inputs = batch["input_word_ids"], batch["input_type_ids"]
    np.testing.assert_array_equal(embeddings(*inputs), embeddings(*inputs, training=False))
    assert (np.array(embeddings(*inputs, training=True)) == 0).mean() > 0.02


def test_too_long_a_row_is_an_error(embeddings):
    ids = np.zeros((1, 18), np.int32)
    with pytest.raises(
        ValueError, match="18 tokens a row; the maximum is max_position_embeddings=17"
    ):
        embeddings(ids, ids)


def test_wrong_rank_is_an_error(embeddings):
    with pytest.raises(ValueError, match=r"want \[B T\]"):
        embeddings(np.zeros(3, np.int32), np.zeros(3, np.int32))


def test_the_gradient_of_a_row_sums_over_its_uses(embeddings):
    ids = np.array([[5, 5, 7]], np.int32)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(embeddings(ids, 0 * ids) ** 3)
    gradient = tf.convert_to_tensor(tape.gradient(total, embeddings.word.value))
    assert set(np.flatnonzero(np.abs(gradient).sum(-1))) == {5, 7}


def test_half_precision_casts_rows_not_tables():
    layer = Embeddings(harness.config(), dtype="mixed_bfloat16")
    layer.build()
    ids = np.zeros((2, 3), np.int32)
    assert layer(ids, ids).dtype == "bfloat16"
    assert layer.word.dtype == "float32"


def test_positions_may_be_given(embeddings):
    batch = harness.batch()
    inputs = batch["input_word_ids"], batch["input_type_ids"]
    rows = np.broadcast_to(np.arange(harness.T), inputs[0].shape)
    np.testing.assert_array_equal(embeddings(*inputs, rows), embeddings(*inputs))
    again = np.array(embeddings(*inputs, rows % 5))
    alone = embeddings(*(ids[:, 10:] for ids in inputs))
    np.testing.assert_allclose(again[:, 10:], alone, rtol=0, atol=1e-6)
