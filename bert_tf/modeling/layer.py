"""What every layer here shares: the config as its one argument, and the constants it names."""

import dataclasses

import keras

from bert_tf.config import BertConfig
from bert_tf.modeling.activations import ACTIVATIONS
from bert_tf.modeling.normalization import LayerNorm


class ConfigLayer(keras.layers.Layer):
    """A layer made from a `BertConfig`, which is also all that its `get_config` holds.

    Args:
      config: BertConfig, or the dict of its fields.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = BertConfig(**config) if isinstance(config, dict) else config

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}


def initializer(config):
    """Truncated normal. A new one for each variable: one instance repeats its values."""
    return keras.initializers.TruncatedNormal(stddev=config.initializer_range)


def dense(units, config, name, activation=None):
    """An affine map with the initial values of the released code."""
    return keras.layers.Dense(
        units, activation=activation, kernel_initializer=initializer(config), name=name
    )


def layer_norm(config, name="layer_norm"):
    """Layer normalization with the epsilon of `config`."""
    return LayerNorm(config.layer_norm_eps, name=name)


def activation(config):
    """The function `config.hidden_act` names."""
    return ACTIVATIONS[config.hidden_act]
