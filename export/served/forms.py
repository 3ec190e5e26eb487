"""A form of each class of model for serving: called like the model, with the same outputs."""

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.variables import Model
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.modeling import layer, models
from bert_tf.modeling.encoder import Encoder
from bert_tf.modeling.ensemble import EnsembleModel
from export.served import weights
from export.served.constants import Constants
from export.served.encoder import Encode, Rows
from export.served.weights import Tensors, Weights

Batch = Mapping[str, tf.Tensor]
Outputs = dict[str, Any]

_INPUTS = tuple(feature.name for feature in features.ENCODER_INPUTS)
_MASK = features.MASK.name
_POSITIONS = features.MASKED_LM_POSITIONS.name


def of(
    model: Any,
    dtype: str = "float32",
    is_frozen: bool = False,
    is_inlined: bool = False,
    constants: Constants | None = None,
) -> Any:
    """The form of a model.

    Args:
      model: an `Encoder`, a model of `bert_tf.modeling.models`, or an ensemble of them.
      dtype: how matrices and tables are stored, one of `options.DTYPES`.
      is_frozen: whether the weights are constants of the graph, if they are not too large.
      is_inlined, constants: see `Weights`. With `constants`, a frozen form computes with zeros
        until its graph is written.

    Returns:
      What is called as the model is, `form(batch, training=False)`, and has `variables`, those
      that its graph reads. It is `model` itself where there is no form of it: a model on frozen
      layers, or a left-to-right one.

    Raises:
      InputError: another dtype than float32, and there is no form.
    """
    num_values = sum(math.prod(variable.shape) for variable in model.variables)
    is_frozen = is_frozen and weights.fit_a_graph(num_values, dtype)
    if isinstance(model, EnsembleModel):
        members = [of(member, dtype, is_frozen, is_inlined, constants) for member in model.members]
        return EnsembleForm(model, members)
    form = _FORMS.get(type(model))
    if form and not model.config.is_causal:
        arrays = {variable.path: np.asarray(variable) for variable in model.variables}
        return form(model, Weights(arrays, dtype, is_frozen, is_inlined, constants))
    if dtype != "float32":
        raise InputError(
            f"--dtype={dtype}: the weights of a model on frozen layers, or of a left-to-right "
            "model, stay as they are. Leave the flag out."
        )
    return model


