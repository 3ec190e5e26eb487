"""Dropout whose mask depends on the step's seed, the layer and the place, and on nothing kept.

The mask is a hash of the place of each element, keyed by seed and layer: two rounds of the
32-bit integer hash "lowbias32" (Wellons 2018, "Prospecting for Hash Functions"). It is the same
bit for bit eagerly, in a graph and compiled, on every device. Philox, which `keras.random`
draws from, takes three times as long on a CPU, and hundreds of times where XLA compiles it.
"""

import contextlib
import contextvars
from typing import NamedTuple

import keras
from keras import ops

_source = contextvars.ContextVar("bert_tf_dropout_source", default=None)

_MULTIPLIERS = (0x7FEB352D, 0x846CA68B)  # lowbias32
_GOLDEN = 0x9E3779B9  # 2**32 / golden ratio; sets salts and seeds apart
_MOST_TOKENS = 2**12  # longer rows would repeat some of a mask in the attention probabilities


class _Source(NamedTuple):
    """What masks are drawn from: seed int32 [2], and rows int32 [B] or None."""

    seed: object
    rows: object


@contextlib.contextmanager
def step_seed(seed, *, first_row=None, num_rows=None, rows=None):
    """Every `Dropout` called inside draws its mask from `seed` and its own salt.

    The seed belongs to the calling thread, so replicas that run in threads of their own each
    set theirs. Nothing is saved: the same seed gives the same masks again, which is all that
    an exact resume needs.

    Where the numbers of the rows in the global batch are given, every row has the mask of its
    number, token for token, whatever rows and padding stand beside it: the masks are the same
    on any number of replicas and however the batch is cut into pieces.

    Args:
      seed: int32 [2], e.g. (run seed, step); a tensor being traced will do.
      first_row: int scalar, the number of the first row, where the others follow it.
      num_rows: int scalar, with `first_row`: B of the piece that is computed inside.
      rows: int [B], the number of every row, in place of the two.
    """
    if first_row is not None:
        rows = first_row + ops.arange(num_rows, dtype="int32")
    with _drawing_from(_Source(seed, rows)):
        yield


@contextlib.contextmanager
def _drawing_from(source):
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


def repeatable(function):
    """`function`, which draws the masks of this moment whenever it is called, here or later."""
    source = _source.get() or _Source(_any_seed(), None)

    def call(*args):
        with _drawing_from(source):
            return function(*args)

    return call


class Dropout(keras.layers.Layer):
    """Dropout (Srivastava et al. 2014) with an explicit seed.

    Outside `step_seed` the seed is drawn from the global generator of Keras.

    Args:
      rate: float in [0, 1), probability of dropping.
      salt: int, different for every dropout layer of a model.

    Call arguments:
      inputs: float, any shape of static rank. Where the rows of the batch have numbers: [B A T S]
        or one whose rows, flattened or not, follow each other in memory.
    Returns:
      The same shape: in training zeros where dropped, the rest divided by 1 - rate.
    """

    def __init__(self, rate, salt, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.salt = salt
        self.built = True

    def call(self, inputs, training=False):
        if not training or self.rate == 0.0:
            return inputs
        keep = ops.cast(self._keep(ops.shape(inputs)), inputs.dtype)
        return inputs * (keep * (1.0 / (1.0 - self.rate)))

    def _keep(self, shape):
        """Bool of `shape`, True with probability 1 - rate."""
        seed, rows = _source.get() or (_any_seed(), None)
        seed = ops.cast(ops.convert_to_tensor(seed), "uint32")
        key = _hash(_wrapped(seed[0] + _uint32(self.salt * _GOLDEN)))
        key = _hash(_wrapped(key + seed[1]))
        other_key = _hash(_wrapped(key + _uint32(_GOLDEN)))
        size = 1
        for dimension in shape:
            size *= dimension
        if rows is None:
            # Range of int64, as that of int32 would run on the host of a GPU.
            places = ops.cast(ops.arange(size, dtype="int64"), "uint32")
        else:
            places = _places_in_row(shape, size, rows)[None]  # [1 N]
            rows = ops.cast(ops.convert_to_tensor(rows), "uint32")[:, None]  # [B 1]
            key = _hash(_wrapped(rows + key), other_key)
            other_key = _hash(_wrapped(key + _uint32(_GOLDEN)))
        bits = _hash(_wrapped(places + key), other_key)
        return ops.reshape(bits >= _uint32(int(self.rate * 2**32)), shape)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "salt": self.salt}


def _any_seed():
    return keras.random.randint((2,), 0, 2**31 - 1)


def _places_in_row(shape, size, rows):
    """uint32 [N], different for every element of a row, the same with any padding behind it."""
    num_rows = ops.shape(rows)[0]
    if len(shape) < 4:  # [B H], [B T H], or rows laid end to end: [B*T H]
        num_rows = max(1, num_rows) if type(num_rows) is int else ops.maximum(1, num_rows)
        places = ops.arange(size // num_rows, dtype="int64")
    else:  # [B A T S]
        heads, queries, keys = (ops.arange(length, dtype="int64") for length in shape[1:])
        places = (heads[:, None, None] * _MOST_TOKENS + queries[:, None]) * _MOST_TOKENS + keys
        places = ops.reshape(places, (-1,))
    return ops.cast(places, "uint32")


def _hash(x, key=None):
    """Two rounds of shift, exclusive or and multiplication of uint32, with `key` between.

    The last shift of the published hash is left out: the high bits, which decide, are done.
    """
    x = _wrapped(ops.bitwise_xor(x, ops.right_shift(x, _uint32(16))) * _uint32(_MULTIPLIERS[0]))
    x = x if key is None else _wrapped(x + key)
    return _wrapped(ops.bitwise_xor(x, ops.right_shift(x, _uint32(15))) * _uint32(_MULTIPLIERS[1]))


def _uint32(number):
    return ops.convert_to_tensor(number % 2**32, "uint32")


def _wrapped(x):
    """The low 32 bits. PyTorch has no uint32, for which Keras takes int64 there."""
    if keras.backend.standardize_dtype(x.dtype) == "uint32":
        return x
    return ops.bitwise_and(x, _uint32(-1))
