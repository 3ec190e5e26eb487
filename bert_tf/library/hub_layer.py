"""SavedModels of TensorFlow Hub as layers of Keras 3.

`hub.KerasLayer` of tensorflow_hub is a layer of Keras 2: Keras 3 refuses it in functional models,
and does not see its weights.
"""

import os
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from bert_tf import hub_handles
from bert_tf.errors import InputError
from bert_tf.modeling import Tensor

_TRAINING = "training"


@keras.saving.register_keras_serializable(package="bert_tf")
class HubLayer(keras.layers.Layer):
    """A SavedModel of TensorFlow Hub: an encoder, a preprocessing model or any other.

    Its variables are weights of the layer, and those that it calls trainable are trained if
    `trainable`. A file of the model around it holds the weights but not the graph, which is read
    from `handle` again.

    Args:
      handle: the directory of a SavedModel; a base path of its versions, for the newest; or the
        address of a model that tensorflow_hub has downloaded: nothing is downloaded here.
      trainable: whether its weights are trained, and its dropout is used in training.
      method: what of the model is called, such as "mlm" or "tokenize"; "": the model itself.
      arguments: further arguments of each call, such as {"seq_length": 64}.

    Call arguments:
      inputs: what the model takes; for an encoder a dict with `input_word_ids`, `input_mask`,
        `input_type_ids`, int [B T].
    Returns:
      what the model gives; for an encoder a dict with `pooled_output` [B H], `sequence_output`
      [B T H], `encoder_outputs`, a list of [B T H].

    Raises:
      InputError: there is no such SavedModel, or nothing in it can be called so.
    """

    def __init__(
        self,
        handle: str | os.PathLike[str],
        trainable: bool = False,
        method: str = "",
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        import tensorflow_text  # noqa: F401  preprocessing models have its operations

        super().__init__(trainable=trainable, **kwargs)
        self.supports_jit = False  # XLA has no strings
        self.handle = os.fspath(handle)
        self.method = method
        self.arguments = dict(arguments or {})
        model = tf.saved_model.load(hub_handles.resolve(handle))
        self._function = _function(model, method, self.handle)
        self._takes_training = _takes_training(self._function)
        self._losses_of_weights = list(_attribute(self._function, model, "regularization_losses"))
        self.hub_weights = _as_keras_variables(
            _attribute(self._function, model, "variables"),
            _attribute(self._function, model, "trainable_variables"),
        )
        self.built = True

    def call(self, inputs: Any, training: bool | None = False) -> Any:
        arguments = dict(self.arguments)
        is_training = bool(training) and self.trainable
        if self._takes_training:
            arguments[_TRAINING] = is_training
        if is_training:
            for loss in self._losses_of_weights:
                self.add_loss(loss())
        return self._function(tf.nest.map_structure(_as_int32, inputs), **arguments)

    def get_config(self) -> dict[str, Any]:
        own = {"handle": self.handle, "method": self.method, "arguments": dict(self.arguments)}
        return {**super().get_config(), **own}


def _function(model: Any, method: str, handle: str) -> Any:
    """What of a loaded model is called."""
    called = getattr(model, method, None) if method else model
    if callable(called):
        return called
    names = [name for name in dir(model) if name[0] != "_" and callable(getattr(model, name, None))]
    own = ", ".join(name for name in names if name not in dir(tf.train.Checkpoint))
    raise InputError(
        f"{handle} has no {f'callable {method!r}' if method else 'call of its own'}; what can be "
        f"called: {own or 'nothing'}. Modules of TensorFlow 1 have signatures only: "
        "bert_tf.Encoder.from_preset reads the BERTs among them."
    )


def _takes_training(called: Any) -> bool:
    """Whether a call has the argument `training`."""
    # A callable object keeps its function as an attribute of that name.
    function = getattr(called, "__dict__", {}).get("__call__", called)
    function_type = getattr(function, "function_type", None)
    return function_type is not None and _TRAINING in function_type.parameters


def _attribute(called: Any, model: Any, name: str) -> Any:
    """A list that what is called has, or else the model that it is of; () without one."""
    return getattr(called, name, getattr(model, name, None)) or ()


def _as_keras_variables(variables: Any, trainable: Any) -> list[keras.Variable]:
    """Keras variables that share their values with TensorFlow's."""
    trained = {id(each) for each in trainable}
    every = {id(each): each for each in (*variables, *trainable)}
    found = []
    for key, each in every.items():
        name = each.name.removesuffix(":0").replace("/", "_")  # Keras allows no slashes
        found.append(
            keras.Variable(
                each, shape=each.shape, dtype=each.dtype, trainable=key in trained, name=name
            )
        )
    return found


def _as_int32(x: Tensor) -> Tensor:
    """Integers as models of TensorFlow Hub take them; anything else as it is."""
    x = tf.convert_to_tensor(x) if not hasattr(x, "dtype") else x
    return tf.cast(x, tf.int32) if tf.as_dtype(x.dtype).is_integer else x
