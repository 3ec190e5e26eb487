import numpy as np
import pytest
import tensorflow as tf

from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.text.graph_packing import TextRows
from bert_tf.text.vocab import Vocabulary
from export.kinds import chunks

VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
PERMUTED = Vocabulary(["[PAD]", "a", "[SEP]", "b", "[UNK]", "[MASK]", "[CLS]"])


@tf.function
def largest_id_and_width(rows_lengths):
    """[B 2] for single texts whose ids are their row number plus 7."""

    def function(batch):
        word_ids = tf.cast(batch["input_word_ids"], tf.float32)
        width = tf.ones_like(word_ids[:, :1]) * tf.cast(tf.shape(word_ids)[1], tf.float32)
        return tf.concat([tf.reduce_max(word_ids, axis=1, keepdims=True), width], axis=1)

    ids = tf.RaggedTensor.from_row_lengths(
        tf.repeat(tf.range(tf.size(rows_lengths)) + 7, rows_lengths - 2), rows_lengths - 2
    )
    rows = TextRows(ids, None, VOCABULARY, 53)
    return chunks.compute(rows, function, 2, chunk_rows=5)


@pytest.mark.parametrize("num_rows", [0, 1, 2, 5, 6, 31])
def test_every_row_comes_back_in_its_place(num_rows):
    lengths = np.random.default_rng(num_rows).integers(3, 53, num_rows).astype(np.int32)
    got = largest_id_and_width(tf.constant(lengths)).numpy()
    assert got.shape == (num_rows, 2)
    np.testing.assert_array_equal(got[:, 0], np.arange(num_rows) + 7)


def test_chunks_are_as_long_as_their_longest_row():
    lengths = np.array([53, 3, 9, 4, 52, 3, 8, 5, 51, 50, 40], np.int32)
    width = largest_id_and_width(tf.constant(lengths)).numpy()[:, 1]
    # By length: 3 3 4 5 8 | 9 40 50 51 52 | 53, rounded up to a multiple of 4, at most 53.
    want = {3: 8, 4: 8, 5: 8, 8: 8, 9: 52, 40: 52, 50: 52, 51: 52, 52: 52, 53: 53}
    np.testing.assert_array_equal(width, [want[length] for length in lengths])


def test_several_outputs_of_any_type_and_the_numbers_of_the_rows():
    lengths = tf.constant([9, 3, 31, 5, 4, 17, 3], tf.int32)
    ids = tf.RaggedTensor.from_row_lengths(tf.range(7, 65), lengths - 2)
    rows = TextRows(ids, None, VOCABULARY, 53)

    def function(batch, numbers):
        return {"text": tf.strings.as_string(numbers), "sum": tf.reduce_sum(batch["input_mask"], 1)}

    specs = {"text": tf.TensorSpec([None], tf.string), "sum": tf.TensorSpec([None], tf.int32)}
    got = chunks.compute_each(rows, function, specs, chunk_rows=3)
    assert got["text"].numpy().tolist() == [b"0", b"1", b"2", b"3", b"4", b"5", b"6"]
    np.testing.assert_array_equal(got["sum"], lengths)


def ragged(sequences):
    return tf.ragged.constant(sequences, dtype=tf.int32, ragged_rank=1)


def random_ids(rng, num_rows):
    """Lengths from 0 to far beyond what fits."""
    return [rng.integers(7, 99, rng.integers(0, 40)).tolist() for _ in range(num_rows)]


@pytest.mark.parametrize("max_seq_length", [5, 6, 17, 32])
@pytest.mark.parametrize("is_pair", [False, True])
def test_rows_equal_python_packing(max_seq_length, is_pair):
    rng = np.random.default_rng(max_seq_length)
    ids_a, ids_b = random_ids(rng, 101), random_ids(rng, 101)
    ids_b[:11] = [ids[::-1] for ids in ids_a[:11]]  # equally long: the second loses first
    pairs = ids_b if is_pair else [None] * 101
    packed = [
        packing.pack(a, b, PERMUTED, max_seq_length) for a, b in zip(ids_a, pairs, strict=True)
    ]
    want = encoder_inputs(*map(list, zip(*packed, strict=True)), length=37)
    rows = TextRows(ragged(ids_a), ragged(ids_b) if is_pair else None, PERMUTED, max_seq_length)
    np.testing.assert_array_equal(rows.lengths, [len(word_ids) for word_ids, _ in packed])
    chosen = rng.permutation(101)[:29]
    got = rows.batch(tf.constant(chosen, tf.int32), 37)
    assert got.keys() == want.keys()
    for name, tensor in got.items():
        assert tensor.dtype == tf.int32
        np.testing.assert_array_equal(tensor, want[name][chosen], err_msg=name)


def test_ids_are_cut_behind_the_last_real_token():
    mask = np.array([[1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], np.int32)
    ids = np.arange(15, dtype=np.int32).reshape(3, 5)
    rows = chunks.IdRows({"input_word_ids": tf.constant(ids), "input_mask": tf.constant(mask)})
    np.testing.assert_array_equal(rows.lengths, [3, 5, 1])
    batch = rows.batch([0, 2], 3)
    np.testing.assert_array_equal(batch["input_word_ids"], [[0, 1, 2], [10, 11, 12]])
    np.testing.assert_array_equal(batch["input_mask"], [[1, 0, 1], [0, 0, 0]])


def test_no_rows():
    none = tf.RaggedTensor.from_row_splits(tf.zeros(0, tf.int32), tf.zeros(1, tf.int64))
    assert TextRows(none, none, PERMUTED, 17).lengths.shape == (0,)
    empty = tf.zeros((0, 0), tf.int32)
    assert chunks.IdRows({"input_mask": empty}).lengths.shape == (0,)
