"""An encoder and its heads, one class for each kind of task."""

from collections.abc import Mapping
from typing import Any

from keras import ops

from bert_tf import features, shapes
from bert_tf.config import BertConfig
from bert_tf.modeling import Tensor, dropout, heads, layer
from bert_tf.modeling.encoder import Encoder


@layer.serializable
class PretrainingModel(layer.ConfigLayer):
    """Masked language model and next sentence prediction (BERT section 3.1).

    With a causal config it is the left-to-right model of section 5.1.

    Args:
      has_next_sentence: whether there is a head for pairs of texts.

    Call arguments:
      batch: dict with the encoder's inputs and `masked_lm_positions`, int [B P]. Without these
        the model predicts every position, and P is T.
    Returns:
      dict of float32: `masked_lm_logits` [B P V]; with the head for pairs `next_sentence_logits`
      [B 2]. Class 1 means that the second text is a random one, as in the released data, or, in
      data made for sentence order, that the two are swapped.
    """

    def __init__(
        self,
        config: BertConfig,
        *,
        has_next_sentence: bool = True,
        name: str = "pretraining",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, name=name, **kwargs)
        self.has_next_sentence = has_next_sentence
        self.encoder = self.new(Encoder)
        self.masked_lm = self.new(heads.MaskedLmHead)
        if has_next_sentence:
            self.next_sentence = self.new(
                heads.ClassificationHead, num_classes=2, dropout_rate=0.0, name="next_sentence"
            )
        self.built = True

    def call(self, batch: Mapping[str, Tensor], training: bool = False) -> dict[str, Tensor]:
        positions = batch.get(features.MASKED_LM_POSITIONS.name)
        encoded = self.encoder(batch, positions, training=training)
        outputs = {
            "masked_lm_logits": self.masked_lm(
                encoded["sequence_output"], self.encoder.embeddings.word
            )
        }
        if self.has_next_sentence:
            outputs["next_sentence_logits"] = self.next_sentence(encoded["pooled_output"])
        return outputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "has_next_sentence": self.has_next_sentence}


