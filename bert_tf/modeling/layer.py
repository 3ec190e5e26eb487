"""What the layers share: activations, LayerNorm, and a base class that holds the config."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from bert_tf.config import BertConfig
from bert_tf.modeling import Tensor, fused
from bert_tf.modeling.dropout import Dropout

# The score or logit of padding: its exponential is exactly zero in float32.
MASKED = -1e9

# The functions that `BertConfig.hidden_act` names.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": fused.gelu,
    "gelu_erf": fused.gelu_erf,
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": lambda x: x,
}


# Puts a class where Keras looks for those that a .keras file names. The names of the library's own
# classes (`bert_tf.library`) start with "bert_tf>".
serializable = keras.saving.register_keras_serializable(package="bert_tf.modeling")


@serializable
class LayerNorm(keras.layers.Layer):
    """Normalizes the last axis (Ba et al. 2016), in float32 whatever the dtype policy.

    `keras.layers.LayerNormalization` computes the same, but multiplies arrays of full size more
    often: forward and backward take a quarter more time on a CPU.

    Args:
      epsilon: added to the variance.

    Call arguments:
      inputs: float [... H]
    Returns:
      float [... H]
    """

    def __init__(self, epsilon: float, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.epsilon = epsilon

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        shape = (input_shape[-1],)
        self.gamma = self.add_weight(name="gamma", shape=shape, initializer="ones")
        self.beta = self.add_weight(name="beta", shape=shape, initializer="zeros")

    def call(self, inputs: Tensor) -> Tensor:
        inputs = ops.cast(inputs, "float32")
        centred = inputs - ops.mean(inputs, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        normal = centred * ops.rsqrt(variance + self.epsilon)
        return ops.cast(ops.add(normal * self.gamma, self.beta), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}


class ConfigLayer(keras.layers.Layer):
    """A layer made from a `BertConfig`. The parts made by `new_*` share its dtype policy.

    Args:
      config: the config, or the dict of its fields.
    """

    def __init__(self, config: BertConfig | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = BertConfig(**config) if isinstance(config, dict) else config

    def new(self, layer_class: type, *args: Any, **kwargs: Any) -> Any:
        """A layer of a `ConfigLayer` class with the same config and dtype policy."""
        return layer_class(self.config, *args, dtype=self.dtype_policy, **kwargs)

    def new_dense(
        self, units: int, name: str, activation: Callable[[Tensor], Tensor] | None = None
    ) -> keras.layers.Dense:
        """An affine map with the initial weights of the released code."""
        return keras.layers.Dense(
            units,
            activation=activation,
            kernel_initializer=self.new_initializer(),
            name=name,
            dtype=self.dtype_policy,
        )

    def new_dropout(self, rate: float, salt: int, name: str = "dropout") -> Dropout:
        """Dropout; each one in a model needs a different `salt`."""
        return Dropout(rate, salt, name=name, dtype=self.dtype_policy)

    def new_initializer(self) -> keras.initializers.Initializer:
        """Truncated normal. Make one for each variable: an instance repeats its values."""
        return keras.initializers.TruncatedNormal(stddev=self.config.initializer_range)

    def new_layer_norm(self, name: str = "layer_norm") -> LayerNorm:
        """LayerNorm with the epsilon of the config."""
        return LayerNorm(self.config.layer_norm_eps, name=name, dtype=self.dtype_policy)

    @property
    def hidden_activation(self) -> Callable[[Tensor], Tensor]:
        """The function that `config.hidden_act` names."""
        return ACTIVATIONS[self.config.hidden_act]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}
