"""Dropout whose mask depends on the step's seed, the layer and the place, and on nothing kept.

The mask is a hash of the place of each element, keyed by seed and layer: two rounds of the
32-bit integer hash "lowbias32" (Wellons 2018, "Prospecting for Hash Functions"). It is the same
bit for bit eagerly, in a graph and compiled, on every device. Four elements share all of the hash
but its last multiplication, of which each has its own. Philox, which `keras.random` draws from,
takes several times as long on a CPU, and hundreds of times where XLA compiles it.
"""

import contextlib
import contextvars
from typing import NamedTuple

import keras
from keras import ops

_source = contextvars.ContextVar("bert_tf_dropout_source", default=None)

_FIRST_MULTIPLIER = 0x7FEB352D  # lowbias32
# The first is lowbias32's. Each makes a number of its own of what is hashed.
_LAST_MULTIPLIERS = (0x846CA68B, 0x85EBCA6B, 0xC2B2AE35, 0x9E3779B1)
_PER_HASH = len(_LAST_MULTIPLIERS)
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
        kept = self.kept(ops.shape(inputs), inputs.dtype) if training else None
        return inputs if kept is None else inputs * kept

    def kept(self, shape, dtype):
        """What `call` multiplies by in training: 0 where dropped. None where nothing is."""
        if self.rate == 0.0:
            return None
        return ops.cast(self._keep(shape), dtype) * (1.0 / (1.0 - self.rate))

    def _keep(self, shape):
        """Bool of `shape`, True with probability 1 - rate."""
        axis = 1 if len(shape) == 4 else len(shape) - 1
        size = shape[axis]
        # As many hashes as there are groups of elements, which lie apart along the axis.
        shape = (*shape[:axis], -(-size // _PER_HASH), *shape[axis + 1 :])
        mixed = ops.reshape(self._mixed(shape), shape)
        least = _uint32(int(self.rate * 2**32))
        keep = [_wrapped(mixed * _uint32(factor)) >= least for factor in _LAST_MULTIPLIERS]
        keep = ops.concatenate(keep, axis=axis)
        if type(size) is int and size % _PER_HASH == 0:
            return keep
        return keep[:, :size] if axis == 1 else keep[..., :size]

    def _mixed(self, shape):
        """uint32, as many as `shape` has places: a hash less its last multiplication."""
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
        return _half_hash(_wrapped(places + key), other_key)

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
    return _wrapped(_half_hash(x, key) * _uint32(_LAST_MULTIPLIERS[0]))


def _half_hash(x, key=None):
    """`_hash` less its last multiplication."""
    x = _wrapped(_shifted(x, 16) * _uint32(_FIRST_MULTIPLIER))
    return _shifted(x if key is None else _wrapped(x + key), 15)


def _shifted(x, count):
    return ops.bitwise_xor(x, ops.right_shift(x, _uint32(count)))


def _uint32(number):
    return ops.convert_to_tensor(number % 2**32, "uint32")


def _wrapped(x):
    """The low 32 bits. PyTorch has no uint32, for which Keras takes int64 there."""
    if keras.backend.standardize_dtype(x.dtype) == "uint32":
        return x
    return ops.bitwise_and(x, _uint32(-1))