class _LabellingModel(layer.ConfigLayer):
    """An encoder and a classifier.

    Attributes:
      gives_hidden_states: whether the outputs include `sequence_output`, the encoder's last hidden
        states: float [B T H] or, of rows of several sequences, [B W T H].
    """

    gives_hidden_states = False

    def _outputs(self, logits: Tensor, hidden: Tensor) -> dict[str, Tensor]:
        return {"logits": logits} | (
            {"sequence_output": hidden} if self.gives_hidden_states else {}
        )

    def _of_sequences(
        self, batch: Mapping[str, Tensor], training: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What encoder and classifier make of rows of several sequences [B W T].

        Returns:
          logits float32 [B W C], last hidden states float [B W T H], which sequences exist: bool
          [B W].
        """
        word_ids = batch[features.WORD_IDS.name]
        shapes.check(features.WORD_IDS.name, word_ids, "B W T")
        num_sequences, num_tokens = ops.shape(word_ids)[1:]
        rows = {
            feature.name: ops.reshape(batch[feature.name], (-1, num_tokens))  # [B*W T]
            for feature in features.ENCODER_INPUTS
        }
        with dropout.rows_of_sequences(num_sequences):
            encoded = self.encoder(rows, training=training)
            logits = self.classifier(encoded["pooled_output"], training=training)  # [B*W C]
        hidden, exists = encoded["sequence_output"], ops.any(batch[features.MASK.name] > 0, axis=-1)
        return (
            ops.reshape(logits, (-1, num_sequences, logits.shape[-1])),
            ops.reshape(hidden, (-1, num_sequences, num_tokens, self.config.hidden_size)),
            exists,
        )


@layer.serializable
class ClassifierModel(_LabellingModel):
    """One label, or one number, for a text or a pair of texts (BERT section 4.1).

    A long text may be several windows, whose logits are pooled. As the head is an affine map, the
    mean of their logits is also what it makes of the mean of their pooled outputs: the hierarchical
    mean pooling of Sun et al. 2019, arXiv 1905.05583, section 5.3.1.

    Args:
      num_classes: C; 1 for regression.
      window_pooling: "mean", or "max" for the highest logit of each class.

    Call arguments:
      batch: dict with the encoder's inputs, int [B T]; or [B W T], a sequence for each of the W
        windows of a text. A window whose `input_mask` is 0 everywhere does not exist.
    Returns:
      dict: `logits` float32 [B C].
    """

    def __init__(
        self,
        config: BertConfig,
        num_classes: int,
        window_pooling: str = "mean",
        name: str = "classification",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, name=name, **kwargs)
        self.num_classes = num_classes
        self.window_pooling = window_pooling
        self.encoder = self.new(Encoder)
        self.classifier = self.new(
            heads.ClassificationHead, num_classes, dropout_rate=self.config.hidden_dropout_prob
        )
        self.built = True

    def call(self, batch: Mapping[str, Tensor], training: bool = False) -> dict[str, Tensor]:
        if len(batch[features.WORD_IDS.name].shape) == 3:
            logits, hidden, exists = self._of_sequences(batch, training)
            return self._outputs(self._pool(logits, exists[:, :, None]), hidden)
        encoded = self.encoder(batch, training=training)
        logits = self.classifier(encoded["pooled_output"], training=training)
        return self._outputs(logits, encoded["sequence_output"])

    def _pool(self, logits: Tensor, exists: Tensor) -> Tensor:
        """Logits [B C] of those of the windows [B W C] that exist, bool [B W 1]."""
        if self.window_pooling == "max":
            return ops.max(ops.where(exists, logits, layer.MASKED), axis=1)
        weights = ops.cast(exists, "float32")
        return ops.sum(logits * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)

    def get_config(self) -> dict[str, Any]:
        own = {"num_classes": self.num_classes, "window_pooling": self.window_pooling}
        return {**super().get_config(), **own}


@layer.serializable
class SpanModel(layer.ConfigLayer):
    """Start and end of an answer in the second text (BERT sections 4.2 and 4.3).

    Call arguments:
      batch: dict with the encoder's inputs.
    Returns:
      dict: `logits` float32 [B 2 T], of the start and of the end, very negative at padding.
    """

    def __init__(self, config: BertConfig, name: str = "spans", **kwargs: Any) -> None:
        super().__init__(config, name=name, **kwargs)
        self.encoder = self.new(Encoder)
        self.span = self.new(heads.SpanHead)
        self.built = True

    def call(self, batch: Mapping[str, Tensor], training: bool = False) -> dict[str, Tensor]:
        sequence_output = self.encoder(batch, training=training)["sequence_output"]
        logits = self.span(sequence_output, batch[features.MASK.name])
        return {"logits": ops.stack(logits, axis=1)}


@layer.serializable
class TokenClassifierModel(_LabellingModel):
    """One label for each token (BERT section 5.3).

    Args:
      num_classes: C.

    Call arguments:
      batch: dict with the encoder's inputs.
    Returns:
      dict: `logits` float32 [B T C], at padding too.
    """

    def __init__(
        self, config: BertConfig, num_classes: int, name: str = "tagging", **kwargs: Any
    ) -> None:
        super().__init__(config, name=name, **kwargs)
        self.num_classes = num_classes
        self.encoder = self.new(Encoder)
        self.classifier = self.new(
            heads.ClassificationHead, num_classes, dropout_rate=self.config.hidden_dropout_prob
        )
        self.built = True

    def call(self, batch: Mapping[str, Tensor], training: bool = False) -> dict[str, Tensor]:
        hidden = self.encoder(batch, training=training)["sequence_output"]
        num_tokens = ops.shape(hidden)[1]
        flat = ops.reshape(hidden, (-1, self.config.hidden_size))  # [B*T H]
        logits = self.classifier(flat, training=training)  # [B*T C]
        logits = ops.reshape(logits, (-1, num_tokens, self.num_classes))  # [B T C]
        return self._outputs(logits, hidden)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_classes": self.num_classes}


@layer.serializable
class MultipleChoiceModel(_LabellingModel):
    """One of several texts: a vector, dotted with the pooled output of each (BERT section 4.4).

    The bias, which other code also has, changes no probability.

    Call arguments:
      batch: dict with the encoder's inputs, int [B W T], a sequence for each of the W choices. A
        choice whose `input_mask` is 0 everywhere does not exist.
    Returns:
      dict: `logits` float32 [B W], very negative for choices that do not exist.
    """

    def __init__(self, config: BertConfig, name: str = "choices", **kwargs: Any) -> None:
        super().__init__(config, name=name, **kwargs)
        self.encoder = self.new(Encoder)
        self.classifier = self.new(
            heads.ClassificationHead, 1, dropout_rate=self.config.hidden_dropout_prob
        )
        self.built = True

    def call(self, batch: Mapping[str, Tensor], training: bool = False) -> dict[str, Tensor]:
        logits, hidden, exists = self._of_sequences(batch, training)
        return self._outputs(ops.where(exists, logits[:, :, 0], layer.MASKED), hidden)
