"""The operations whose gradient is written out, each below its plain form.

The plain form says what is computed. The fused one computes the same, forward and backward, with
fewer passes over memory and fewer arrays kept. `tests/modeling/test_fused.py` holds each fused
form to its plain one.
"""

import math
from collections.abc import Callable

from keras import ops

from bert_tf.modeling import Tensor

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_CUBIC = 0.044715  # Hendrycks and Gimpel 2016, section 2
_SQRT_HALF = math.sqrt(0.5)
_INV_SQRT_2_PI = 1.0 / math.sqrt(2.0 * math.pi)


def _with_gradient(function: Callable[..., tuple[Tensor, Callable]]) -> Callable[..., Tensor]:
    """Differentiates `function` by the rule that it returns next to its value.

    The rule goes from the gradient of the value to that of each argument.
    """

    @ops.custom_gradient
    def call(*args: Tensor) -> tuple[Tensor, Callable]:
        value, gradient = function(*args)

        def call_gradient(*args: Tensor, upstream: Tensor | None = None) -> Tensor:
            # PyTorch passes `upstream` by name, after the arguments of `function`.
            return gradient(args[0] if upstream is None else upstream)

        return value, call_gradient

    return call


def plain_attention(scores: Tensor, value: Tensor, dropout_mask: Tensor | None = None) -> Tensor:
    """The values, averaged by the softmax of the scores (Vaswani et al. 2017, section 3.2.1).

    Args:
      scores: float32 [B A T S]
      value: float [B A S D]
      dropout_mask: float [B A T S], which multiplies the softmax.

    Returns:
      float [B A T D]
    """
    probs = ops.cast(ops.softmax(scores), value.dtype)  # [B A T S]
    if dropout_mask is not None:
        probs = probs * dropout_mask
    return ops.matmul(probs, value)


def attention(scores: Tensor, value: Tensor, dropout_mask: Tensor | None = None) -> Tensor:
    """`plain_attention` without another array of the size of the scores in the backward pass."""
    # The mask is an argument, not a closure: JAX could not compute it again in the backward pass.
    masks = () if dropout_mask is None else (dropout_mask,)
    return _attention(scores, value, *masks)


@_with_gradient
def _attention(scores: Tensor, value: Tensor, *masks: Tensor) -> tuple[Tensor, Callable]:
    probs = ops.cast(ops.softmax(scores), value.dtype)  # [B A T S]
    weights = probs * masks[0] if masks else probs
    context = ops.matmul(weights, value)  # [B A T D]

    def gradient(upstream: Tensor) -> tuple[Tensor, ...]:
        of_weights = ops.matmul(upstream, ops.transpose(value, (0, 1, 3, 2)))  # [B A T S]
        # The gradient of the softmax needs the sum over S of the weights times their gradients.
        # The sum over D of the context times its gradient is the same (Dao et al. 2022, B.2).
        sums = ops.sum(_float32(upstream * context), axis=-1, keepdims=True)  # [B A T 1]
        of_scores = _float32(weights * of_weights) - _float32(probs) * sums
        of_value = ops.matmul(ops.transpose(weights, (0, 1, 3, 2)), upstream)  # [B A S D]
        return of_scores, of_value, *map(ops.zeros_like, masks)

    return context, gradient


def plain_gelu(x: Tensor) -> Tensor:
    """The tanh form of GELU, with which Google's released weights were trained."""
    wide = _float32(x)
    tanh = ops.tanh(_SQRT_2_OVER_PI * (wide + _CUBIC * wide**3))
    return ops.cast(0.5 * wide * (1.0 + tanh), x.dtype)


def gelu(x: Tensor) -> Tensor:
    """`plain_gelu`; its derived gradient takes a third more time on a CPU."""
    return ops.cast(_gelu(_float32(x)), x.dtype)


