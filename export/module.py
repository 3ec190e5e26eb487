"""The signatures of an exported model: texts or ids in, answers out."""

from collections.abc import Sequence

import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.modeling.models import ClassifierModel
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.text.graph import GraphTokenizer
from export import chunks

TEXT_SIGNATURE = "serving_default"
IDS_SIGNATURE = "ids"


def text_names(num_texts: int) -> tuple[str, ...]:
    """Names of the inputs of the text signature."""
    return ("text",) if num_texts == 1 else ("text_a", "text_b")


class ServingModule(tf.Module):
    """A classifier or regressor with its tokenizer, ready for `tf.saved_model.save`.

    What `tf.saved_model.load` returns can be called with texts, as `model(["a text"])` or
    `model(["a"], ["b"])`: string [B] each, or one string each, whose answer then has no batch
    dimension. A classifier has the attribute `labels`, a variable: string [C].

    Args:
      task: what the model answers.
      directory: describes the model; its metadata has the number of texts and the labels.
      labels_file: path of a file with one label per line; None for a regression.
      max_seq_length: tokens per example, special tokens included.
      chunk_rows: maximum rows that are computed together.
    """

    def __init__(
        self,
        model: ClassifierModel,
        task: TextTask,
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
            # A saved object keeps variables, assets and functions; constants are lost.
            self.labels = tf.Variable(directory.metadata.labels, trainable=False)
        self._logits = lambda batch: model(batch, training=False)["logits"]
        self._task, self._metadata = task, directory.metadata
        self._vocabulary = directory.vocabulary
        self._max_seq_length = max_seq_length
        self._chunk_rows = chunk_rows
        is_pair = directory.metadata.num_texts == 2
        self._texts_function = tf.function(
            self._answer_pair if is_pair else self._answer_text,
            input_signature=self._text_specs([None]),
            autograph=False,
        )
        call = self._call_pair if is_pair else self._call_text
        self.__call__ = tf.function(call, autograph=False)
        for shape in ([None], []):
            self.__call__.get_concrete_function(*self._text_specs(shape))

    def signatures(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """A `tf.function` with named inputs and outputs for each signature."""
        ids = [
            tf.TensorSpec([None, None], feature.dtype, name=feature.name)
            for feature in features.ENCODER_INPUTS
        ]
        return {
            TEXT_SIGNATURE: self._texts_function,
            IDS_SIGNATURE: tf.function(self._answer_ids, input_signature=ids, autograph=False),
        }

    def _text_specs(self, shape: Sequence[int | None]) -> list[tf.TensorSpec]:
        names = text_names(self._metadata.num_texts)
        return [tf.TensorSpec(shape, tf.string, name=name) for name in names]

    def _call_text(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._with_or_without_batch(text)

    def _call_pair(self, text_a: tf.Tensor, text_b: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._with_or_without_batch(text_a, text_b)

    def _with_or_without_batch(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Answers string [B] each or string [] each; both run the function of the signature."""
        if texts[0].shape.rank == 1:
            return self._texts_function(*texts)
        answers = self._texts_function(*(text[tf.newaxis] for text in texts))
        return {name: answer[0] for name, answer in answers.items()}

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
        return self._task.answer(logits)
