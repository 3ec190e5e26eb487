"""Answers of the graph against `bert_tf.tasks.squad.decode` on the same logits."""

import dataclasses
import functools
import random

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.examples import spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.tasks import squad
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.graph_windows import Windows
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import chunks
from export.kinds import span_answers as answers
from tests.reference import text_samples

VOCABULARY = Vocabulary(text_samples.vocabulary(do_lower_case=True))
GRAPH = GraphTokenizer(VOCABULARY, do_lower_case=True)
PYTHON = WordPieceTokenizer(VOCABULARY, do_lower_case=True)
MAX_SEQ_LENGTH, DOC_STRIDE, MAX_QUERY_LENGTH = 23, 7, 11


@dataclasses.dataclass(frozen=True)
class Settings:
    n_best_size: int = 5
    max_answer_length: int = 4
    version_2_with_negative: bool = True
    null_score_diff_threshold: float | None = None


def windows_of(pairs):
    examples = [SpanExample(str(number), *pair) for number, pair in enumerate(pairs)]
    found = spans.make_windows(
        examples,
        PYTHON,
        VOCABULARY,
        max_seq_length=MAX_SEQ_LENGTH,
        doc_stride=DOC_STRIDE,
        max_query_length=MAX_QUERY_LENGTH,
    )
    return examples, list(found)


@functools.cache
def graph(settings, chunk_rows):
    """Traced once for all tests with these settings."""
    texts, logits = tf.TensorSpec([None], tf.string), tf.TensorSpec([None, 2, None])

    @tf.function(input_signature=[texts, texts, logits], autograph=False)
    def answer(question, context, logits):
        contexts = answers.Contexts(context, GRAPH)
        question_ids = GRAPH(question)[:, :MAX_QUERY_LENGTH]
        windows = Windows(question_ids, contexts.ids, VOCABULARY, MAX_SEQ_LENGTH, DOC_STRIDE)

        def reduce(batch, rows):
            length = tf.shape(batch["input_mask"])[1]
            given = tf.gather(logits, rows)[:, :, :length]
            return answers.reduce_windows(given, rows, windows, contexts, settings)

        specs = answers.specs_of_windows(settings.n_best_size)
        of_windows = chunks.compute_each(windows, reduce, specs, chunk_rows)
        return answers.answer_questions(of_windows, windows.question, tf.size(question), settings)

    return answer


def graph_answers(pairs, logits, settings, chunk_rows=5):
    """The answers of the graph if the model gives `logits` float32 [W 2 T] for the windows."""
    columns = list(zip(*pairs, strict=True)) or [(), ()]
    texts = (tf.constant(column, tf.string) for column in columns)
    given = graph(settings, chunk_rows)(*texts, tf.constant(logits))
    return {name: tensor.numpy() for name, tensor in given.items()}


def assert_equal_to_decode(pairs, make_logits, settings):
    examples, windows = windows_of(pairs)
    logits = make_logits(len(windows)).astype(np.float32)
    want = squad.decode(examples, windows, logits[:, 0], logits[:, 1], **wanted_flags(settings))
    got = graph_answers(pairs, logits, settings)
    for number, prediction in enumerate(want):
        row = {name: column[number] for name, column in got.items()}
        assert_is_prediction(row, prediction, examples[number].context, settings)
    return got


def wanted_flags(settings):
    flags = dataclasses.asdict(settings)
    return flags | {"null_score_diff_threshold": settings.null_score_diff_threshold or 0.0}


def assert_is_prediction(row, prediction, context, settings):
    texts = [text.decode() for text in row["n_best_answers"]]
    size = len(prediction.n_best)
    assert texts[:size] == [each.text for each in prediction.n_best]
    probabilities = [each.probability for each in prediction.n_best]
    np.testing.assert_allclose(row["n_best_scores"][:size], probabilities, atol=1e-6)
    starts = [-1 if start is None else start for start in prediction.starts]
    assert row["n_best_starts"][:size].tolist() == starts
    spans_of_texts = zip(row["n_best_starts"], row["n_best_ends"], strict=True)
    assert [context[start:end] for start, end in spans_of_texts] == texts
    assert set(texts[size:]) <= {""}
    assert not row["n_best_scores"][size:].any()
    assert len(texts) == settings.n_best_size + settings.version_2_with_negative

    assert row["answer"].decode() == prediction.text
    assert context[row["start"] : row["end"]] == prediction.text
    assert row["has_answer"] == (prediction.text != "")
    if prediction.text in texts[:size]:
        assert row["score"] == row["n_best_scores"][texts.index(prediction.text)]
    if settings.version_2_with_negative:
        np.testing.assert_allclose(row["null_odds"], prediction.null_score_diff, rtol=1e-6)


