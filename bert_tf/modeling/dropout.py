"""Dropout whose mask depends on the step's seed and the layer, and on nothing that was kept."""

import contextlib
import contextvars

import keras
from keras import ops

_step_seed = contextvars.ContextVar("bert_tf_dropout_step_seed", default=None)

# 2**32 divided by the golden ratio, as a signed number: multiples of it are far apart, so the
# seed of one layer at one step is not that of another layer at a step nearby.
_SALT_STRIDE = 0x9E3779B9


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


class _FixedSeed(keras.random.SeedGenerator):
    """Hands a seed that is already drawn to `keras.random`; has no state to advance."""

    def __init__(self, seed):
        self.seed = seed

    def next(self, ordered=True):
        return self.seed


class Dropout(keras.layers.Layer):
    """Dropout after Srivastava et al. 2014, with an explicit seed.

    Outside `step_seed` the mask comes from the global generator of Keras.

    Args:
      rate: float in [0, 1), probability of dropping.
      salt: int, different for every dropout layer of a model.
    """

    def __init__(self, rate, salt, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.salt = salt
        self.built = True

    def call(self, inputs, training=False):
        if not training or self.rate == 0.0:
            return inputs
        return keras.random.dropout(inputs, self.rate, seed=self._seed())

    def _seed(self):
        seed = _step_seed.get()
        if seed is None:
            return None
        stride = _signed(self.salt * _SALT_STRIDE)
        return _FixedSeed(ops.convert_to_tensor(seed, "int32") + ops.array([stride, 0], "int32"))

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "salt": self.salt}


def _signed(number):
    """The low 32 bits of `number` read as int32."""
    return (number + 2**31) % 2**32 - 2**31
