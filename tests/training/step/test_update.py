"""Updates of static shapes: XLA compiles all of them, and the numbers stay the same."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.devices import strategies
from tests.reference import hlo, toy_fine_tuning, toy_pretraining

ONE, TWO = (toy_pretraining.NUM_TOKENS,), (toy_pretraining.SHORT, toy_pretraining.NUM_TOKENS)
NUM_UPDATES = 4


@pytest.fixture
def policy():
    yield keras.config.set_dtype_policy
    keras.config.set_dtype_policy("float32")


def graph_of(lengths=ONE, is_packed=False, num_micro_batches=1, **kwargs):
    """The HLO of an update."""
    of_share = {"is_packed": is_packed, "num_micro_batches": num_micro_batches}
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    _, update = toy_pretraining.update(strategy, jit_compile=True, **kwargs)
    (share,) = toy_pretraining.shares(0, **of_share)
    step = update.with_static_shapes(toy_pretraining.static_shapes(lengths, **of_share))
    batch = {name: tf.constant(values) for name, values in share.items()}
    return step.experimental_get_compiler_ir(batch, tf.constant(1, tf.int64))(stage="hlo")


@pytest.mark.parametrize(
    "case",
    [
        {"optimizer": "lamb", "lengths": TWO},
        {"objective": "mlm", "is_packed": True},
        {"objective": "mlm_sop", "recompute": True, "num_micro_batches": 2},
        {"objective": "ltr", "is_packed": True, "recompute": True},
        {"objective": "ltr_nsp", "lengths": TWO},
    ],
)
def test_all_shapes_are_known_and_nothing_needs_the_host(case):
    found = graph_of(**case)
    assert hlo.not_static(found) == set()
    assert hlo.needs_host(found) == set()
    num_copies = case.get("num_micro_batches", 1) * len(case.get("lengths", ONE))
    # Of each micro-batch and length, forward and backward of the layer's six products.
    num_products = sum(op == "dot" for _, op in hlo.instructions(found))
    assert num_products >= num_copies * 3 * 6


@pytest.mark.parametrize("kind", ["tag", "choice"])
def test_fine_tuning_has_static_shapes_and_needs_no_host(kind):
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    _, update = toy_fine_tuning.update(kind, strategy, jit_compile=True)
    _, shapes = toy_fine_tuning.batches(kind)
    batch, number = toy_fine_tuning.first_share(kind), tf.constant(1, tf.int64)
    step = update.with_static_shapes(shapes)
    found = step.experimental_get_compiler_ir(batch, number)(stage="hlo")
    assert hlo.not_static(found) == hlo.needs_host(found) == set()
    assert sum(op == "dot" for _, op in hlo.instructions(found)) >= len(shapes.lengths) * 3 * 6


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_layers_in_16_bits(policy, dtype):
    policy(f"mixed_{dtype}")
    found = graph_of(has_loss_scale=dtype == "float16")
    assert hlo.not_static(found) == hlo.needs_host(found) == set()
    short = {"bfloat16": "bf16", "float16": "f16"}[dtype]
    products = [shape for shape, op in hlo.instructions(found) if op == "dot"]
    assert sum(shape.startswith(short) for shape in products) > len(products) / 2


def test_what_is_not_static_would_be_found():
    @tf.function(jit_compile=True, autograph=False)
    def chosen(x):
        return tf.ensure_shape(x, [5]) * tf.cast(tf.size(tf.where(x > 0.0)), tf.float32)

    text = chosen.experimental_get_compiler_ir(tf.ones([5]))(stage="hlo")
    assert any("set-dimension-size" in each for each in hlo.not_static(text))
    assert hlo.needs_host('  %c = f32[] custom-call(), custom_call_target="x"\n') == {"custom-call"}


def trained(num_replicas, jit_compile, recompute=False):
    """Scalars and weights after some updates by LAMB."""
    cut = {"num_micro_batches": 1}
    devices = [f"/cpu:{i}" for i in range(num_replicas)]
    strategy = (
        strategies.mirrored(devices)
        if num_replicas > 1
        else tf.distribute.OneDeviceStrategy(*devices)
    )
    changes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    changes["optimizer"] = "lamb"
    model, update = toy_pretraining.update(strategy, jit_compile, recompute, **changes)
    step = update.with_static_shapes(toy_pretraining.static_shapes(ONE, num_replicas, **cut))
    batches = iter(toy_pretraining.dataset(strategy, **cut))
    call = tf.function(lambda number: step(next(batches), number), autograph=False)
    for number in range(1, NUM_UPDATES + 1):
        scalars = call(tf.constant(number, tf.int64))
    return {name: float(value) for name, value in scalars.items()}, {
        variable.path: variable.numpy() for variable in model.trainable_variables
    }


def test_compiled_or_not_the_weights_are_the_same():
    """Without dropout, whose compilation takes longer than the rest; `test_objectives` has it."""
    wanted_scalars, wanted = trained(1, jit_compile=False)
    scalars, found = trained(2, jit_compile=True, recompute=True)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, atol=2e-6, err_msg=name)
    assert scalars == pytest.approx(wanted_scalars, rel=1e-5)