def hostile_pairs(seed, count):
    """Questions and contexts of every kind of character, from none to several windows."""
    rng = random.Random(seed)
    texts = list(text_samples.strings(rng, 7 * count))
    contexts = [" ".join(texts[i : i + rng.randint(0, 7)]) for i in range(0, 7 * count, 7)]
    return list(zip(texts[:count], contexts, strict=True))


SETTINGS = [
    Settings(),
    Settings(version_2_with_negative=False),
    Settings(n_best_size=1, max_answer_length=1),
    Settings(n_best_size=1, version_2_with_negative=False, max_answer_length=50),
    Settings(n_best_size=13, max_answer_length=7, null_score_diff_threshold=-2.5),
    Settings(n_best_size=3, null_score_diff_threshold=2.5),
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_equal_to_decode_on_random_logits(settings):
    rng = np.random.default_rng(47)
    pairs = hostile_pairs(53, 31)
    got = assert_equal_to_decode(
        pairs, lambda count: rng.normal(size=(count, 2, MAX_SEQ_LENGTH)), settings
    )
    assert 0 < got["has_answer"].sum() <= 31  # some contexts are empty
    assert not got["has_answer"].all()


@pytest.mark.parametrize("is_v2", [True, False])
def test_equal_to_decode_where_scores_tie(is_v2):
    """n_best_size squared is more than there are spans: which ones are compared is not chance."""
    rng = np.random.default_rng(59)
    settings = Settings(n_best_size=9, version_2_with_negative=is_v2)
    pairs = hostile_pairs(61, 29)
    assert_equal_to_decode(
        pairs, lambda count: rng.integers(0, 3, (count, 2, MAX_SEQ_LENGTH)), settings
    )


def test_texts_that_occur_again_and_again():
    """Equal texts are one entry, in a window, over windows, and in another question's not."""
    rng = np.random.default_rng(67)
    pairs = [("a", "the of " * 17), ("b", "the of " * 23), ("", "the " * 40), ("a", "the")]
    got = assert_equal_to_decode(
        pairs,
        lambda count: rng.normal(size=(count, 2, MAX_SEQ_LENGTH)),
        Settings(n_best_size=7, max_answer_length=3),
    )
    texts = [text for text in got["n_best_answers"][3] if text]
    assert texts == [b"the"]


def test_nothing_to_answer_with():
    pairs = [("who", ""), ("", ""), ("a", " \n\u200b")]
    for settings in SETTINGS:
        got = assert_equal_to_decode(
            pairs, lambda count: np.ones((count, 2, MAX_SEQ_LENGTH)), settings
        )
        assert got["answer"].tolist() == [b""] * 3
        np.testing.assert_array_equal(got["start"], [-1] * 3)
        np.testing.assert_array_equal(got["score"], [1.0] * 3)
        np.testing.assert_array_equal(got["null_odds"], [squad.NOTHING_TO_ANSWER] * 3)


def test_no_question():
    got = graph_answers([], np.zeros((0, 2, MAX_SEQ_LENGTH), np.float32), Settings())
    assert {name: array.shape[0] for name, array in got.items()} == dict.fromkeys(got, 0)
    assert got["n_best_answers"].shape == (0, 6)


def test_bytes_that_are_not_utf8_do_not_count():
    context = "né👍 the"
    logits = np.zeros((1, 2, MAX_SEQ_LENGTH), np.float32)
    _, (window,) = windows_of([("of", context)])
    logits[:, :, window.context_position + len(window.offsets) - 1] = 9.0
    broken = context.encode().replace(b"n", b"\xff n\xe2\x82")
    got = graph_answers([("of", b"\xf0" + broken)], logits, Settings())
    assert got["answer"].tolist() == [b"the"]
    assert (got["start"][0], got["end"][0]) == (5, 8)  # the space is a character


def test_a_long_context_is_reduced_window_by_window():
    """What is kept of a window does not depend on its length."""
    specs = answers.specs_of_windows(3)
    assert {name: spec.shape.as_list() for name, spec in specs.items()} == {
        "texts": [None, 3],
        "scores": [None, 3],
        "starts": [None, 3],
        "ends": [None, 3],
        "null_scores": [None],
    }
