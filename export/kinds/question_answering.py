"""An exported model that answers questions about contexts of any length."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf.examples import spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.examples.rows import Rows
from bert_tf.modeling import layer
from bert_tf.tasks import registry, squad
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.text.graph_windows import Windows
from export.kinds import checks, chunks
from export.kinds import span_answers as answers
from export.kinds.module import Answers, Row, Served, ServingModule


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

    The ids signature gives `start_logits` and `end_logits` of windows, float32 [B T], very negative
    at padding.
    """

    def __init__(self, served: Served) -> None:
        task = registry.of_model(served.directory.metadata)
        assert isinstance(task, QuestionAnswering), "the table has no other kinds here"
        self._task = task
        super().__init__(served, {"question": 1, "context": 1})

    def answer(self, *inputs: tf.Tensor) -> Answers:
        question, context = inputs
        contexts = answers.Contexts(context, self.tokenizer)
        length = self._task.max_query_length
        windows = Windows(
            self.tokenizer.first_ids(question, length)[:, :length],
            contexts.ids,
            self._served.directory.vocabulary,
            self._served.max_seq_length,
            self._task.doc_stride,
        )

        def reduce(batch: dict[str, tf.Tensor], rows: tf.Tensor) -> dict[str, tf.Tensor]:
            logits = self._logits(batch)
            return answers.reduce_windows(logits, rows, windows, contexts, self._task)

        specs = answers.specs_of_windows(self._task.n_best_size)
        of_windows = chunks.compute_each(windows, reduce, specs, self._served.chunk_rows)
        return answers.answer_questions(of_windows, windows.question, tf.size(question), self._task)

    def answer_ids(self, batch: dict[str, tf.Tensor]) -> Answers:
        rows = chunks.IdRows(batch)

        def padded(batch: dict[str, tf.Tensor], _: tf.Tensor) -> dict[str, tf.Tensor]:
            logits = self._logits(batch)
            padding = [[0, 0], [0, 0], [0, rows.max_length - tf.shape(logits)[2]]]
            return {"": tf.pad(logits, padding, constant_values=layer.MASKED)}

        specs = {"": tf.TensorSpec([None, 2, None], tf.float32)}
        logits = chunks.compute_each(
            rows, padded, specs, self._served.chunk_rows, {"": [0, 2, rows.max_length]}
        )[""]
        return {"start_logits": logits[:, 0], "end_logits": logits[:, 1]}

    def _logits(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        return self._served.model(batch, training=False)["logits"]

    # The Python path.

    def rows(self, rows: Sequence[Row]) -> Rows:
        windows = self._windows(rows)
        return Rows([each.word_ids for each in windows], [each.type_ids for each in windows], {})

    def _windows(self, rows: Sequence[Row]) -> list[spans.Window]:
        found = spans.make_windows(
            _examples(rows),
            self._python_tokenizer,
            self._served.directory.vocabulary,
            max_seq_length=self._served.max_seq_length,
            doc_stride=self._task.doc_stride,
            max_query_length=self._task.max_query_length,
        )
        return list(found)

    def _python_logits(self, rows: Sequence[Row]) -> np.ndarray:
        """float32 [W 2 T]."""
        return np.asarray(self._served.offline(self.ids_of(rows))["logits"])

    def ids_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        got = np.stack([outputs["start_logits"], outputs["end_logits"]], axis=1)
        of_windows = [rows[window.example_index] for window in self._windows(rows)]
        return checks.largest_difference(got, self._python_logits(rows), of_windows)

    def text_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        """Of null odds and probabilities; another answer is a mismatch, too."""
        want = self._python_logits(rows)
        # Another order of summation may move each of the two logits of a span, and of [CLS].
        tolerance = 4 * checks.TOLERANCE * checks.scale(want)
        threshold = self._task.null_score_diff_threshold or 0.0
        predictions = squad.decode(
            _examples(rows),
            self._windows(rows),
            list(want[:, 0]),
            list(want[:, 1]),
            n_best_size=self._task.n_best_size,
            max_answer_length=self._task.max_answer_length,
            version_2_with_negative=self._task.version_2_with_negative,
            null_score_diff_threshold=threshold,
        )
        largest = 0.0
        for number, (row, prediction) in enumerate(zip(rows, predictions, strict=True)):
            given = {name: column[number] for name, column in outputs.items()}
            is_sure = _margin(prediction, threshold) > tolerance
            largest = max(largest, _difference(given, prediction, row, tolerance, is_sure))
        return largest


def _examples(rows: Sequence[Row]) -> list[SpanExample]:
    return [
        SpanExample(str(number), question, context)
        for number, (question, context) in enumerate(rows)
    ]


def _difference(
    given: Mapping[str, Any],
    prediction: squad.Prediction,
    row: Row,
    tolerance: float,
    is_sure: bool,
) -> float:
    """The largest difference of a score of an answer.

    Args:
      is_sure: whether no difference within the tolerance gives another answer.

    Raises:
      Mismatch: it is another answer, or the difference is above the tolerance.
    """
    text, (_, context) = given["answer"].decode(), row
    cut = context[given["start"] : given["end"]]
    if cut != text:
        raise checks.Mismatch(
            f"characters {given['start']} to {given['end']} of {row!r} are {cut!r}, not {text!r}"
        )
    if is_sure and text != prediction.text:
        raise checks.Mismatch(f"{text!r} for {row!r}, where {prediction.text!r} was wanted")
    wanted = np.array([each.probability for each in prediction.n_best])
    differences = [np.abs(given["n_best_scores"][: len(wanted)] - wanted).max()]
    if prediction.null_score_diff is not None:
        differences.append(abs(given["null_odds"] - prediction.null_score_diff))
    if (largest := max(differences)) > tolerance:
        raise checks.Mismatch(f"other scores for {row!r}: they differ by {largest:.2g}")
    return float(largest)


def _margin(prediction: squad.Prediction, threshold: float) -> float:
    """By how much the scores would have to change to give another answer."""
    scores = [each.start_logit + each.end_logit for each in prediction.n_best if each.text]
    margins = [scores[0] - scores[1]] if len(scores) > 1 else []
    if prediction.null_score_diff is not None:
        margins.append(abs(prediction.null_score_diff - threshold))
    return min(margins, default=np.inf)
