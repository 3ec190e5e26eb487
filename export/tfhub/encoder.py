"""The encoder of TensorFlow Hub's text API: what `hub.load` gives, to be called and trained."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from bert_tf import features
from bert_tf.modeling import dropout
from bert_tf.modeling.encoder import Encoder
from bert_tf.modeling.models import PretrainingModel

MLM_LOGITS = "mlm_logits"  # TensorFlow Hub's name

Batch = Mapping[str, tf.Tensor]
Outputs = dict[str, Any]

_MAX_SEED = 2**31 - 1


class _Called(tf.Module):
    """An object with the lists of the contract.

    `tf.Module` computes two of them as properties, and a SavedModel keeps attributes only.
    """

    variables: Any = ()
    trainable_variables: Any = ()


class HubEncoder(_Called):
    """An encoder, ready for `tf.saved_model.save`.

    Called with a dict of `input_word_ids`, `input_mask` and `input_type_ids`, int32 [B T], and
    with `training`, a Python bool that switches dropout on. Gives float32: `pooled_output` [B H],
    `default`, which is the same, `sequence_output` [B T H], and `encoder_outputs`, a list of L
    times [B T H], of which the last is the `sequence_output`.

    Args:
      model: an encoder, or a pre-training model for one with `mlm`.
      vocab_file: path of the vocabulary, which the SavedModel gets a copy of.
      config_file: the same of bert_config.json.
      do_lower_case: casing of the text side.

    Attributes:
      variables, trainable_variables: of the encoder, in the order of its layers. Their names are
        the paths of our variables, such as `encoder/layer_0/attention/qkv/kernel`.
      regularization_losses: empty.
      mlm: of a pre-training model: takes `masked_lm_positions`, int32 [B P], as well, and gives
        `mlm_logits`, float32 [B P V], as well. The lists of variables that it has include those of
        its head.
      vocab_file, config_file: the assets.
      do_lower_case: a variable.
    """

    def __init__(
        self,
        model: Encoder | PretrainingModel,
        vocab_file: str,
        config_file: str,
        do_lower_case: bool,
    ) -> None:
        super().__init__(name="encoder")
        self.vocab_file = tf.saved_model.Asset(vocab_file)
        self.config_file = tf.saved_model.Asset(config_file)
        self.do_lower_case = tf.Variable(do_lower_case, trainable=False, name="do_lower_case")
        encoder = model if isinstance(model, Encoder) else model.encoder
        weights = _Weights(model)
        _make_callable(self, lambda *args: _encode(encoder, weights, *args), _specs())
        _add_variables(self, weights.of(encoder))
        if not isinstance(model, Encoder):
            self.mlm = _Called(name="mlm")
            specs = _specs(features.MASKED_LM_POSITIONS)
            _make_callable(self.mlm, lambda *args: _predict(model, weights, *args), specs)
            heads = weights.of(model.masked_lm)
            _add_variables(self.mlm, [*weights.of(encoder), *heads])

    def signatures(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """The signature for servers: ids to `pooled_output`, `default` and `sequence_output`."""
        encode = self.__call__

        def serve(
            input_word_ids: tf.Tensor, input_mask: tf.Tensor, input_type_ids: tf.Tensor
        ) -> Outputs:
            inputs = (input_word_ids, input_mask, input_type_ids)
            outputs = encode(dict(zip(_specs(), inputs, strict=True)), training=False)
            return {name: outputs[name] for name in outputs if name != "encoder_outputs"}

        specs = [*_specs().values()]
        return {"serving_default": tf.function(serve, input_signature=specs, autograph=False)}


class _Weights:
    """The weights of a model, as variables that have names.

    TensorFlow saves the name of a variable, and Keras calls it `kernel` in every layer.
    """

    def __init__(self, model: keras.layers.Layer) -> None:
        self._pairs = [
            (variable, tf.Variable(variable.value, name=variable.path))
            for variable in model.variables
        ]

    def of(self, layer: keras.layers.Layer) -> list[tf.Variable]:
        """Those of a layer of the model."""
        wanted = {id(variable) for variable in layer.variables}
        return [named for variable, named in self._pairs if id(variable) in wanted]

    def in_use(self) -> keras.StatelessScope:
        """Inside, the model computes with the variables that have names."""
        return keras.StatelessScope(self._pairs)


def _specs(*more: features.Feature) -> dict[str, tf.TensorSpec]:
    return {
        feature.name: tf.TensorSpec([None, None], feature.dtype, name=feature.name)
        for feature in (*features.ENCODER_INPUTS, *more)
    }


def _make_callable(target: _Called, compute: Any, specs: Mapping[str, tf.TensorSpec]) -> None:
    """Gives an object a `__call__`, for training and not."""

    def call(inputs: Batch, training: bool = False) -> Outputs:
        if not training:
            return compute(inputs, False)
        # Drawn in the graph: a loaded model has no generator of Keras.
        seed = tf.random.uniform([2], maxval=_MAX_SEED, dtype=tf.int32)
        with dropout.step_seed(seed):
            return compute(inputs, True)

    target.__call__ = tf.function(call, autograph=False)
    for training in (False, True):
        target.__call__.get_concrete_function(dict(specs), training=training)


def _add_variables(target: _Called, variables: list[tf.Variable]) -> None:
    target.variables = list(variables)
    target.trainable_variables = [each for each in variables if each.trainable]
    target.regularization_losses = []


def _encode(encoder: Encoder, weights: _Weights, inputs: Batch, training: bool) -> Outputs:
    with weights.in_use():
        return _outputs(encoder(inputs, training=training))


def _predict(model: PretrainingModel, weights: _Weights, inputs: Batch, training: bool) -> Outputs:
    """The outputs of the encoder, and the logits of the masked LM."""
    inputs = dict(inputs)
    positions = inputs.pop(features.MASKED_LM_POSITIONS.name)
    with weights.in_use():
        encoded = model.encoder(inputs, training=training)
        hidden = tf.gather(encoded["sequence_output"], positions, batch_dims=1)  # [B P H]
        logits = model.masked_lm(hidden, model.encoder.embeddings.word)  # [B P V]
        return {**_outputs(encoded), MLM_LOGITS: logits}


def _outputs(encoded: Mapping[str, Any]) -> Outputs:
    return {**encoded, "default": encoded["pooled_output"]}
