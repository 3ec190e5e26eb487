"""What is computed anew stays in the program, and gives the gradients of what is kept."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling.encoder import Encoder
from bert_tf.training.step import recomputation
from tests.modeling import harness
from tests.reference import hlo, pretend_tpu, toy_pretraining

# Of a layer's six products all are made anew but the last, which no gradient asks for.
MADE_ANEW = 5
ROWS, SIZE = 5, 3


def num_products(remat):
    """Matrix products of a compiled step of one layer: as handed over, and when optimized.

    Without dropout, whose compilation takes longer than all the rest.

    Args:
      remat: what recomputes; None: everything is kept.
    """
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    encoder = Encoder(harness.config(num_hidden_layers=1, **rates))
    encoder.recompute, encoder.remat = remat is not None, remat
    weights = [weight.value for layer in encoder.blocks for weight in layer.trainable_variables]

    @tf.function(jit_compile=True, autograph=False)
    def gradients(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(encoder(batch, training=True)["sequence_output"] ** 3)
        return tape.gradient(loss, [*weights, encoder.embeddings.position.value])

    names = ("input_word_ids", "input_mask", "input_type_ids")
    compiler = gradients.experimental_get_compiler_ir(
        {name: tf.constant(harness.batch()[name]) for name in names}
    )
    return [
        sum(op == "dot" for _, op in hlo.instructions(compiler(stage=stage)))
        for stage in ("hlo", "optimized_hlo")
    ]


def test_xla_leaves_the_recomputation_in():
    """Of what is handed over twice nothing is made only once in the optimized program."""
    plain = num_products(None)
    for remat in (recomputation.compiled_remat, keras.remat):
        handed, left = (more - less for more, less in zip(num_products(remat), plain, strict=True))
        assert left == handed >= MADE_ANEW


def test_the_zero_on_a_tpu_is_one_that_no_compiler_sees_through():
    """`keras.remat` compares a value with itself, which is always true."""
    graph = pretend_tpu.update_graph(recompute=True)
    assert graph.not_for_tpus() == set()
    found = [node.op for node in graph.on_tpu]
    assert found.count("IsNan") == toy_pretraining.CONFIG.num_hidden_layers
    without = [node.op for node in pretend_tpu.update_graph(recompute=False).on_tpu]
    assert found.count("Equal") == without.count("Equal")
    assert "IsNan" not in without


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_are_those_of_the_function(jit_compile, dtype):
    """tanh(x W): what the rule for tanh says, worked out by hand; the variable's too."""
    rng = np.random.default_rng(3)
    x, upstream = (rng.normal(size=(ROWS, SIZE)).astype(np.float32) for _ in "xu")
    weights = tf.Variable(rng.normal(size=(SIZE, SIZE)).astype(np.float32))

    @tf.function(jit_compile=jit_compile, autograph=False)
    def gradients(x, upstream):
        call = recomputation.compiled_remat(lambda x: tf.tanh(x @ tf.cast(weights, x.dtype)))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        return y, tape.gradient(y, [x, weights], output_gradients=upstream)

    y, (of_x, of_weights) = gradients(tf.cast(x, dtype), tf.cast(upstream, dtype))
    expected = np.tanh(x @ weights.numpy())
    inner = upstream * (1 - expected**2)
    atol = 1e-5 if dtype == "float32" else 0.1
    np.testing.assert_allclose(tf.cast(y, tf.float32), expected, atol=atol)
    np.testing.assert_allclose(tf.cast(of_x, tf.float32), inner @ weights.numpy().T, atol=atol)
    np.testing.assert_allclose(of_weights, x.T @ inner, atol=atol)


def test_what_runs_without_xla_is_left_to_keras():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    model, *_ = toy_pretraining.parts(strategy)
    recomputation.set_up(model.encoder, recompute=True, is_compiled=False)
    assert model.encoder.recompute and model.encoder.remat is keras.remat
    recomputation.set_up(model.encoder, recompute=False, is_compiled=True)
    assert not model.encoder.recompute
