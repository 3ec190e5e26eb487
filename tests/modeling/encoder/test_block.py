import numpy as np
import pytest

from bert_tf.modeling import dropout
from bert_tf.modeling.encoder import Block, FeedForward, visibility
from tests.modeling import harness
from tests.reference import numpy_bert


def built(layer):
    layer.build()
    return harness.randomize(layer)


def normalised(x, layer_norm):
    gamma, beta = np.asarray(layer_norm.gamma.value), np.asarray(layer_norm.beta.value)
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) * gamma + beta


@pytest.mark.parametrize(
    ("name", "function"),
    [("gelu", numpy_bert.gelu_tanh), ("gelu_erf", numpy_bert.gelu_erf), ("tanh", np.tanh)],
)
def test_feed_forward(name, function):
    layer = built(FeedForward(harness.config(hidden_act=name)))
    w1, b1, w2, b2 = (np.asarray(v.value) for v in layer.variables)
    hidden = harness.hidden()
    expected = function(hidden @ w1 + b1) @ w2 + b2
    np.testing.assert_allclose(layer(hidden), expected, rtol=0, atol=1e-5)


def test_block_normalises_after_each_residual():
    block = built(Block(harness.config(), index=0, name="layer_0"))
    hidden, visible = harness.hidden(), visibility(harness.mask())
    attended = np.array(block.attention(hidden, visible))
    middle = normalised(hidden + attended, block.attention_layer_norm)
    output = np.array(block.feed_forward(middle.astype(np.float32)))
    expected = normalised(middle + output, block.output_layer_norm)
    np.testing.assert_allclose(block(hidden, visible), expected, rtol=0, atol=1e-5)


def test_the_three_dropouts_of_all_blocks_have_different_salts():
    blocks = [Block(harness.config(), index) for index in range(24)]
    salts = [
        layer.salt
        for block in blocks
        for layer in (block.attention.dropout, block.attention_dropout, block.output_dropout)
    ]
    assert len(set(salts)) == 3 * 24
    assert 0 not in salts  # that of the embeddings


def test_each_dropout_is_used_in_training():
    hidden, visible = harness.hidden(), visibility(harness.mask())
    for changes in ({"hidden_dropout_prob": 0.0}, {"attention_probs_dropout_prob": 0.0}):
        block = built(Block(harness.config(**changes), index=0))
        with dropout.step_seed([1, 2]):
            trained = block(hidden, visible, training=True)
        assert np.abs(trained - block(hidden, visible)).max() > 0.01


def test_serialization():
    block = Block(harness.config(), index=5, name="layer_5")
    copy = Block.from_config(block.get_config())
    assert (copy.index, copy.name, copy.config) == (5, "layer_5", block.config)
