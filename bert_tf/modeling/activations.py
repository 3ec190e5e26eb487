"""The activation functions that `BertConfig.hidden_act` names.

Both GELU forms (Hendrycks and Gimpel 2016) have their gradient written out: in a training step
on a CPU, where every elementwise operation is a pass over memory, the derived one costs a third
more than the forms below.
"""

import math

from keras import ops

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_CUBIC = 0.044715  # Hendrycks and Gimpel 2016, section 2
_SQRT_HALF = math.sqrt(0.5)
_INV_SQRT_2_PI = 1.0 / math.sqrt(2.0 * math.pi)


def gelu(x):
    """The tanh form, as Google's released weights were trained with."""
    return ops.cast(_gelu_tanh(ops.cast(x, "float32")), x.dtype)


def gelu_erf(x):
    """The exact form x * Phi(x), as weights in the Hugging Face format mean `"gelu"`."""
    return ops.cast(_gelu_erf(ops.cast(x, "float32")), x.dtype)


@ops.custom_gradient
def _gelu_tanh(x):
    slope = _SQRT_2_OVER_PI * _CUBIC * ops.square(x) + _SQRT_2_OVER_PI
    tanh = ops.tanh(x * slope)
    share = 0.5 * tanh + 0.5  # of x that passes

    def grad(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        return upstream * (share + (x - x * ops.square(tanh)) * (1.5 * slope - _SQRT_2_OVER_PI))

    return x * share, grad


@ops.custom_gradient
def _gelu_erf(x):
    share = 0.5 * ops.erf(x * _SQRT_HALF) + 0.5  # Phi(x)

    def grad(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        return upstream * (share + x * ops.exp(-0.5 * ops.square(x)) * _INV_SQRT_2_PI)

    return x * share, grad


ACTIVATIONS = {
    "gelu": gelu,
    "gelu_erf": gelu_erf,
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": lambda x: x,
}