@_with_gradient
def _gelu(x: Tensor) -> tuple[Tensor, Callable]:
    slope = _SQRT_2_OVER_PI * _CUBIC * ops.square(x) + _SQRT_2_OVER_PI
    tanh = ops.tanh(x * slope)
    share = 0.5 * tanh + 0.5  # of x that passes

    def gradient(upstream: Tensor) -> Tensor:
        return upstream * (share + (x - x * ops.square(tanh)) * (1.5 * slope - _SQRT_2_OVER_PI))

    return x * share, gradient


def plain_gelu_erf(x: Tensor) -> Tensor:
    """The exact form of GELU, x * Phi(x): `"gelu"` in the Hugging Face format."""
    wide = _float32(x)
    return ops.cast(0.5 * wide * (1.0 + ops.erf(wide / math.sqrt(2.0))), x.dtype)


def gelu_erf(x: Tensor) -> Tensor:
    """`plain_gelu_erf`; its derived gradient takes a third more time on a CPU."""
    return ops.cast(_gelu_erf(_float32(x)), x.dtype)


@_with_gradient
def _gelu_erf(x: Tensor) -> tuple[Tensor, Callable]:
    share = 0.5 * ops.erf(x * _SQRT_HALF) + 0.5  # Phi(x)

    def gradient(upstream: Tensor) -> Tensor:
        return upstream * (share + x * ops.exp(-0.5 * ops.square(x)) * _INV_SQRT_2_PI)

    return x * share, gradient


def plain_matmul_transposed(x: Tensor, table: Tensor) -> Tensor:
    """x [N H] times the transposed table [V H]: [N V]."""
    return ops.matmul(x, ops.transpose(table))


def matmul_transposed(x: Tensor, table: Tensor) -> Tensor:
    """`plain_matmul_transposed`; the gradient of the table is made without transposing it."""
    return _matmul_transposed(x, table)


@_with_gradient
def _matmul_transposed(x: Tensor, table: Tensor) -> tuple[Tensor, Callable]:
    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        return ops.matmul(upstream, table), ops.matmul(ops.transpose(upstream), x)

    return ops.matmul(x, ops.transpose(table)), gradient


def plain_cross_entropy(logits: Tensor, ids: Tensor) -> Tensor:
    """Negative log-probabilities of classes.

    Args:
      logits: float [... C]
      ids: int [...], the classes.

    Returns:
      float32 [...]
    """
    log_probs = ops.log_softmax(_float32(logits))  # [... C]
    ids = ops.expand_dims(ops.cast(ids, "int32"), -1)  # [... 1]
    return -ops.take_along_axis(log_probs, ids, axis=-1)[..., 0]


def cross_entropy(logits: Tensor, ids: Tensor) -> Tensor:
    """`plain_cross_entropy`; its derived gradient makes more arrays of the size of the logits.

    These are the largest arrays of the whole model.
    """
    shape, num_classes = ops.shape(ids), ops.shape(logits)[-1]
    ids = ops.reshape(ops.cast(ids, "int32"), (-1, 1))  # [N 1]

    @_with_gradient
    def of_rows(logits: Tensor) -> tuple[Tensor, Callable]:
        probs = ops.softmax(logits)  # [N C]
        of_label = ops.take_along_axis(logits, ids, axis=-1)[:, 0]
        # Relative to the most probable class, whose probability has a logarithm. (Without
        # `initial`, a batch of no rows would be an error.)
        highest = ops.max(logits, axis=-1, initial=-math.inf)
        log_probs = of_label - highest + ops.log(ops.max(probs, axis=-1, initial=0.0))

        def gradient(upstream: Tensor) -> Tensor:  # probability minus one-hot
            rows = ops.arange(ops.shape(ids)[0], dtype="int32")[:, None]
            labels = ops.concatenate([rows, ids], axis=-1)  # [N 2]
            return ops.scatter_update(probs * upstream[:, None], labels, -upstream, "add")

        return -log_probs, gradient

    rows = ops.reshape(_float32(logits), (-1, num_classes))  # [N C]
    return ops.reshape(of_rows(rows), shape)


def _float32(x: Tensor) -> Tensor:
    return ops.cast(x, "float32")
