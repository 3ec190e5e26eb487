"""Long texts to windows, as a TensorFlow graph: `bert_tf.examples.packing.pack_windows`."""

import tensorflow as tf

from bert_tf.text.graph_packing import PackedRows, row_lengths, row_starts
from bert_tf.text.vocab import Vocabulary


class TextWindows(PackedRows):
    """The windows of B texts or pairs: the first text's, then the second's.

    In a pair the windows move over the longer text; the other one is in every window.

    Args:
      ids_a: int32 ragged [B (T)].
      ids_b: int32 ragged [B (T)]; None: single texts.
      max_seq_length: tokens of a window, special tokens included.
      max_windows, stride: see `packing.Windows`.

    Attributes:
      text: int32 [W], the row of the text in the batch.
    """

    def __init__(
        self,
        ids_a: tf.RaggedTensor,
        ids_b: tf.RaggedTensor | None,
        vocabulary: Vocabulary,
        max_seq_length: int,
        max_windows: int,
        stride: int | None,
    ) -> None:
        self._max_windows, self._stride = max_windows, stride
        start, length = row_starts(ids_a), row_lengths(ids_a)
        if ids_b is None:
            first, size = self._spans(length, max_seq_length - 2)
            parts = [(tf.gather(start, self.text) + first, size)]
            super().__init__(ids_a.flat_values, parts, vocabulary, max_seq_length)
            return
        start_b, length_b = row_starts(ids_b) + tf.size(ids_a.flat_values), row_lengths(ids_b)
        budget = max_seq_length - 3
        # Of equally long texts the windows move over the second, as `sorted` is stable.
        is_a_longer = length > length_b
        longer = tf.maximum(length, length_b)
        shorter = tf.minimum(tf.minimum(length, length_b), tf.maximum(budget - longer, budget // 2))
        first, size = self._spans(longer, budget - shorter)
        moves_a, shorter = tf.gather(is_a_longer, self.text), tf.gather(shorter, self.text)
        parts = [
            (
                tf.gather(text_start, self.text) + tf.where(moves, first, 0),
                tf.where(moves, size, shorter),
            )
            for text_start, moves in ((start, moves_a), (start_b, ~moves_a))
        ]
        ids = tf.concat([ids_a.flat_values, ids_b.flat_values], axis=0)
        super().__init__(ids, parts, vocabulary, max_seq_length)

    def _spans(self, length: tf.Tensor, room: tf.Tensor | int) -> tuple[tf.Tensor, tf.Tensor]:
        """The first token and the number of tokens of each window, int32 [W]: `Windows.spans`.

        Args:
          length: int32 [B], of the texts that are cut.
          room: int32 [B] or [], tokens of it that a window holds.
        """
        room = tf.broadcast_to(room, tf.shape(length))
        stride = tf.maximum(1, room // 2) if self._stride is None else self._stride
        stride = tf.minimum(stride, room)
        count = 1 - (-tf.maximum(0, length - room) // stride)
        count = tf.minimum(count, self._max_windows)
        ends = tf.cumsum(count)
        self._num_texts = tf.size(length)
        self.text = tf.searchsorted(ends, tf.range(tf.reduce_sum(count)), side="right")
        number = tf.range(tf.size(self.text)) - tf.gather(ends - count, self.text)
        first = number * tf.gather(stride, self.text)
        size = tf.minimum(tf.gather(room, self.text), tf.gather(length, self.text) - first)
        return first, size

    def pooled(self, logits: tf.Tensor, pooling: str) -> tf.Tensor:
        """What `modeling.models.ClassifierModel` makes of the logits of all windows.

        Args:
          logits: float32 [W C].
          pooling: "mean" or "max".

        Returns:
          float32 [B C].
        """
        reduce = {"mean": tf.math.unsorted_segment_mean, "max": tf.math.unsorted_segment_max}
        return reduce[pooling](logits, self.text, self._num_texts)
