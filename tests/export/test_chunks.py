import numpy as np
import pytest
import tensorflow as tf

from bert_tf.text.vocab import Vocabulary
from export import chunks, inputs

VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])


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
    rows = inputs.TextRows(ids, None, VOCABULARY, 53)
    return chunks.compute(rows, function, 2, piece_rows=5, multiple=4)


@pytest.mark.parametrize("num_rows", [0, 1, 2, 5, 6, 31])
def test_every_row_comes_back_in_its_place(num_rows):
    lengths = np.random.default_rng(num_rows).integers(3, 53, num_rows).astype(np.int32)
    got = largest_id_and_width(tf.constant(lengths)).numpy()
    assert got.shape == (num_rows, 2)
    np.testing.assert_array_equal(got[:, 0], np.arange(num_rows) + 7)


def test_pieces_are_as_long_as_their_longest_row():
    lengths = np.array([53, 3, 9, 4, 52, 3, 8, 5, 51, 50, 40], np.int32)
    width = largest_id_and_width(tf.constant(lengths)).numpy()[:, 1]
    # By length: 3 3 4 5 8 | 9 40 50 51 52 | 53, rounded up to a multiple of 4, at most 53.
    want = {3: 8, 4: 8, 5: 8, 8: 8, 9: 52, 40: 52, 50: 52, 51: 52, 52: 52, 53: 53}
    np.testing.assert_array_equal(width, [want[length] for length in lengths])
