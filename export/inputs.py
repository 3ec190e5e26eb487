"""Texts or ids to model inputs inside a graph, for any choice of rows and any padded length.

`TextRows` gives what `bert_tf.examples.packing.pack` gives, in core TensorFlow operations: the
trimmers of tf-text are missing from the serving images before 2.20.
"""

import tensorflow as tf

from bert_tf import features

# Places of the special ids in the pool that `TextRows` gathers from.
_PAD, _CLS, _SEP, _NUM_SPECIAL = 0, 1, 2, 3


class TextRows:
    """Rows packed as `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, truncated longest first.

    Args:
      ids_a: int32 ragged [B (T)].
      ids_b: int32 ragged [B (T)], or None for single texts.
      vocabulary: `bert_tf.text.vocab.Vocabulary`.
      max_seq_length: int, special tokens included.

    Attributes:
      lengths: int32 [B], tokens of each row, special tokens included.
      max_length: int, the most that `lengths` holds.
    """

    def __init__(self, ids_a, ids_b, vocabulary, max_seq_length):
        special = [vocabulary.pad_id, vocabulary.cls_id, vocabulary.sep_id]
        start_a = _row_starts(ids_a) + _NUM_SPECIAL
        if ids_b is None:
            self._pool = tf.concat([special, ids_a.flat_values], axis=0)
            keep_a = tf.minimum(_row_lengths(ids_a), max_seq_length - 2)
            self._columns = tf.stack([start_a, keep_a], axis=1)  # [B 2]
            self.lengths = keep_a + 2
        else:
            self._pool = tf.concat([special, ids_a.flat_values, ids_b.flat_values], axis=0)
            start_b = _row_starts(ids_b) + tf.size(ids_a.flat_values) + _NUM_SPECIAL
            lengths = _row_lengths(ids_a), _row_lengths(ids_b)
            keep_a, keep_b = _truncated_lengths(*lengths, max_seq_length - 3)
            self._columns = tf.stack([start_a, keep_a, start_b, keep_b], axis=1)  # [B 4]
            self.lengths = keep_a + keep_b + 3
        self.max_length = max_seq_length

    def batch(self, rows, length):
        """The encoder's inputs for some rows.

        Args:
          rows: int32 [B'], row numbers.
          length: int32 scalar, tokens to pad to.

        Returns:
          dict of int32 [B' length]: `input_word_ids`, `input_mask`, `input_type_ids`.
        """
        columns = tf.split(tf.gather(self._columns, rows), self._columns.shape[1], axis=1)
        position = tf.range(length)[tf.newaxis, :]  # [1 length]
        start_a, keep_a = columns[:2]  # [B' 1] each
        place = tf.where(position == 0, _CLS, start_a + position - 1)
        place = tf.where(position == keep_a + 1, _SEP, place)
        end, first_b = keep_a + 2, keep_a + 2
        if len(columns) > 2:
            start_b, keep_b = columns[2:]
            end = first_b + keep_b + 1
            place = tf.where(position >= first_b, start_b + position - first_b, place)
            place = tf.where(position == end - 1, _SEP, place)
        is_real = position < end
        return {
            features.WORD_IDS.name: tf.gather(self._pool, tf.where(is_real, place, _PAD)),
            features.MASK.name: tf.cast(is_real, tf.int32),
            features.TYPE_IDS.name: tf.cast(is_real & (position >= first_b), tf.int32),
        }


class IdRows:
    """Rows that come packed and padded.

    Args:
      batch: dict of int32 [B T]: `input_word_ids`, `input_mask`, `input_type_ids`.

    Attributes:
      lengths: int32 [B], 1 + position of the last real token.
      max_length: int32 scalar, T.
    """

    def __init__(self, batch):
        self._batch = batch
        mask = batch[features.MASK.name]
        self.max_length = tf.shape(mask)[1]
        ends = tf.where(mask > 0, tf.range(self.max_length) + 1, 1)
        self.lengths = tf.reduce_max(tf.pad(ends, [[0, 0], [0, 1]]), axis=1)

    def batch(self, rows, length):
        """The encoder's inputs for some rows, cut to `length`; see `TextRows.batch`."""
        return {name: tf.gather(x, rows)[:, :length] for name, x in self._batch.items()}


def _row_starts(ids):
    return tf.cast(ids.row_starts(), tf.int32)


def _row_lengths(ids):
    return tf.cast(ids.row_lengths(), tf.int32)


def _truncated_lengths(length_a, length_b, budget):
    """`bert_tf.examples.packing.truncated_lengths`, element by element."""
    keep_a = tf.minimum(length_a, tf.maximum(budget - length_b, budget - budget // 2))
    keep_b = tf.minimum(length_b, tf.maximum(budget - length_a, budget // 2))
    return keep_a, keep_b
