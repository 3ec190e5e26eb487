"""The exported graph against the Python path: tokenizer, packing, model and answers offline."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.examples import packing, spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.examples.rows import encoder_inputs
from bert_tf.modeling import layer
from bert_tf.modeling.models import ClassifierModel, SpanModel
from bert_tf.tasks import registry, squad
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.module import IDS_SIGNATURE, TEXT_SIGNATURE, text_names

# Largest difference of logits, relative to the largest logit, or to 1 if that is smaller.
_TOLERANCE = 1e-5

_PADDING = layer.MASKED / 2  # logits of padding are below

# Lengths from 0 to more than fits, and characters that tokenizers disagree about.
_TEXTS = (
    "A text like those that the model will see.",
    "",
    "Crème brûlée — straße, ΣΊΣΥΦΟΣ… 2² ﬁne",
    "東京 and 서울\u200b!\x00?",
    "word " * 600,
    "a" * 300,
    "another short one",
    "a text that is a little longer than the others, to make rows of unequal length.",
)

Row = tuple[str, ...]
Inputs = dict[str, npt.NDArray[np.int32]]


class Mismatch(ValueError):
    """The exported graph gives other answers than the Python path."""


def python_inputs(directory: ModelDirectory, max_seq_length: int, rows: Sequence[Row]) -> Inputs:
    """The encoder's inputs as training and evaluation make them.

    Args:
      rows: B tuples of the texts that the text signature takes.

    Returns:
      [B T] each, padded to the longest row; of questions and contexts [W T], a row per window.
    """
    task = registry.of_model(directory.metadata)
    if isinstance(task, QuestionAnswering):
        windows = _windows(task, directory, max_seq_length, _examples(rows))
        return _inputs_of_windows(windows)
    tokenizer = WordPieceTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
    packed = []
    for row in rows:
        ids_a, *rest = map(tokenizer.encode, row)
        ids_b = rest[0] if rest else None
        packed.append(packing.pack(ids_a, ids_b, directory.vocabulary, max_seq_length))
    word_ids, type_ids = zip(*packed, strict=True)
    return encoder_inputs(word_ids, type_ids)


def largest_difference(
    path: str,
    model: ClassifierModel | SpanModel,
    directory: ModelDirectory,
    max_seq_length: int,
) -> float:
    """Loads the SavedModel at `path` and compares both its signatures.

    Returns:
      The largest difference of a logit.

    Raises:
      Mismatch: a difference is larger than float32 rounding explains.
    """
    second_texts = _TEXTS[3:] + _TEXTS[:3]
    names = text_names(directory.metadata)
    rows = list(zip(*(_TEXTS, second_texts)[: len(names)], strict=True))
    loaded = tf.saved_model.load(path)
    columns = zip(names, zip(*rows, strict=True), strict=True)
    texts = {name: tf.constant(column) for name, column in columns}
    task = registry.of_model(directory.metadata)
    if isinstance(task, QuestionAnswering):
        windows = _windows(task, directory, max_seq_length, _examples(rows))
        return _compare_answers(loaded, model, task, windows, rows, texts)
    batch = python_inputs(directory, max_seq_length, rows)
    want = np.asarray(model(batch, training=False)["logits"])
    got = loaded.signatures[TEXT_SIGNATURE](**texts)["logits"]
    largest = _compare(TEXT_SIGNATURE, got, want, rows)
    got = _answers_of_ids(loaded, batch)["logits"]
    return max(largest, _compare(IDS_SIGNATURE, got, want, rows))


def _answers_of_ids(loaded: Any, batch: Inputs) -> Mapping[str, tf.Tensor]:
    ids = {name: tf.constant(x) for name, x in batch.items()}
    return loaded.signatures[IDS_SIGNATURE](**ids)


def _compare(signature: str, got: tf.Tensor, want: npt.NDArray, rows: Sequence[Row]) -> float:
    """The largest difference of logits [B ...]; raises Mismatch."""
    logits = np.asarray(got)
    differences = np.abs(logits - want).reshape(len(want), -1).max(axis=1)
    if not differences.max() <= _TOLERANCE * _scale(want):
        row = int(differences.argmax())
        values = f" {logits[row]}, not {want[row]}," if want.ndim == 2 else ""
        raise Mismatch(
            f"Signature {signature} of the exported graph gives other logits{values} than the "
            f"Python path for {rows[row]!r}: they differ by {differences[row]:.2g}."
        )
    return float(differences.max())


def _scale(logits: npt.NDArray) -> float:
    """The largest logit, padding aside, or 1 if that is smaller."""
    return max(1.0, float(np.abs(logits[logits > _PADDING]).max()))


# Questions and contexts.


def _examples(rows: Sequence[Row]) -> list[SpanExample]:
    return [
        SpanExample(str(number), question, context)
        for number, (question, context) in enumerate(rows)
    ]


def _windows(
    task: QuestionAnswering,
    directory: ModelDirectory,
    max_seq_length: int,
    examples: Sequence[SpanExample],
) -> list[spans.Window]:
    tokenizer = WordPieceTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
    found = spans.make_windows(
        examples,
        tokenizer,
        directory.vocabulary,
        max_seq_length=max_seq_length,
        doc_stride=task.doc_stride,
        max_query_length=task.max_query_length,
    )
    return list(found)


def _inputs_of_windows(windows: Sequence[spans.Window]) -> Inputs:
    return encoder_inputs([each.word_ids for each in windows], [each.type_ids for each in windows])


def _compare_answers(
    loaded: Any,
    model: SpanModel,
    task: QuestionAnswering,
    windows: Sequence[spans.Window],
    rows: Sequence[Row],
    texts: Mapping[str, tf.Tensor],
) -> float:
    """The largest difference of logits; raises Mismatch, for another answer too."""
    batch = _inputs_of_windows(windows)
    want = np.asarray(model(batch, training=False)["logits"])  # [W 2 T]
    of_ids = _answers_of_ids(loaded, batch)
    got = tf.stack([of_ids["start_logits"], of_ids["end_logits"]], axis=1)
    rows_of_windows = [rows[each.example_index] for each in windows]
    largest = _compare(IDS_SIGNATURE, got, want, rows_of_windows)
    # Another order of summation may move each of the two logits of a span, and of [CLS].
    tolerance = 4 * _TOLERANCE * _scale(want)
    predictions = squad.decode(
        _examples(rows),
        windows,
        list(want[:, 0]),
        list(want[:, 1]),
        n_best_size=task.n_best_size,
        max_answer_length=task.max_answer_length,
        version_2_with_negative=task.version_2_with_negative,
        null_score_diff_threshold=task.null_score_diff_threshold or 0.0,
    )
    answers = loaded.signatures[TEXT_SIGNATURE](**texts)
    columns = {name: column.numpy() for name, column in answers.items()}
    for number, (row, prediction) in enumerate(zip(rows, predictions, strict=True)):
        given = {name: column[number] for name, column in columns.items()}
        is_sure = _margin(prediction, task.null_score_diff_threshold or 0.0) > tolerance
        if problem := _problem(given, prediction, row[1], tolerance, is_sure):
            raise Mismatch(
                f"Signature {TEXT_SIGNATURE} of the exported graph answers {row!r} otherwise than "
                f"the Python path: {problem}."
            )
    return largest


def _problem(
    given: Mapping[str, Any],
    prediction: squad.Prediction,
    context: str,
    tolerance: float,
    is_sure: bool,
) -> str:
    """What is wrong with an answer; "" for nothing.

    Args:
      is_sure: whether no difference within the tolerance gives another answer.
    """
    text = given["answer"].decode()
    cut = context[given["start"] : given["end"]]
    if cut != text:
        return f"characters {given['start']} to {given['end']} are {cut!r}, not {text!r}"
    if is_sure and text != prediction.text:
        return f"{text!r} where {prediction.text!r} was wanted"
    wanted = prediction.null_score_diff
    if wanted is not None and abs(given["null_odds"] - wanted) > tolerance:
        return f"null_odds {given['null_odds']} where {wanted} was wanted"
    probabilities = [each.probability for each in prediction.n_best]
    got = given["n_best_scores"][: len(probabilities)]
    if np.abs(got - probabilities).max() > tolerance:
        return f"n_best_scores {got} where {probabilities} were wanted"
    return ""


def _margin(prediction: squad.Prediction, threshold: float) -> float:
    """By how much the scores would have to change to give another answer."""
    scores = [each.start_logit + each.end_logit for each in prediction.n_best if each.text]
    margins = [scores[0] - scores[1]] if len(scores) > 1 else []
    if prediction.null_score_diff is not None:
        margins.append(abs(prediction.null_score_diff - threshold))
    return min(margins, default=np.inf)
