import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling.normalization import LayerNorm


def layer_norm(x, gamma, beta, epsilon):
    x = x.astype(np.float64)
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * gamma + beta


@pytest.mark.parametrize("shape", [(7, 21), (3, 7, 21)])
@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
def test_values(shape, epsilon):
    rng = np.random.default_rng(0)
    layer = LayerNorm(epsilon)
    layer.build(shape)
    gamma, beta = rng.normal(size=(2, 21))
    layer.gamma.assign(gamma)
    layer.beta.assign(beta)
    x = rng.normal(3, 2, shape).astype(np.float32)
    np.testing.assert_allclose(layer(x), layer_norm(x, gamma, beta, epsilon), rtol=0, atol=1e-5)


def test_gradients_are_the_slopes():
    rng = np.random.default_rng(1)
    layer = LayerNorm(1e-12)
    layer.build((3, 5))
    x, upstream = rng.normal(size=(2, 3, 5))
    gamma, beta = rng.normal(size=(2, 5))
    layer.gamma.assign(gamma)
    layer.beta.assign(beta)
    tensor = tf.constant(x, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        total = tf.reduce_sum(layer(tensor) * tf.constant(upstream, tf.float32))
    found = tape.gradient(total, [tensor, layer.gamma.value, layer.beta.value])
    for index, array in enumerate((x, gamma, beta)):
        slopes = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [x.copy(), gamma.copy(), beta.copy()]
                moved[index][place] += step
                values.append((layer_norm(*moved, 1e-12) * upstream).sum())
            slopes[place] = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(found[index], slopes, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_statistics_are_float32_in_half_precision(dtype):
    """The square of 1000 is more than float16 holds."""
    layer = LayerNorm(1e-12, dtype=dtype)
    x = np.array([[1000.0, -1000.0, 500.0, -500.0]], np.float16)
    outputs = layer(x)
    assert outputs.dtype == dtype.removeprefix("mixed_")
    expected = layer_norm(x, 1.0, 0.0, 1e-12)
    np.testing.assert_allclose(tf.cast(outputs, "float32"), expected, atol=0.01)


def test_serialization():
    layer = LayerNorm(1e-12, name="norm")
    copy = LayerNorm.from_config(layer.get_config())
    assert (copy.epsilon, copy.name) == (1e-12, "norm")
