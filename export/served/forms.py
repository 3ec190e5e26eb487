"""A form of each class of model for serving: called like the model, with the same outputs."""

import abc
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.variables import Model
from bert_tf.errors import InputError
from bert_tf.modeling import layer, models
from bert_tf.modeling.encoder import Encoder
from bert_tf.modeling.ensemble import EnsembleModel
from export.served import weights
from export.served.encoder import Encode, Rows
from export.served.weights import Tensors, Weights

Batch = Mapping[str, tf.Tensor]
Outputs = dict[str, Any]

_INPUTS = tuple(feature.name for feature in features.ENCODER_INPUTS)
_POSITIONS = features.MASKED_LM_POSITIONS.name


def of(model: Any, dtype: str = "float32", is_frozen: bool = True) -> Any:
    """The form of a model.

    Args:
      model: an `Encoder`, a model of `bert_tf.modeling.models`, or an ensemble of them.
      dtype: how matrices and tables are stored, one of `weights.DTYPES`.
      is_frozen: whether the weights are constants of the graph, if they are not too large.

    Returns:
      What is called as the model is, `form(batch, training=False)`, and has `variables`. It is
      `model` itself where there is no form of it: a model on frozen layers, or a causal one.

    Raises:
      InputError: another dtype than float32, and there is no form.
    """
    num_values = sum(math.prod(variable.shape) for variable in model.variables)
    is_frozen = is_frozen and weights.fit_a_graph(num_values, dtype)
    if isinstance(model, EnsembleModel):
        return EnsembleForm(model, [of(member, dtype, is_frozen) for member in model.members])
    form = FORMS.get(type(model))
    if form and not model.config.is_causal:
        return form(model, dtype, is_frozen)
    if dtype != "float32":
        raise InputError(
            f"--dtype={dtype}: the weights of a model on frozen layers, or of a left-to-right "
            "model, stay as they are. Leave the flag out."
        )
    return model


class Form(abc.ABC):
    """A model as one function of the graph, which all signatures call: constants are there once.

    Attributes:
      config: of the encoder.
      gives_all_tokens: whether the outputs need the last layer at every token, not only where
        the head reads it.
      variables: what the graph reads; empty if the weights are constants.
      num_bytes: of the weights as they are stored.
    """

    gives_all_tokens = False
    _inputs = _INPUTS

    def __init__(self, model: Model, dtype: str, is_frozen: bool) -> None:
        self.config = model.config
        arrays = {variable.path: np.asarray(variable) for variable in model.variables}
        if not self.gives_all_tokens:
            arrays = _with_query_apart(arrays, self.config.num_hidden_layers - 1)
        self._weights = Weights(arrays, dtype, is_frozen)
        self.variables, self.num_bytes = self._weights.variables, self._weights.num_bytes
        self._function = tf.function(
            self._trace,
            input_signature=[tf.TensorSpec([None, None], tf.int32, name=x) for x in self._inputs],
            autograph=False,
            # One copy of the constants in memory, too, and of the products prepared from them.
            experimental_attributes={"_noinline": True},
        )

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        """Outputs of the model for its inputs; `training` is False always."""
        return self._call({name: batch[name] for name in self._inputs})

    def _call(self, batch: Batch) -> Outputs:
        return self._function(*(tf.convert_to_tensor(batch[name]) for name in self._inputs))

    def _trace(self, *inputs: tf.Tensor) -> Outputs:
        batch = dict(zip(self._inputs, inputs, strict=True))
        tensors = Tensors(self._weights)
        rows = Rows.of(batch[features.MASK.name])
        return self._outputs(Encode(self.config, tensors, rows), tensors, rows, batch)

    @abc.abstractmethod
    def _outputs(self, encode: Encode, tensors: Tensors, rows: Rows, batch: Batch) -> Outputs:
        """The outputs for rows [B T]."""

    def _before_last(self, encode: Encode, batch: Batch) -> list[tf.Tensor]:
        """What the layers but the last one give, float32 [B*T H] each; the embeddings first."""
        hidden = [encode.embed(batch[features.WORD_IDS.name], batch[features.TYPE_IDS.name])]
        for index in range(self.config.num_hidden_layers - 1):
            hidden.append(encode.block(index, hidden[-1]))
        return hidden

    def _last(self, encode: Encode, batch: Batch, queries: tf.Tensor | None = None) -> tf.Tensor:
        """What the last layer gives, float32 [B*T H], or [B*Q H] for queries int32 [B Q]."""
        hidden = self._before_last(encode, batch)[-1]
        return encode.block(self.config.num_hidden_layers - 1, hidden, queries)

    def _pooled(self, encode: Encode, rows: Rows, batch: Batch) -> tf.Tensor:
        """The pooler's output, float32 [B H], of rows of which nothing else is wanted."""
        return encode.pool(self._last(encode, batch, rows.first_tokens[:, tf.newaxis]))

    def _in_rows(self, hidden: tf.Tensor, rows: Rows) -> tf.Tensor:
        """[B*T C] as [B T C]."""
        return tf.reshape(hidden, [-1, rows.size[1], hidden.shape[1]])


class EncoderForm(Form):
    """An encoder: `sequence_output`, `pooled_output` and `encoder_outputs`."""

    gives_all_tokens = True

    def _outputs(self, encode: Encode, tensors: Tensors, rows: Rows, batch: Batch) -> Outputs:
        hidden = self._before_last(encode, batch)
        hidden.append(encode.block(self.config.num_hidden_layers - 1, hidden[-1]))
        outputs = [self._in_rows(each, rows) for each in hidden[1:]]
        pooled = encode.pool(tf.gather(hidden[-1], rows.first_tokens))
        return {
            "sequence_output": outputs[-1],
            "pooled_output": pooled,
            "encoder_outputs": outputs,
        }


