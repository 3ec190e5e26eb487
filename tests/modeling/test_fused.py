import inspect
import math

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import dropout, fused
from tests.reference import numpy_bert

B, A, T, S, D, C, H = 5, 3, 7, 13, 11, 101, 21
DTYPES = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}  # with the largest error
X = np.linspace(-9, 9, 401, dtype=np.float32)
GELU = {"gelu": numpy_bert.gelu_tanh, "gelu_erf": numpy_bert.gelu_erf}


def normal(*shape, dtype="float32", scale=1.0):
    values = np.random.default_rng(math.prod(shape)).normal(scale=scale, size=shape)
    return tf.cast(values, dtype)


def attention_inputs(dtype):
    """Scores of rows with padding, as softmax gets them, and values."""
    padding = np.arange(S) >= np.array([13, 11, 7, 2, 0])[:, None]
    scores = normal(B, A, T, S, scale=3.0) - 1e9 * padding[:, None, None].astype(np.float32)
    return [scores, normal(B, A, S, D, dtype=dtype)]


def dropout_mask(rate, dtype):
    with dropout.step_seed([1, 2]):
        return dropout.Dropout(rate, salt=1).mask((B, A, T, S), dtype)


def labels(*shape):
    return np.random.default_rng(7).integers(0, C, shape, dtype=np.int32)


# By name: (name of the function, what it is differentiated by, other arguments), from the dtype.
CASES = {
    "attention": lambda dtype: ("attention", attention_inputs(dtype), ()),
    "attention with dropout": lambda dtype: (
        "attention",
        attention_inputs(dtype),
        (dropout_mask(0.3, dtype),),
    ),
    "attention with nearly all dropped": lambda dtype: (
        "attention",
        attention_inputs(dtype),
        (dropout_mask(0.9, dtype),),
    ),
    "gelu": lambda dtype: ("gelu", [tf.cast(X, dtype)], ()),
    "gelu_erf": lambda dtype: ("gelu_erf", [tf.cast(X, dtype)], ()),
    "matmul_transposed": lambda dtype: (
        "matmul_transposed",
        [normal(T, H, dtype=dtype), normal(C, H, dtype=dtype)],
        (),
    ),
    "cross_entropy": lambda dtype: ("cross_entropy", [normal(B, C, dtype=dtype)], (labels(B),)),
    "cross_entropy of several positions": lambda dtype: (
        "cross_entropy",
        [normal(B, T, C, dtype=dtype, scale=9.0)],
        (labels(B, T),),
    ),
    "cross_entropy of no rows": lambda dtype: (
        "cross_entropy",
        [normal(0, C, dtype=dtype)],
        (labels(0),),
    ),
}


def value_and_gradients(function, inputs, others):
    """The value, and the gradient of each input for the same random upstream gradient."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        value = function(*inputs, *others)
        total = tf.reduce_sum(tf.cast(value, "float32") * normal(*value.shape))
    return [value, *tape.gradient(total, inputs)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_fused_form_is_the_plain_one(case, dtype, compiled):
    name, inputs, others = CASES[case](dtype)
    run = tf.function(value_and_gradients, jit_compile=True) if compiled else value_and_gradients
    found = run(getattr(fused, name), inputs, others)
    expected = value_and_gradients(getattr(fused, f"plain_{name}"), inputs, others)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        ours, theirs = (tf.cast(x, "float32").numpy() for x in (ours, theirs))
        atol = DTYPES[dtype] * np.abs(theirs).max(initial=1.0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)


def test_every_fused_form_has_a_plain_one_and_is_compared_with_it():
    names = {
        name
        for name, value in vars(fused).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    plain = {name for name in names if name.startswith("plain_")}
    assert names - plain == {CASES[case]("float32")[0] for case in CASES}
    assert plain == {f"plain_{name}" for name in names - plain}


@pytest.mark.parametrize("form", ["attention", "plain_attention"])
def test_attention_is_that_of_the_reference(form):
    scores, value = (np.asarray(x) for x in attention_inputs("float32"))
    found = getattr(fused, form)(scores, value)
    for b, a, t in np.ndindex(B, A, T):
        shares = np.exp(scores[b, a, t].astype(np.float64) - scores[b, a, t].max())
        expected = shares / shares.sum() @ value[b, a]
        np.testing.assert_allclose(found[b, a, t], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", GELU)
@pytest.mark.parametrize("prefix", ["", "plain_"])
def test_values_of_gelu(name, prefix):
    expected = GELU[name](X.astype(np.float64))
    np.testing.assert_allclose(getattr(fused, prefix + name)(X), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", GELU)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradient_of_gelu_is_the_slope(name, compiled):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(fused, name)(x)
        return tape.gradient(y, x)

    step = 1e-5
    wide = X.astype(np.float64)
    slope = (GELU[name](wide + step) - GELU[name](wide - step)) / (2 * step)
    found = tf.function(gradient, jit_compile=compiled)(tf.constant(X))
    np.testing.assert_allclose(found, slope, rtol=0, atol=5e-6)


@pytest.mark.parametrize("name", GELU)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gelu_in_half_precision_neither_overflows_nor_loses_its_type(name, dtype):
    x = tf.constant([-30000.0, -300.0, -1.0, 0.0, 1.0, 300.0, 30000.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(fused, name)(x)
    assert y.dtype == x.dtype
    expected = GELU[name](tf.cast(x, "float64").numpy())
    np.testing.assert_allclose(tf.cast(y, "float64"), expected, rtol=0.01, atol=0.001)
    slopes = tf.cast(tape.gradient(y, x), "float32").numpy()
    np.testing.assert_allclose(slopes[[0, 1, 3, 5, 6]], [0, 0, 0.5, 1, 1], atol=0.001)


def test_the_forms_of_gelu_differ_as_much_as_is_known():
    """At most 4.7e-4, at about x = 2.3: the figure by which the wrong form shows."""
    difference = np.abs(numpy_bert.gelu_tanh(X.astype(np.float64)) - GELU["gelu_erf"](X)).max()
    assert math.isclose(difference, 4.73e-4, rel_tol=0.01)
