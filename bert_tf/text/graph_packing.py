"""Wordpiece ids to packed rows of the model, as a TensorFlow graph.

`TextRows` gives what `bert_tf.examples.packing.pack` gives, in core TensorFlow operations: the
trimmers of tf-text are missing from the serving images before 2.20. `graph_windows` packs a
question and a long context.
"""

from collections.abc import Sequence

import tensorflow as tf

from bert_tf import features
from bert_tf.text.vocab import Vocabulary

# Indices of the special ids in the pool that `PackedRows` gathers from.
_PAD, _CLS, _SEP, _NUM_SPECIAL = 0, 1, 2, 3


def most_ids(max_seq_length: int, num_texts: int) -> int:
    """Ids of a text that a row keeps at most; those behind them change nothing, in a pair too."""
    return max_seq_length - 1 - num_texts


class PackedRows:
    """Rows packed as `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`.

    Args:
      ids: int32 [N], the ids of all texts.
      parts: (starts, lengths) of a and, for pairs, of b: int32 [B] each, what of `ids` it is.
      max_length: tokens of the longest row, special tokens included.

    Attributes:
      lengths: int32 [B], tokens of each row, special tokens included.
      max_length: upper limit of `lengths`.
    """

    def __init__(
        self,
        ids: tf.Tensor,
        parts: Sequence[tuple[tf.Tensor, tf.Tensor]],
        vocabulary: Vocabulary,
        max_length: int,
    ) -> None:
        special = [vocabulary.pad_id, vocabulary.cls_id, vocabulary.sep_id]
        self._pool = tf.concat([special, ids], axis=0)
        columns = [column for start, length in parts for column in (start + _NUM_SPECIAL, length)]
        self._columns = tf.stack(columns, axis=1)  # [B 2] or [B 4]
        self.lengths = tf.add_n([length for _, length in parts]) + 1 + len(parts)
        self.max_length = max_length

    def batch(self, rows: tf.Tensor, length: tf.Tensor) -> dict[str, tf.Tensor]:
        """The encoder's inputs for some rows.

        Args:
          rows: int32 [B'], row numbers.
          length: int32 scalar, tokens to pad to.

        Returns:
          int32 [B' length] each: `input_word_ids`, `input_mask`, `input_type_ids`.
        """
        columns = tf.split(tf.gather(self._columns, rows), self._columns.shape[1], axis=1)
        position = tf.range(length)[tf.newaxis, :]  # [1 length]
        start_a, keep_a = columns[:2]  # [B' 1] each
        index = tf.where(position == 0, _CLS, start_a + position - 1)
        index = tf.where(position == keep_a + 1, _SEP, index)
        end, first_b = keep_a + 2, keep_a + 2
        if len(columns) > 2:
            start_b, keep_b = columns[2:]
            end = first_b + keep_b + 1
            index = tf.where(position >= first_b, start_b + position - first_b, index)
            index = tf.where(position == end - 1, _SEP, index)
        is_real = position < end
        return {
            features.WORD_IDS.name: tf.gather(self._pool, tf.where(is_real, index, _PAD)),
            features.MASK.name: tf.cast(is_real, tf.int32),
            features.TYPE_IDS.name: tf.cast(is_real & (position >= first_b), tf.int32),
        }


class TextRows(PackedRows):
    """Rows of single texts or pairs, truncated longest first.

    Args:
      ids_a: int32 ragged [B (T)].
      ids_b: int32 ragged [B (T)]; None: single texts.
      max_seq_length: tokens of a row, special tokens included.
    """

    def __init__(
        self,
        ids_a: tf.RaggedTensor,
        ids_b: tf.RaggedTensor | None,
        vocabulary: Vocabulary,
        max_seq_length: int,
    ) -> None:
        start_a, length_a = row_starts(ids_a), row_lengths(ids_a)
        if ids_b is None:
            keep_a = tf.minimum(length_a, most_ids(max_seq_length, 1))
            super().__init__(ids_a.flat_values, [(start_a, keep_a)], vocabulary, max_seq_length)
        else:
            ids = tf.concat([ids_a.flat_values, ids_b.flat_values], axis=0)
            start_b = row_starts(ids_b) + tf.size(ids_a.flat_values)
            budget = most_ids(max_seq_length, 2)
            keep_a, keep_b = _truncated_lengths(length_a, row_lengths(ids_b), budget)
            parts = [(start_a, keep_a), (start_b, keep_b)]
            super().__init__(ids, parts, vocabulary, max_seq_length)


def row_starts(ids: tf.RaggedTensor) -> tf.Tensor:
    """Where each row starts in the flat values, int32 [B]."""
    return tf.cast(ids.row_starts(), tf.int32)


def row_lengths(ids: tf.RaggedTensor) -> tf.Tensor:
    """Length of each row, int32 [B]."""
    return tf.cast(ids.row_lengths(), tf.int32)


def _truncated_lengths(
    length_a: tf.Tensor, length_b: tf.Tensor, budget: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """`bert_tf.examples.packing.truncated_lengths`, element by element."""
    keep_a = tf.minimum(length_a, tf.maximum(budget - length_b, budget - budget // 2))
    keep_b = tf.minimum(length_b, tf.maximum(budget - length_a, budget // 2))
    return keep_a, keep_b
