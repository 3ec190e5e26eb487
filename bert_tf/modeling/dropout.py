"""Dropout whose mask depends on the step's seed, the layer and the place, and on nothing kept.

The mask is a hash of the place of each element, keyed by seed and layer: two rounds of the
32-bit integer hash "lowbias32" (Wellons 2018, "Prospecting for Hash Functions"). It is the same
bit for bit eagerly, in a graph and compiled, on every device. Philox, which `keras.random`
draws from, takes three times as long on a CPU, and hundreds of times where XLA compiles it.
"""

import contextlib
import contextvars

import keras
from keras import ops

_step_seed = contextvars.ContextVar("bert_tf_dropout_step_seed", default=None)

_MULTIPLIERS = (0x7FEB352D, 0x846CA68B)  # lowbias32
_GOLDEN = 0x9E3779B9  # 2**32 / golden ratio; sets salts and seeds apart


@contextlib.contextmanager
def step_seed(seed):
    """Every `Dropout` called inside draws its mask from `seed` and its own salt.

    The seed belongs to the calling thread, so replicas that run in threads of their own each
    set theirs. Nothing is saved: the same seed gives the same masks again, which is all that
    an exact resume needs.

    Args:
      seed: int32 [2], e.g. (run seed, step); a tensor being traced will do.
    """
    token = _step_seed.set(seed)
    try:
        yield
    finally:
        _step_seed.reset(token)


class Dropout(keras.layers.Layer):
    """Dropout (Srivastava et al. 2014) with an explicit seed.

    Outside `step_seed` the seed is drawn from the global generator of Keras.

    Args:
      rate: float in [0, 1), probability of dropping.
      salt: int, different for every dropout layer of a model.

    Call arguments:
      inputs: float, any shape of static rank.
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
        seed = _step_seed.get()
        if seed is None:
            seed = keras.random.randint((2,), 0, 2**31 - 1)
        seed = ops.cast(ops.convert_to_tensor(seed), "uint32")
        key = _hash(_wrapped(seed[0] + _uint32(self.salt * _GOLDEN)))
        key = _hash(_wrapped(key + seed[1]))
        size = 1
        for dimension in shape:
            size *= dimension
        # Range of int64, as that of int32 would run on the host of a GPU.
        places = ops.cast(ops.arange(size, dtype="int64"), "uint32")
        bits = _hash(_wrapped(places + key), _hash(_wrapped(key + _uint32(_GOLDEN))))
        return ops.reshape(bits >= _uint32(int(self.rate * 2**32)), shape)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "salt": self.salt}


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
