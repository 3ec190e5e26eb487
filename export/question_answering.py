"""An exported model that answers questions about contexts of any length."""

import tensorflow as tf

from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.modeling import layer
from bert_tf.modeling.models import SpanModel
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.text.graph_windows import Windows
from export import answers, chunks
from export.module import Answers, ServingModule


class QuestionModule(ServingModule):
    """A model of a question and a context: `model(["a question"], ["a context"])`.

    The context is read in windows, and a question has one answer however many there are:

    - `answer`: string [B], cut out of the context; "" for no answer.
    - `start`, `end`: int32 [B], its first character in the context and the one after its last;
      both -1 for no answer. Characters are Unicode code points of the UTF-8 text; bytes that are
      not UTF-8 do not count.
    - `score`: float32 [B], probability of the answer among the n best.
    - `null_odds`: float32 [B], score of no answer less that of the best span.
    - `has_answer`: bool [B].
    - `n_best_answers`, `n_best_starts`, `n_best_ends`, `n_best_scores`: [B N], best first. No
      answer is an entry like the others in SQuAD 2.0, and N is then one more than `n_best_size`.
      Behind the last entry the score is 0.

    Args:
      task: how questions are answered.
      max_seq_length: tokens of a window, special tokens included.
      chunk_rows: maximum windows that are computed together.
    """

    def __init__(
        self,
        model: SpanModel,
        task: QuestionAnswering,
        directory: ModelDirectory,
        max_seq_length: int,
        chunk_rows: int,
    ) -> None:
        self._task, self._max_seq_length = task, max_seq_length
        super().__init__(model, directory, self._answer, self._call, chunk_rows)
        self.trace()

    def _call(self, question: tf.Tensor, context: tf.Tensor) -> Answers:
        return self._with_or_without_batch(question, context)

    def _answer(self, question: tf.Tensor, context: tf.Tensor) -> Answers:
        contexts = answers.Contexts(context, self.tokenizer)
        windows = Windows(
            self.tokenizer(question)[:, : self._task.max_query_length],
            contexts.ids,
            self._vocabulary,
            self._max_seq_length,
            self._task.doc_stride,
        )

        def reduce(batch: dict[str, tf.Tensor], rows: tf.Tensor) -> dict[str, tf.Tensor]:
            logits = self._logits(batch)
            return answers.reduce_windows(logits, rows, windows, contexts, self._task)

        specs = answers.specs_of_windows(self._task.n_best_size)
        of_windows = chunks.compute_each(windows, reduce, specs, self._chunk_rows)
        return answers.answer_questions(of_windows, windows.question, tf.size(question), self._task)

    def _answer_rows(self, rows: chunks.IdRows) -> Answers:
        """`start_logits` and `end_logits`, float32 [B T], very negative at padding."""

        def padded(batch: dict[str, tf.Tensor], _: tf.Tensor) -> dict[str, tf.Tensor]:
            logits = self._logits(batch)
            padding = [[0, 0], [0, 0], [0, rows.max_length - tf.shape(logits)[2]]]
            return {"": tf.pad(logits, padding, constant_values=layer.MASKED)}

        def computed() -> tf.Tensor:
            specs = {"": tf.TensorSpec([None, 2, None], tf.float32)}
            return chunks.compute_each(rows, padded, specs, self._chunk_rows)[""]

        num_rows = tf.size(rows.lengths)
        logits = tf.cond(num_rows > 0, computed, lambda: tf.zeros([0, 2, rows.max_length]))
        return {"start_logits": logits[:, 0], "end_logits": logits[:, 1]}
