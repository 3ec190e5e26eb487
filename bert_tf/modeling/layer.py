"""What every layer here shares: the config as its argument, and parts made from it."""

import dataclasses

import keras

from bert_tf.config import BertConfig
from bert_tf.modeling.activations import ACTIVATIONS
from bert_tf.modeling.dropout import Dropout
from bert_tf.modeling.normalization import LayerNorm


class ConfigLayer(keras.layers.Layer):
    """A layer made from a `BertConfig`. Parts made by `new_*` share its dtype policy.

    Args:
      config: BertConfig, or the dict of its fields.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = BertConfig(**config) if isinstance(config, dict) else config

    def new(self, layer_class, *args, **kwargs):
        """A layer of a `ConfigLayer` class for the same config and dtype policy."""
        return layer_class(self.config, *args, dtype=self.dtype_policy, **kwargs)

    def new_dense(self, units, name, activation=None):
        """An affine map with the initial values of the released code."""
        return keras.layers.Dense(
            units,
            activation=activation,
            kernel_initializer=self.new_initializer(),
            name=name,
            dtype=self.dtype_policy,
        )

    def new_dropout(self, rate, salt, name="dropout"):
        """Dropout; `salt` must differ from that of every other one in the model."""
        return Dropout(rate, salt, name=name, dtype=self.dtype_policy)

    def new_initializer(self):
        """Truncated normal. A new one for each variable: one instance repeats its values."""
        return keras.initializers.TruncatedNormal(stddev=self.config.initializer_range)

    def new_layer_norm(self, name="layer_norm"):
        """Layer normalization with the epsilon of the config."""
        return LayerNorm(self.config.layer_norm_eps, name=name, dtype=self.dtype_policy)

    @property
    def hidden_activation(self):
        """The function that `config.hidden_act` names."""
        return ACTIVATIONS[self.config.hidden_act]

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}