class EncoderForm:
    """An encoder: `sequence_output`, `pooled_output` and `encoder_outputs`.

    What its functions hold is in the graph once, however many signatures call them.
    """

    def __init__(self, model: Model, of_model: Weights) -> None:
        self.config, self._weights = model.config, of_model
        self.variables = of_model.variables
        hidden = tf.TensorSpec([None, self.config.hidden_size], tf.float32)
        self._lower = _function(of_model, self._trace_lower, [_ids(name) for name in _INPUTS])
        self._whole = _function(of_model, self._trace_whole, [hidden, _ids(_MASK)])
        self._first = _function(of_model, self._trace_first, [hidden, _ids(_MASK)])

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        _, *hidden = below = self._below_last(batch)
        last, pooled = self._whole(below[-1], tf.convert_to_tensor(batch[_MASK]))
        num_tokens = tf.shape(batch[_MASK])[1]
        outputs = [
            tf.reshape(each, [-1, num_tokens, self.config.hidden_size]) for each in (*hidden, last)
        ]
        return {
            "sequence_output": outputs[-1],
            "pooled_output": pooled,
            "encoder_outputs": outputs,
        }

    def pooled(self, batch: Batch) -> tf.Tensor:
        """`pooled_output` alone: the last layer is computed for the first tokens only."""
        return self._first(self._below_last(batch)[-1], tf.convert_to_tensor(batch[_MASK]))

    def _below_last(self, batch: Batch) -> list[tf.Tensor]:
        return self._lower(*(tf.convert_to_tensor(batch[name]) for name in _INPUTS))

    def _trace_lower(
        self, word_ids: tf.Tensor, input_mask: tf.Tensor, type_ids: tf.Tensor
    ) -> list[tf.Tensor]:
        """The embeddings and what the layers but the last one give, float32 [B*T H] each."""
        return lower_layers(self._encode(input_mask), self.config, word_ids, type_ids)

    def _trace_whole(self, hidden: tf.Tensor, input_mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What the last layer gives, float32 [B*T H], and the pooler's output [B H]."""
        encode = self._encode(input_mask)
        hidden = encode.block(self.config.num_hidden_layers - 1, hidden)
        return hidden, encode.pool(tf.gather(hidden, encode.rows.first_tokens))

    def _trace_first(self, hidden: tf.Tensor, input_mask: tf.Tensor) -> tf.Tensor:
        """The pooler's output, float32 [B H]."""
        encode = self._encode(input_mask)
        queries = encode.rows.first_tokens[:, tf.newaxis]
        return encode.pool(encode.block(self.config.num_hidden_layers - 1, hidden, queries))

    def _encode(self, input_mask: tf.Tensor) -> Encode:
        return Encode(self.config, Tensors(self._weights), Rows.of(input_mask))


class PretrainingForm:
    """A masked language model, with or without a head for pairs of texts."""

    def __init__(self, model: models.PretrainingModel, of_model: Weights) -> None:
        self.config, self._weights = model.config, of_model
        self.variables = of_model.variables
        self.encoder = EncoderForm(model, of_model)
        self._has_next_sentence = model.has_next_sentence
        names = (*_INPUTS, _POSITIONS)
        self._function = _function(of_model, self._trace, [_ids(name) for name in names])

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        ids = [tf.convert_to_tensor(batch[name]) for name in _INPUTS]
        positions = batch.get(_POSITIONS)
        if positions is None:  # every one
            shape = tf.shape(ids[0])
            positions = tf.broadcast_to(tf.range(shape[1]), shape)
        return self._function(*ids, positions)

    def _trace(
        self,
        word_ids: tf.Tensor,
        input_mask: tf.Tensor,
        type_ids: tf.Tensor,
        positions: tf.Tensor,
    ) -> Outputs:
        """All in one function, so that the table of words is there once."""
        tensors = Tensors(self._weights)
        encode = Encode(self.config, tensors, Rows.of(input_mask))
        hidden = lower_layers(encode, self.config, word_ids, type_ids)[-1]
        first = encode.rows.first_tokens[:, tf.newaxis]
        queries = tf.concat([first, positions + first], axis=1)  # [B Q], Q is 1+P
        hidden = encode.block(self.config.num_hidden_layers - 1, hidden, queries)
        hidden = tf.reshape(hidden, [-1, tf.shape(queries)[1], self.config.hidden_size])
        flat = tf.reshape(hidden[:, 1:], [-1, self.config.hidden_size])  # [B*P H]
        flat = tf.cast(encode.activate(flat, "masked_lm/transform"), tf.float32)
        flat = encode.normalize(flat, "masked_lm/layer_norm")
        logits = tensors.transposed_product(flat, "encoder/embeddings/word")  # [B*P V]
        logits = logits + tensors.vector("masked_lm/output_bias")
        shape = [-1, tf.shape(positions)[1], self.config.vocab_size]
        outputs = {"masked_lm_logits": tf.reshape(logits, shape)}
        if self._has_next_sentence:
            pooled = encode.pool(hidden[:, 0])
            outputs["next_sentence_logits"] = tensors.affine(pooled, "next_sentence")
        return outputs


class _HeadForm(abc.ABC):
    """An encoder and an affine map of what it gives."""

    def __init__(self, model: Model, of_model: Weights) -> None:
        self.config, self._weights = model.config, of_model
        self.variables = of_model.variables
        self.encoder = EncoderForm(model, of_model)

    @abc.abstractmethod
    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        """The outputs of the model."""

    def _affine(self, x: tf.Tensor, path: str) -> tf.Tensor:
        return Tensors(self._weights).affine(x, path)

    def _of_tokens(self, batch: Batch, path: str) -> tf.Tensor:
        """An affine map of each token: float32 [B T C]."""
        sequence = self.encoder(batch)["sequence_output"]
        logits = self._affine(tf.reshape(sequence, [-1, self.config.hidden_size]), path)
        return tf.reshape(logits, [-1, tf.shape(sequence)[1], logits.shape[1]])


class _PooledForm(_HeadForm):
    """A classifier of the pooler: of rows [B T], or of rows of several sequences [B W T]."""

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        if len(batch[_MASK].shape) == 2:
            return {"logits": self._of_rows(batch)}
        mask = tf.convert_to_tensor(batch[_MASK])
        shape = tf.shape(mask)
        rows = {name: tf.reshape(batch[name], [-1, shape[2]]) for name in _INPUTS}  # [B*W T]
        logits = self._of_rows(rows)
        logits = tf.reshape(logits, [shape[0], shape[1], logits.shape[1]])
        return {"logits": self._of_sequences(logits, tf.reduce_any(mask > 0, axis=2))}

    def _of_rows(self, batch: Batch) -> tf.Tensor:
        return self._affine(self.encoder.pooled(batch), "classifier")

    @abc.abstractmethod
    def _of_sequences(self, logits: tf.Tensor, exists: tf.Tensor) -> tf.Tensor:
        """Logits of rows, from those of their sequences [B W C] that exist, bool [B W]."""


class ClassifierForm(_PooledForm):
    """A classifier of texts; the logits of the windows of a text are pooled."""

    def __init__(self, model: models.ClassifierModel, of_model: Weights) -> None:
        super().__init__(model, of_model)
        self._window_pooling = model.window_pooling

    def _of_sequences(self, logits: tf.Tensor, exists: tf.Tensor) -> tf.Tensor:
        exists = exists[:, :, tf.newaxis]
        if self._window_pooling == "max":
            return tf.reduce_max(tf.where(exists, logits, layer.MASKED), axis=1)
        counted = tf.cast(exists, tf.float32)
        return tf.reduce_sum(logits * counted, axis=1) / tf.maximum(tf.reduce_sum(counted, 1), 1.0)


class MultipleChoiceForm(_PooledForm):
    """One of several texts."""

    def _of_sequences(self, logits: tf.Tensor, exists: tf.Tensor) -> tf.Tensor:
        return tf.where(exists, logits[:, :, 0], layer.MASKED)


class SpanForm(_HeadForm):
    """Start and end of an answer: `logits` [B 2 T]."""

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        logits = tf.transpose(self._of_tokens(batch, "span"), [0, 2, 1])
        is_real = tf.cast(batch[_MASK], tf.bool)[:, tf.newaxis]  # [B 1 T]
        return {"logits": tf.where(is_real, logits, layer.MASKED)}


class TokenClassifierForm(_HeadForm):
    """A label for each token: `logits` [B T C]."""

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        return {"logits": self._of_tokens(batch, "classifier")}


class EnsembleForm:
    """Several models as one, each in its form; see `EnsembleModel`."""

    def __init__(self, model: EnsembleModel, members: Sequence[Any]) -> None:
        self.config, self.members, self._mean = model.config, members, model.mean
        self.variables = [variable for member in members for variable in member.variables]

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        logits = [member(batch, training=False)["logits"] for member in self.members]
        return {"logits": self._mean(tf.stack(logits))}


_FORMS: dict[type, Callable[[Any, Weights], Any]] = {
    Encoder: EncoderForm,
    models.PretrainingModel: PretrainingForm,
    models.ClassifierModel: ClassifierForm,
    models.SpanModel: SpanForm,
    models.TokenClassifierModel: TokenClassifierForm,
    models.MultipleChoiceModel: MultipleChoiceForm,
}


def lower_layers(
    encode: Encode, config: BertConfig, word_ids: tf.Tensor, type_ids: tf.Tensor
) -> list[tf.Tensor]:
    """The embeddings and what the layers but the last one give, float32 [B*T H] each."""
    hidden = [encode.embed(word_ids, type_ids)]
    for index in range(config.num_hidden_layers - 1):
        hidden.append(encode.block(index, hidden[-1]))
    return hidden


def _ids(name: str) -> tf.TensorSpec:
    return tf.TensorSpec([None, None], tf.int32, name=name)


def _function(of_model: Weights, trace: Callable[..., Any], specs: Sequence[tf.TensorSpec]) -> Any:
    """A function that stays one in the graph: its constants, and the products that TensorFlow
    prepares from them, are in memory once for all signatures.
    """
    if of_model.is_inlined:
        return trace
    return tf.function(
        trace,
        input_signature=specs,
        autograph=False,
        experimental_attributes={"_noinline": True},
    )
