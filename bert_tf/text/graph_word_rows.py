"""Words to packed rows, as a TensorFlow graph: those of `bert_tf.tasks.kinds.tagging`.

A text that does not fit is cut between words into several rows, so that every word is in one.
"""

import tensorflow as tf

from bert_tf.text import graph_offsets
from bert_tf.text.graph_packing import PackedRows, most_ids, row_lengths
from bert_tf.text.vocab import Vocabulary


class WordRows(PackedRows):
    """The rows of B texts: the first text's, then the second's; none for a text without words.

    Args:
      ids: int32 ragged [N (T)], wordpieces of the words of all texts; a word without any becomes
        [UNK], and one that is longer than a row is cut.
      splits: int32 [B + 1], the words of text i are those from `splits[i]` to before
        `splits[i + 1]`.
      max_seq_length: tokens of a row, special tokens included.
      document_context: whether rows are filled up with words of the same text around them.

    Attributes:
      row: int32 [N], the row of each word.
      position: int32 [N], of its first wordpiece in that row.
    """

    def __init__(
        self,
        ids: tf.RaggedTensor,
        splits: tf.Tensor,
        vocabulary: Vocabulary,
        max_seq_length: int,
        document_context: bool = False,
    ) -> None:
        budget = most_ids(max_seq_length, num_texts=1)
        ids = _at_least_one(ids, vocabulary.unk_id)[:, :budget]
        # Each with an entry for the word behind the last one.
        token = tf.concat([[0], tf.cumsum(row_lengths(ids))], axis=0)  # its first token
        num_words = tf.size(token) - 1
        text = graph_offsets.segment_ids(splits, num_words + 1)[:-1]
        is_first = _row_starts(token, splits, text, budget)
        first = tf.cast(tf.where(is_first)[:, 0], tf.int32)  # word of each row
        end = tf.concat([first, [num_words]], axis=0)[1:]
        start, size = tf.gather(token, first), tf.gather(token, end) - tf.gather(token, first)
        if document_context:
            of_row = tf.gather(text, first)
            text_start, text_end = (
                tf.gather(token, tf.gather(splits, of_row + side)) for side in (0, 1)
            )
            left, right = start - text_start, text_end - start - size
            around = budget - size
            left = tf.minimum(left, tf.maximum(around // 2, around - right))
            right = tf.minimum(right, around - left)
            start, size = start - left, left + size + right
        self.row = tf.cumsum(tf.cast(is_first, tf.int32)) - 1
        self.position = 1 + token[:-1] - tf.gather(start, self.row)
        super().__init__(ids.flat_values, [(start, size)], vocabulary, max_seq_length)


def _at_least_one(ids: tf.RaggedTensor, unk_id: int) -> tf.RaggedTensor:
    """The ids of words, [UNK] for those without any."""
    is_empty = tf.cast(ids.row_lengths() == 0, tf.int64)
    unknown = tf.fill([tf.reduce_sum(is_empty)], unk_id)
    return tf.concat([ids, tf.RaggedTensor.from_row_lengths(unknown, is_empty)], axis=1)


def _row_starts(token: tf.Tensor, splits: tf.Tensor, text: tf.Tensor, budget: int) -> tf.Tensor:
    """Which words begin a row: bool [N].

    Where a row ends depends on where it begins. So the row behind one that began at a word is
    computed for all words; following these links from the first word of each text gives the rows.
    Each step doubles the number of links that are followed at once.

    Args:
      token: int32 [N + 1], the first token of each word.
      splits: int32 [B + 1], words of each text.
      text: int32 [N], of each word.
    """
    num_words = tf.size(text)
    # The first word that does not fit; the last entry is where all links end.
    following = tf.searchsorted(token, token + budget, side="right") - 1
    text_end = tf.concat([tf.gather(splits, text + 1), [num_words]], axis=0)
    following = tf.where(following < text_end, following, num_words)
    is_start = tf.scatter_nd(splits[:, tf.newaxis], tf.ones_like(splits), [num_words + 1]) > 0

    def follow(is_start: tf.Tensor, following: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        reached = tf.boolean_mask(following, is_start)[:, tf.newaxis]
        reached = tf.scatter_nd(reached, tf.ones_like(reached[:, 0]), [num_words + 1]) > 0
        return is_start | reached, tf.gather(following, following)

    def is_unfinished(is_start: tf.Tensor, following: tf.Tensor) -> tf.Tensor:
        return tf.reduce_any(tf.boolean_mask(following, is_start) < num_words)

    is_start, _ = tf.while_loop(is_unfinished, follow, (is_start, following))
    return is_start[:-1]
