"""Windows of the graph against `bert_tf.examples.spans`."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.examples import spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.examples.rows import encoder_inputs
from bert_tf.text.graph_windows import Windows
from bert_tf.text.vocab import Vocabulary

VOCABULARY = Vocabulary(["[PAD]", "a", "[SEP]", "b", "[UNK]", "[MASK]", "[CLS]"])
MAX_QUERY_LENGTH = 7


class Numbers:
    """A tokenizer of texts that are ids already; token t is at characters t to t + 1."""

    def encode(self, ids):
        return ids

    def encode_with_offsets(self, ids):
        return ids, [(t, t + 1) for t in range(len(ids))]


def ragged(sequences):
    return tf.ragged.constant(sequences, dtype=tf.int32, ragged_rank=1)


@tf.function(reduce_retracing=True, autograph=False)
def made(question_ids, context_ids, max_seq_length, doc_stride):
    windows = Windows(question_ids, context_ids, VOCABULARY, max_seq_length, doc_stride)
    rows = tf.range(tf.size(windows.lengths))
    names = "question number context_position first_token num_tokens best_window lengths".split()
    return windows.batch(rows, max_seq_length), {name: getattr(windows, name) for name in names}


def assert_equal_to_python(questions, contexts, max_seq_length, doc_stride):
    examples = [SpanExample("", q, c) for q, c in zip(questions, contexts, strict=True)]
    want = list(
        spans.make_windows(
            examples,
            Numbers(),
            VOCABULARY,
            max_seq_length=max_seq_length,
            doc_stride=doc_stride,
            max_query_length=MAX_QUERY_LENGTH,
        )
    )
    cut = ragged([ids[:MAX_QUERY_LENGTH] for ids in questions])
    batch, got = made(cut, ragged(contexts), tf.constant(max_seq_length), tf.constant(doc_stride))
    got = {name: tensor.numpy() for name, tensor in got.items()}
    inputs = encoder_inputs(
        [w.word_ids for w in want], [w.type_ids for w in want], length=max_seq_length
    )
    for name, tensor in batch.items():
        np.testing.assert_array_equal(tensor, inputs[name], err_msg=name)
    firsts = np.cumsum([0, *map(len, contexts)])
    for number, window in enumerate(want):
        assert got["question"][number] == window.example_index
        assert got["context_position"][number] == window.context_position
        assert got["lengths"][number] == len(window.word_ids)
        start = got["first_token"][number]
        assert start == firsts[window.example_index] + window.context_start
        assert got["num_tokens"][number] == len(window.offsets)
        shown = got["best_window"][start : start + len(window.offsets)]
        np.testing.assert_array_equal(shown == got["number"][number], window.is_max_context)
    assert len(got["question"]) == len(want)
    assert len(got["best_window"]) == sum(map(len, contexts)) + 1


@pytest.mark.parametrize("doc_stride", [1, 2, 3, 5, 7, 12, 13, 31, 127])
@pytest.mark.parametrize("max_seq_length", [11, 12, 17, 29])
def test_equal_to_python(max_seq_length, doc_stride):
    rng = np.random.default_rng(max_seq_length * doc_stride)
    lengths = [0, *rng.permutation(71), 0]
    contexts = [rng.integers(7, 99, length).tolist() for length in lengths]
    questions = [rng.integers(7, 99, rng.integers(0, 13)).tolist() for _ in lengths]
    assert_equal_to_python(questions, contexts, max_seq_length, doc_stride)


def test_windows_of_hundreds_of_tokens_whose_scores_tie():
    """0.01 times the length makes up for a token less on one side where lengths differ by 100."""
    contexts = [list(range(7, 7 + length)) for length in (409, 609, 701, 733, 800)]
    for doc_stride in (64, 97, 128, 401):
        assert_equal_to_python([[7, 8]] * 5, contexts, 384, doc_stride)


def test_no_question():
    none = tf.RaggedTensor.from_row_splits(tf.zeros(0, tf.int32), tf.zeros(1, tf.int64))
    batch, got = made(none, none, tf.constant(17), tf.constant(3))
    assert got.pop("best_window").shape == (1,)
    assert {name: tensor.shape[0] for name, tensor in got.items()} == dict.fromkeys(got, 0)
    assert batch["input_word_ids"].shape == (0, 17)
