import math

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import config
from bert_tf.modeling import activations
from tests.reference import numpy_bert

X = np.linspace(-9, 9, 401, dtype=np.float32)
FORMS = {"gelu": numpy_bert.gelu_tanh, "gelu_erf": numpy_bert.gelu_erf}


def test_every_activation_of_the_config_has_a_function():
    assert set(activations.ACTIVATIONS) == set(config.ACTIVATIONS)


@pytest.mark.parametrize("name", FORMS)
def test_values(name):
    expected = FORMS[name](X.astype(np.float64))
    np.testing.assert_allclose(activations.ACTIVATIONS[name](X), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradient_is_the_slope(name, compiled):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = activations.ACTIVATIONS[name](x)
        return tape.gradient(y, x)

    step = 1e-5
    wide = X.astype(np.float64)
    slope = (FORMS[name](wide + step) - FORMS[name](wide - step)) / (2 * step)
    found = tf.function(gradient, jit_compile=compiled)(tf.constant(X))
    np.testing.assert_allclose(found, slope, rtol=0, atol=5e-6)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_neither_overflows_nor_loses_its_type(name, dtype):
    x = tf.constant([-30000.0, -300.0, -1.0, 0.0, 1.0, 300.0, 30000.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = activations.ACTIVATIONS[name](x)
    assert y.dtype == x.dtype
    expected = FORMS[name](tf.cast(x, "float64").numpy())
    np.testing.assert_allclose(tf.cast(y, "float64"), expected, rtol=0.01, atol=0.001)
    slopes = tf.cast(tape.gradient(y, x), "float32").numpy()
    np.testing.assert_allclose(slopes[[0, 1, 3, 5, 6]], [0, 0, 0.5, 1, 1], atol=0.001)


def test_the_forms_differ_as_much_as_is_known():
    """At most 4.7e-4, at about x = 2.3: the figure by which the wrong form shows."""
    difference = np.abs(numpy_bert.gelu_tanh(X.astype(np.float64)) - FORMS["gelu_erf"](X)).max()
    assert math.isclose(difference, 4.73e-4, rel_tol=0.01)
