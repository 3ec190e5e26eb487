"""Dropout whose mask depends on nothing but the seed of the step, the layer and the position.

The mask is a hash of the index of each element, keyed by seed and layer: two rounds of the
32-bit integer hash "lowbias32" (Wellons 2018, "Prospecting for Hash Functions"). It is the same
bit for bit eagerly, in a graph and compiled, on every device. Four elements share a hash except
for its last multiplication, of which each has its own. Philox, which `keras.random` draws from,
takes several times as long on a CPU, and hundreds of times as long where XLA compiles it.
"""

import contextlib
import contextvars
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from bert_tf.modeling import Tensor

_FIRST_MULTIPLIER = 0x7FEB352D  # lowbias32
# The first is lowbias32's. Each makes another number of what is hashed.
_LAST_MULTIPLIERS = (0x846CA68B, 0x85EBCA6B, 0xC2B2AE35, 0x9E3779B1)
_PER_HASH = len(_LAST_MULTIPLIERS)
_GOLDEN = 0x9E3779B9  # 2**32 / golden ratio; separates salts and seeds
_NUM_SALTS = 2**7  # hashed together when the seed is set: those of 42 blocks; others one by one
_SIGNIFICANT_BITS = {"bfloat16": 8, "float16": 11}  # with the one that is not stored
_MAX_SEQUENCES = 2**10  # of a row; with more, a row would repeat masks of the next one
_MAX_TOKENS = 2**12  # longer rows would repeat some of a mask in the attention probabilities

_Shape = tuple[int | Tensor, ...]  # a size that is not known while tracing is a tensor


class _Source(NamedTuple):
    """What masks are drawn from."""

    seed: Tensor  # int32 [2]
    rows: Tensor | None  # int32 [B]
    hasher: "_Hasher"
    keys: Sequence[tuple[Tensor, Tensor]]  # of the first salts: `_Hasher.keys`


_source: contextvars.ContextVar[_Source | None] = contextvars.ContextVar(
    "bert_tf_dropout_source", default=None
)


@contextlib.contextmanager
def step_seed(seed: Tensor, rows: Tensor | None = None) -> Iterator[None]:
    """Every `Dropout` called inside draws its mask from `seed` and its own salt.

    The seed belongs to the calling thread, so each replica that runs in its own thread sets its
    own. Nothing needs to be saved for an exact resume: the same seed gives the same masks again.

    With `rows`, the mask of a row depends on its number in the global batch, whatever rows and
    padding are computed with it. So the masks are the same on any number of replicas and with any
    division of the batch into micro-batches.

    Args:
      seed: int32 [2], e.g. (run seed, step); may be traced.
      rows: int [B], the number of each row in the global batch.
    """
    with _drawing_from(_source_of(seed, rows)):
        yield


@contextlib.contextmanager
def rows_of_sequences(num_sequences: int | Tensor) -> Iterator[None]:
    """Inside, inputs are [B*W ...]: W sequences for each row, one row after the other.

    The masks of a sequence depend on its row's number and on its own among those of the row, not on
    W, which is larger where another row of the batch has more sequences.

    Args:
      num_sequences: W.
    """
    source = _source.get()
    if source is None or source.rows is None:
        yield
        return
    first = ops.cast(source.rows, "int32")[:, None] * _MAX_SEQUENCES  # [B 1]
    numbers = first + ops.arange(num_sequences, dtype="int32")  # [B W]
    with _drawing_from(_source_of(source.seed, ops.reshape(numbers, (-1,)))):
        yield


@contextlib.contextmanager
def _drawing_from(source: _Source) -> Iterator[None]:
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


def _source_of(seed: Tensor, rows: Tensor | None) -> _Source:
    # Hashed for all layers at once: a third of the operations of each mask otherwise.
    hasher = _Hasher()
    return _Source(seed, rows, hasher, hasher.keys(seed, rows, range(_NUM_SALTS)))


def _current_source() -> _Source:
    return _source.get() or _Source(keras.random.randint((2,), 0, 2**31 - 1), None, _Hasher(), ())


