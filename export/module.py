"""The signatures of an exported model: texts or ids in, answers out."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory, ModelMetadata
from bert_tf.modeling.models import ClassifierModel
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.graph_packing import PackedRows, TextRows
from export import chunks

TEXT_SIGNATURE = "serving_default"
IDS_SIGNATURE = "ids"

Answers = dict[str, tf.Tensor]


def text_names(metadata: ModelMetadata) -> tuple[str, ...]:
    """Names of the inputs of the text signature, in the order of the texts."""
    if metadata.kind == QuestionAnswering.kind:
        return "question", "context"
    return ("text",) if metadata.num_texts == 1 else ("text_a", "text_b")


class ServingModule(tf.Module, abc.ABC):
    """A model with its tokenizer, ready for `tf.saved_model.save`.

    What `tf.saved_model.load` returns can be called with texts: string [B] each, or one string
    each, whose answer then has no batch dimension.

    Args:
      model: from the encoder's inputs to a dict with `logits`.
      directory: describes the model.
      answer: from texts, string [B] each, to the outputs of the text signature, [B ...] each.
      call: the same for `_with_or_without_batch`.
      chunk_rows: maximum rows that are computed together.
    """

    def __init__(
        self,
        model: Any,
        directory: ModelDirectory,
        answer: Callable[..., Answers],
        call: Callable[..., Answers],
        chunk_rows: int,
    ) -> None:
        super().__init__(name="serving")
        self.variables_of_model = [variable.value for variable in model.variables]
        self.tokenizer = GraphTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
        self.vocab_file = tf.saved_model.Asset(directory.vocab_file)
        self._logits = lambda batch: model(batch, training=False)["logits"]
        self._vocabulary, self._names = directory.vocabulary, text_names(directory.metadata)
        self._chunk_rows = chunk_rows
        self._texts_function = tf.function(
            answer, input_signature=self._text_specs([None]), autograph=False
        )
        self.__call__ = tf.function(call, autograph=False)

    def trace(self) -> None:
        """Makes the functions that a loaded model is called by."""
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
        return [tf.TensorSpec(shape, tf.string, name=name) for name in self._names]

    def _with_or_without_batch(self, *texts: tf.Tensor) -> Answers:
        """Answers string [B] each or string [] each; both run the function of the signature."""
        if texts[0].shape.rank == 1:
            return self._texts_function(*texts)
        answers = self._texts_function(*(text[tf.newaxis] for text in texts))
        return {name: answer[0] for name, answer in answers.items()}

    def _answer_ids(
        self, input_word_ids: tf.Tensor, input_mask: tf.Tensor, input_type_ids: tf.Tensor
    ) -> Answers:
        tensors = (input_word_ids, input_mask, input_type_ids)
        names = (feature.name for feature in features.ENCODER_INPUTS)
        return self._answer_rows(chunks.IdRows(dict(zip(names, tensors, strict=True))))

    @abc.abstractmethod
    def _answer_rows(self, rows: chunks.IdRows) -> Answers:
        """The outputs of the ids signature, [B ...] each."""


class TextModule(ServingModule):
    """A model of one or two texts: `model(["a text"])` or `model(["a"], ["b"])`.

    A classifier has the attribute `labels`, a variable: string [C].

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
        self._task, self._metadata = task, directory.metadata
        self._max_seq_length = max_seq_length
        is_pair = directory.metadata.num_texts == 2
        super().__init__(
            model,
            directory,
            self._answer_pair if is_pair else self._answer_text,
            self._call_pair if is_pair else self._call_text,
            chunk_rows,
        )
        if labels_file:
            self.labels_file = tf.saved_model.Asset(labels_file)
            # A saved object keeps variables, assets and functions; constants are lost.
            self.labels = tf.Variable(directory.metadata.labels, trainable=False)
        self.trace()

    def _call_text(self, text: tf.Tensor) -> Answers:
        return self._with_or_without_batch(text)

    def _call_pair(self, text_a: tf.Tensor, text_b: tf.Tensor) -> Answers:
        return self._with_or_without_batch(text_a, text_b)

    def _answer_text(self, text: tf.Tensor) -> Answers:
        return self._answer_rows(self._rows(self.tokenizer(text), None))

    def _answer_pair(self, text_a: tf.Tensor, text_b: tf.Tensor) -> Answers:
        return self._answer_rows(self._rows(self.tokenizer(text_a), self.tokenizer(text_b)))

    def _rows(self, ids_a: tf.RaggedTensor, ids_b: tf.RaggedTensor | None) -> PackedRows:
        return TextRows(ids_a, ids_b, self._vocabulary, self._max_seq_length)

    def _answer_rows(self, rows: PackedRows | chunks.IdRows) -> Answers:
        logits = chunks.compute(
            rows, self._logits, self._metadata.num_outputs, self._chunk_rows
        )  # [B C]
        return self._task.answer(logits)
