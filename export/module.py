"""The signatures of an exported model: texts or ids in, answers out."""

import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.modeling.models import ClassifierModel
from bert_tf.text.graph import GraphTokenizer
from export import chunks

TEXT_SIGNATURE = "serving_default"
IDS_SIGNATURE = "ids"


def text_names(num_texts: int) -> tuple[str, ...]:
    """Names of the inputs of the text signature."""
    return ("text",) if num_texts == 1 else ("text_a", "text_b")


class ServingModule(tf.Module):
    """A classifier or regressor with its tokenizer, ready for `tf.saved_model.save`.

    Args:
      directory: describes the model; its metadata has the number of texts and the labels.
      labels_file: path of a file with one label per line; None for a regression.
      max_seq_length: tokens per example, special tokens included.
      chunk_rows: maximum rows that are computed together.
    """

    def __init__(
        self,
        model: ClassifierModel,
        directory: ModelDirectory,
        labels_file: str | None,
        max_seq_length: int,
        chunk_rows: int,
    ) -> None:
        super().__init__(name="serving")
        self.variables_of_model = [variable.value for variable in model.variables]
        self.tokenizer = GraphTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
        self.vocab_file = tf.saved_model.Asset(directory.vocab_file)
        if labels_file:
            self.labels_file = tf.saved_model.Asset(labels_file)
        self._logits = lambda batch: model(batch, training=False)["logits"]
        self._metadata = directory.metadata
        self._vocabulary = directory.vocabulary
        self._max_seq_length = max_seq_length
        self._chunk_rows = chunk_rows

    def signatures(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """A `tf.function` with named inputs and outputs for each signature."""
        names = text_names(self._metadata.num_texts)
        texts = [tf.TensorSpec([None], tf.string, name=name) for name in names]
        ids = [
            tf.TensorSpec([None, None], feature.dtype, name=feature.name)
            for feature in features.ENCODER_INPUTS
        ]
        answer_texts = self._answer_text if len(texts) == 1 else self._answer_pair
        return {
            TEXT_SIGNATURE: tf.function(answer_texts, input_signature=texts),
            IDS_SIGNATURE: tf.function(self._answer_ids, input_signature=ids),
        }

    def _answer_text(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._answer(self._rows(self.tokenizer(text), None))

    def _answer_pair(self, text_a: tf.Tensor, text_b: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._answer(self._rows(self.tokenizer(text_a), self.tokenizer(text_b)))

    def _answer_ids(
        self, input_word_ids: tf.Tensor, input_mask: tf.Tensor, input_type_ids: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        tensors = (input_word_ids, input_mask, input_type_ids)
        names = (feature.name for feature in features.ENCODER_INPUTS)
        return self._answer(chunks.IdRows(dict(zip(names, tensors, strict=True))))

    def _rows(self, ids_a: tf.RaggedTensor, ids_b: tf.RaggedTensor | None) -> chunks.TextRows:
        return chunks.TextRows(ids_a, ids_b, self._vocabulary, self._max_seq_length)

    def _answer(self, rows: chunks.TextRows | chunks.IdRows) -> dict[str, tf.Tensor]:
        """The outputs for some rows; every one has a batch dimension."""
        logits = chunks.compute(
            rows, self._logits, self._metadata.num_outputs, self._chunk_rows
        )  # [B C]
        if self._metadata.kind == "regress":
            return {"score": logits[:, 0], "logits": logits}
        labels = tf.gather(tf.constant(self._metadata.labels), tf.argmax(logits, axis=1))  # [B]
        return {
            "label": labels,
            "probabilities": tf.nn.softmax(logits),  # [B C]
            "logits": logits,
        }
