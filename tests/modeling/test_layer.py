import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf import config
from bert_tf.modeling import encoder, frozen_tagger, heads, layer, models
from tests.modeling import harness

ABSTRACT = (layer.ConfigLayer, models._LabellingModel)


def test_every_activation_of_the_config_has_a_function():
    assert set(layer.ACTIVATIONS) == set(config.ACTIVATIONS)


def test_a_config_survives_serialization():
    made = layer.ConfigLayer(harness.config(hidden_act="gelu_erf"), name="thing")
    copy = layer.ConfigLayer.from_config(made.get_config())
    assert copy.config == made.config and copy.name == "thing"


def test_every_layer_is_registered_with_keras():
    found = [
        value
        for module in (encoder, frozen_tagger, heads, layer, models)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
        if issubclass(value, keras.layers.Layer) and value not in ABSTRACT
    ]
    assert len(found) == 17
    for value in found:
        name = keras.saving.get_registered_name(value)
        assert name == f"bert_tf.modeling>{value.__name__}"
        assert keras.saving.get_registered_object(name) is value


def test_initial_values_are_a_truncated_normal():
    dense = layer.ConfigLayer(harness.config(initializer_range=0.05)).new_dense(307, "dense")
    dense.build((None, 311))
    kernel = np.asarray(dense.kernel.value)
    # A normal distribution cut at two deviations has 0.8796 of its deviation.
    assert abs(kernel.std() - 0.05 * 0.8796) < 0.0005
    assert abs(kernel).max() <= 0.1
    assert not np.asarray(dense.bias.value).any()


def test_variables_of_one_shape_start_differently():
    one, two = (layer.ConfigLayer(harness.config()).new_dense(7, n) for n in ("one", "two"))
    one.build((None, 5))
    two.build((None, 5))
    assert (np.asarray(one.kernel.value) != np.asarray(two.kernel.value)).all()


def test_parts_follow_config_and_dtype_policy():
    owner = layer.ConfigLayer(harness.config(layer_norm_eps=0.25), dtype="mixed_bfloat16")
    norm = owner.new_layer_norm()
    assert norm.epsilon == 0.25
    parts = norm, owner.new_dense(3, "dense"), owner.new_dropout(0.1, 1), owner.new(type(owner))
    assert {part.compute_dtype for part in parts} == {"bfloat16"}
    assert {part.variable_dtype for part in parts} == {"float32"}


def layer_norm(x, gamma, beta, epsilon):
    x = x.astype(np.float64)
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * gamma + beta


@pytest.mark.parametrize("shape", [(7, 21), (3, 7, 21)])
@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
def test_values_of_layer_norm(shape, epsilon):
    rng = np.random.default_rng(0)
    norm = layer.LayerNorm(epsilon)
    norm.build(shape)
    gamma, beta = rng.normal(size=(2, 21))
    norm.gamma.assign(gamma)
    norm.beta.assign(beta)
    x = rng.normal(3, 2, shape).astype(np.float32)
    np.testing.assert_allclose(norm(x), layer_norm(x, gamma, beta, epsilon), rtol=0, atol=1e-5)


def test_gradients_of_layer_norm_are_the_slopes():
    rng = np.random.default_rng(1)
    norm = layer.LayerNorm(1e-12)
    norm.build((3, 5))
    x, upstream = rng.normal(size=(2, 3, 5))
    gamma, beta = rng.normal(size=(2, 5))
    norm.gamma.assign(gamma)
    norm.beta.assign(beta)
    tensor = tf.constant(x, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        total = tf.reduce_sum(norm(tensor) * tf.constant(upstream, tf.float32))
    found = tape.gradient(total, [tensor, norm.gamma.value, norm.beta.value])
    for index, array in enumerate((x, gamma, beta)):
        slopes = np.zeros_like(array)
        for position in np.ndindex(array.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [x.copy(), gamma.copy(), beta.copy()]
                moved[index][position] += step
                values.append((layer_norm(*moved, 1e-12) * upstream).sum())
            slopes[position] = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(found[index], slopes, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_statistics_of_layer_norm_are_float32_in_half_precision(dtype):
    """The square of 1000 is more than float16 holds."""
    norm = layer.LayerNorm(1e-12, dtype=dtype)
    x = np.array([[1000.0, -1000.0, 500.0, -500.0]], np.float16)
    outputs = norm(x)
    assert outputs.dtype == dtype.removeprefix("mixed_")
    expected = layer_norm(x, 1.0, 0.0, 1e-12)
    np.testing.assert_allclose(tf.cast(outputs, "float32"), expected, atol=0.01)


def test_layer_norm_survives_serialization():
    norm = layer.LayerNorm(1e-12, name="norm")
    copy = layer.LayerNorm.from_config(norm.get_config())
    assert (copy.epsilon, copy.name) == (1e-12, "norm")
