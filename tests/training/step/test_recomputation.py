"""What is computed anew stays in the program, and gives the gradients of what is kept."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.step import recomputation
from tests.reference import hlo, pretend_tpu, toy_pretraining

# Of a layer's six products all are made anew but the last, which no gradient asks for.
MADE_ANEW = 5
ROWS, SIZE = 5, 3


def compiler_of(recompute):
    """What gives the HLO of an update of one layer in one micro-batch.

    Without dropout, whose compilation takes longer than all the rest.
    """
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    _, update = toy_pretraining.update(strategy, jit_compile=True, recompute=recompute, **rates)
    (share,) = toy_pretraining.shares(0, num_micro_batches=1)
    step = update.with_static_shapes(toy_pretraining.static_shapes(num_micro_batches=1))
    batch = {name: tf.constant(values) for name, values in share.items()}
    return step.experimental_get_compiler_ir(batch, tf.constant(1, tf.int64))


def num_products(text):
    return sum(op == "dot" for _, op in hlo.instructions(text))


def test_xla_leaves_the_recomputation_in():
    """Of what is handed over twice nothing is made only once in the optimized program."""
    plain, again = compiler_of(False), compiler_of(True)
    handed = num_products(again(stage="hlo")) - num_products(plain(stage="hlo"))
    left = num_products(again(stage="optimized_hlo")) - num_products(plain(stage="optimized_hlo"))
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

    @tf.function(jit_compile=jit_compile)
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