class PretrainingForm(Form):
    """A masked language model, with or without a head for pairs of texts."""

    _inputs = (*_INPUTS, _POSITIONS)

    def __init__(self, model: models.PretrainingModel, dtype: str, is_frozen: bool) -> None:
        self._has_next_sentence = model.has_next_sentence
        super().__init__(model, dtype, is_frozen)

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        if _POSITIONS not in batch:
            shape = tf.shape(batch[features.WORD_IDS.name])
            every = tf.broadcast_to(tf.range(shape[1]), shape)
            batch = {**batch, _POSITIONS: every}
        return super().__call__(batch)

    def _outputs(self, encode: Encode, tensors: Tensors, rows: Rows, batch: Batch) -> Outputs:
        first = rows.first_tokens[:, tf.newaxis]
        queries = tf.concat([first, batch[_POSITIONS] + first], axis=1)  # [B Q], Q is 1+P
        hidden = self._last(encode, batch, queries)
        hidden = tf.reshape(hidden, [-1, tf.shape(queries)[1], self.config.hidden_size])
        flat = tf.reshape(hidden[:, 1:], [-1, self.config.hidden_size])  # [B*P H]
        flat = tf.cast(encode.activate(flat, "masked_lm/transform"), tf.float32)
        flat = encode.normalize(flat, "masked_lm/layer_norm")
        logits = tensors.transposed_product(flat, "encoder/embeddings/word")  # [B*P V]
        logits = logits + tensors.vector("masked_lm/output_bias")
        shape = [-1, tf.shape(queries)[1] - 1, self.config.vocab_size]
        outputs = {"masked_lm_logits": tf.reshape(logits, shape)}
        if self._has_next_sentence:
            pooled = encode.pool(hidden[:, 0])
            outputs["next_sentence_logits"] = tensors.affine(pooled, "next_sentence")
        return outputs


class _PooledForm(Form):
    """A classifier of the pooler: of rows [B T], or of rows of several sequences [B W T]."""

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        if len(batch[features.WORD_IDS.name].shape) == 2:
            return self._call(batch)
        sequences = {name: tf.convert_to_tensor(batch[name]) for name in _INPUTS}
        shape = tf.shape(sequences[features.WORD_IDS.name])
        flat = {name: tf.reshape(x, [-1, shape[2]]) for name, x in sequences.items()}
        logits = self._call(flat)["logits"]  # [B*W C]
        logits = tf.reshape(logits, [shape[0], shape[1], logits.shape[1]])
        exists = tf.reduce_any(sequences[features.MASK.name] > 0, axis=2)  # [B W]
        return {"logits": self._of_sequences(logits, exists)}

    def _outputs(self, encode: Encode, tensors: Tensors, rows: Rows, batch: Batch) -> Outputs:
        return {"logits": tensors.affine(self._pooled(encode, rows, batch), "classifier")}

    @abc.abstractmethod
    def _of_sequences(self, logits: tf.Tensor, exists: tf.Tensor) -> tf.Tensor:
        """Logits of rows, from those of their sequences [B W C] that exist, bool [B W]."""


class ClassifierForm(_PooledForm):
    """A classifier of texts; the logits of the windows of a text are pooled."""

    def __init__(self, model: models.ClassifierModel, dtype: str, is_frozen: bool) -> None:
        self._window_pooling = model.window_pooling
        super().__init__(model, dtype, is_frozen)

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


class SpanForm(Form):
    """Start and end of an answer: `logits` [B 2 T]."""

    gives_all_tokens = True

    def _outputs(self, encode: Encode, tensors: Tensors, rows: Rows, batch: Batch) -> Outputs:
        logits = self._in_rows(tensors.affine(self._last(encode, batch), "span"), rows)
        is_real = tf.cast(batch[features.MASK.name], tf.bool)[:, tf.newaxis]  # [B 1 T]
        return {"logits": tf.where(is_real, tf.transpose(logits, [0, 2, 1]), layer.MASKED)}


class TokenClassifierForm(Form):
    """A label for each token: `logits` [B T C]."""

    gives_all_tokens = True

    def _outputs(self, encode: Encode, tensors: Tensors, rows: Rows, batch: Batch) -> Outputs:
        logits = tensors.affine(self._last(encode, batch), "classifier")
        return {"logits": self._in_rows(logits, rows)}


class EnsembleForm:
    """Several models as one, each in its form; see `EnsembleModel`."""

    def __init__(self, model: EnsembleModel, members: list[Any]) -> None:
        self.config, self.members, self._mean = model.config, members, model.mean
        self.variables = [variable for member in members for variable in member.variables]

    def __call__(self, batch: Batch, training: bool = False) -> Outputs:
        logits = [member(batch, training=False)["logits"] for member in self.members]
        return {"logits": self._mean(tf.stack(logits))}


FORMS: dict[type, Callable[[Any, str, bool], Form]] = {
    Encoder: EncoderForm,
    models.PretrainingModel: PretrainingForm,
    models.ClassifierModel: ClassifierForm,
    models.SpanModel: SpanForm,
    models.TokenClassifierModel: TokenClassifierForm,
    models.MultipleChoiceModel: MultipleChoiceForm,
}


def _with_query_apart(arrays: dict[str, Any], index: int) -> dict[str, Any]:
    """The product `qkv` of a layer as `query` and `key_value`, for queries of some tokens only."""
    path = f"encoder/layer_{index}/attention"
    split = dict(arrays)
    for name in ("kernel", "bias"):
        qkv = split.pop(f"{path}/qkv/{name}")
        size = qkv.shape[-1] // 3
        split[f"{path}/query/{name}"] = qkv[..., :size]
        split[f"{path}/key_value/{name}"] = qkv[..., size:]
    return split