def repeatable(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function`, which draws the masks of the present seed whenever it is called later."""
    source = _current_source()

    def call(*args: Tensor) -> Tensor:
        with _drawing_from(source):
            return function(*args)

    return call


class Dropout(keras.layers.Layer):
    """Dropout (Srivastava et al. 2014) with an explicit seed.

    Outside `step_seed` the seed is drawn from the global generator of Keras.

    Args:
      rate: probability of dropping, in [0, 1).
      salt: different for every dropout layer of a model.

    Call arguments:
      inputs: float, any shape of static rank. Where `step_seed` has `rows`: [B A T S], or a shape
        in which the elements of a row, flattened or not, are consecutive in memory.
    Returns:
      The same shape: in training zeros where dropped, the rest divided by 1 - rate. In half
      precision the rate is the nearest that leaves the mean as it is.
    """

    def __init__(self, rate: float, salt: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self.salt = salt
        self.supports_masking = True  # Keras' LSTMs attach one to what they return
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        mask = self.mask(ops.shape(inputs), inputs.dtype) if training else None
        return inputs if mask is None else inputs * mask

    def mask(self, shape: _Shape, dtype: str) -> Tensor | None:
        """What `call` multiplies by in training: 0 where dropped. None if the rate is 0."""
        if self.rate == 0.0:
            return None
        multiplier, rate = self._multiplier_and_rate(keras.backend.standardize_dtype(dtype))
        return ops.cast(self._is_kept(shape, rate), dtype) * multiplier

    def _multiplier_and_rate(self, dtype: str) -> tuple[float, float]:
        """What kept elements are multiplied by, and the share to drop, so that the mean stays.

        bfloat16 and float16 round 1 / (1 - rate), bfloat16 by up to 0.4 %. There the share is that
        of the rounded multiplier, e.g. 0.0986 in place of 0.1.
        """
        multiplier = 1.0 / (1.0 - self.rate)
        if dtype not in _SIGNIFICANT_BITS:
            return multiplier, self.rate
        fraction, exponent = math.frexp(multiplier)
        bits = _SIGNIFICANT_BITS[dtype]
        multiplier = math.ldexp(round(math.ldexp(fraction, bits)), exponent - bits)
        return multiplier, 1.0 - 1.0 / multiplier

    def _is_kept(self, shape: _Shape, rate: float) -> Tensor:
        """Bool of `shape`, True with probability 1 - rate."""
        axis = 1 if len(shape) == 4 else len(shape) - 1
        size = shape[axis]
        # The elements that share a hash are this many apart along the axis.
        shape = (*shape[:axis], -(-size // _PER_HASH), *shape[axis + 1 :])
        source = _current_source()
        mixed = ops.reshape(self._mixed(shape, source), shape)
        minimum = _uint32(int(rate * 2**32))
        parts = [_wrapped(mixed * factor) >= minimum for factor in source.hasher.last_multipliers]
        is_kept = ops.concatenate(parts, axis=axis)
        if type(size) is int and size % _PER_HASH == 0:
            return is_kept
        return is_kept[:, :size] if axis == 1 else is_kept[..., :size]

    def _mixed(self, shape: _Shape, source: _Source) -> Tensor:
        """uint32, one for each element of `shape`: a hash before its last multiplication."""
        seed, rows, hasher, keys = source
        known = self.salt < len(keys)
        key, other_key = keys[self.salt] if known else hasher.keys(seed, rows, [self.salt])[0]
        size: int | Tensor = 1
        for dimension in shape:
            size *= dimension
        if rows is None:
            # Range of int64, because TensorFlow computes that of int32 on the host of a GPU.
            indices = ops.cast(ops.arange(size, dtype="int64"), "uint32")
        else:
            indices = _indices_in_row(shape, size, rows)
        return hasher.half(_wrapped(indices + key), other_key)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "salt": self.salt}


def _indices_in_row(shape: _Shape, size: int | Tensor, rows: Tensor) -> Tensor:
    """uint32 [N], different for every element of a row, the same however the row is padded."""
    num_rows = ops.shape(rows)[0]
    if len(shape) < 4:  # [B H], [B T H], or rows laid end to end: [B*T H]
        num_rows = max(1, num_rows) if type(num_rows) is int else ops.maximum(1, num_rows)
        indices = ops.arange(size // num_rows, dtype="int64")
    else:  # [B A T S]
        heads, queries, keys = (ops.arange(length, dtype="int64") for length in shape[1:])
        indices = (heads[:, None, None] * _MAX_TOKENS + queries[:, None]) * _MAX_TOKENS + keys
        indices = ops.reshape(indices, (-1,))
    return ops.cast(indices, "uint32")


class _Hasher:
    """Two rounds of shift, exclusive or and multiplication of uint32, with a key between.

    The last shift of the published hash is left out: it does not change the high bits, which
    decide. The constants are made once for all masks of a seed: made at every use, they were nearly
    a third of the operations that are traced for a mask.

    Attributes:
      last_multipliers: `_LAST_MULTIPLIERS` as uint32.
    """

    def __init__(self) -> None:
        self._shifts = _uint32(16), _uint32(15)
        self._first_multiplier = _uint32(_FIRST_MULTIPLIER)
        self.last_multipliers = [_uint32(factor) for factor in _LAST_MULTIPLIERS]

    def __call__(self, x: Tensor, key: Tensor | None = None) -> Tensor:
        return _wrapped(self.half(x, key) * self.last_multipliers[0])

    def keys(
        self, seed: Tensor, rows: Tensor | None, salts: Sequence[int]
    ) -> Sequence[tuple[Tensor, Tensor]]:
        """Two keys for each salt, uint32 [1], with rows [B 1]."""
        golden = _uint32(_GOLDEN)
        seed = ops.cast(ops.convert_to_tensor(seed), "uint32")
        key = self(_wrapped(seed[0] + _uint32([[salt * _GOLDEN] for salt in salts])))  # [S 1]
        key = self(_wrapped(key + seed[1]))
        other_key = self(_wrapped(key + golden))
        if rows is not None:
            rows = ops.cast(ops.convert_to_tensor(rows), "uint32")[:, None]  # [B 1]
            key = self(_wrapped(rows + key[:, None]), other_key[:, None])  # [S B 1]
            other_key = self(_wrapped(key + golden))
        pairs = (ops.unstack(each, num=len(salts)) for each in (key, other_key))
        return [*zip(*pairs, strict=True)]

    def half(self, x: Tensor, key: Tensor | None = None) -> Tensor:
        """The hash without its last multiplication."""
        x = _wrapped(_shifted(x, self._shifts[0]) * self._first_multiplier)
        return _shifted(x if key is None else _wrapped(x + key), self._shifts[1])


def _shifted(x: Tensor, count: Tensor) -> Tensor:
    return ops.bitwise_xor(x, ops.right_shift(x, count))


def _uint32(numbers: Any) -> Tensor:
    """The low 32 bits of Python's integers."""
    return ops.convert_to_tensor(np.array(np.array(numbers, object) % 2**32, np.uint32))


def _wrapped(x: Tensor) -> Tensor:
    """The low 32 bits. PyTorch has no uint32; Keras uses int64 there."""
    if keras.backend.standardize_dtype(x.dtype) == "uint32":
        return x
    return ops.bitwise_and(x, _uint32(-1))
