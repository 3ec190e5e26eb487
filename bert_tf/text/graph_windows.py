"""Questions and long contexts to windows, as a TensorFlow graph: `bert_tf.examples.spans`.

The same windows, without a loop over them, and for each token of a context the window that shows it
with most context.
"""

import tensorflow as tf

from bert_tf.text import graph_offsets
from bert_tf.text.graph_packing import PackedRows, row_lengths, row_starts
from bert_tf.text.vocab import Vocabulary

_NUM_SPECIAL = 3  # [CLS] question [SEP] context [SEP]


class Windows(PackedRows):
    """The windows of B questions about a context each: the first question's, then the second's.

    Args:
      question_ids: int32 ragged [B (T)], cut to what a question may have.
      context_ids: int32 ragged [B (T)].
      max_seq_length: tokens of a window, special tokens included.
      doc_stride: tokens between the starts of two windows.

    Attributes:
      question: int32 [W], the row of the question in the batch.
      number: int32 [W], of the window among those of its question.
      context_position: int32 [W], position in the window of its first context token.
      first_token: int32 [W], index of that token among those of all contexts.
      num_tokens: int32 [W], context tokens in the window.
      best_window: int32 [N + 1], for the tokens of all contexts `number` of the window that shows
        the token with most context, as `spans.max_context`; the last is a placeholder.
    """

    def __init__(
        self,
        question_ids: tf.RaggedTensor,
        context_ids: tf.RaggedTensor,
        vocabulary: Vocabulary,
        max_seq_length: int,
        doc_stride: int,
    ) -> None:
        question_length, context_length = row_lengths(question_ids), row_lengths(context_ids)
        capacity = max_seq_length - question_length - _NUM_SPECIAL  # [B]
        step = tf.minimum(doc_stride, capacity)
        num_windows = -(-tf.maximum(context_length - capacity, 0) // step) + 1  # [B]
        ends = tf.cumsum(num_windows)
        self.question = tf.searchsorted(ends, tf.range(tf.reduce_sum(num_windows)), side="right")
        self.number = tf.range(tf.size(self.question)) - tf.gather(
            ends - num_windows, self.question
        )
        first = self.number * tf.gather(step, self.question)
        left = tf.gather(context_length, self.question) - first
        self.num_tokens = tf.minimum(tf.gather(capacity, self.question), left)
        self.first_token = tf.gather(row_starts(context_ids), self.question) + first
        question = tf.gather(row_starts(question_ids), self.question)
        length = tf.gather(question_length, self.question)
        self.context_position = length + 2
        super().__init__(
            tf.concat([question_ids.flat_values, context_ids.flat_values], axis=0),
            [
                (question, length),
                (self.first_token + tf.size(question_ids.flat_values), self.num_tokens),
            ],
            vocabulary,
            max_seq_length,
        )
        row = graph_offsets.segment_ids(
            tf.cast(context_ids.row_splits, tf.int32), tf.size(context_ids.flat_values)
        )
        best_window = _best_window(
            tf.range(tf.size(row)) - tf.gather(row_starts(context_ids), row),
            *(tf.gather(x, row) for x in (capacity, step, num_windows, context_length)),
        )
        self.best_window = tf.pad(best_window, [[0, 1]])


def _best_window(
    token: tf.Tensor,
    capacity: tf.Tensor,
    step: tf.Tensor,
    num_windows: tf.Tensor,
    length: tf.Tensor,
) -> tf.Tensor:
    """`spans.max_context` for tokens of any contexts: int32 [N] each.

    All windows but the last are full. Among these the context of a token first grows and then falls
    from window to window, so two of them can be the best: those around the one, between two
    windows, that would have the token in its middle.
    """
    last = num_windows - 1
    middle = (2 * token - capacity + 1) // (2 * step)
    least = tf.maximum(-((capacity - 1 - token) // step), 0)
    most = tf.maximum(tf.minimum(token // step, last - 1), 0)

    def clipped(window: tf.Tensor) -> tf.Tensor:
        return tf.minimum(tf.maximum(window, least), most)

    def score(window: tf.Tensor) -> tf.Tensor:
        """The released score, float64; -inf if the window does not hold the token."""
        size = tf.minimum(capacity, length - window * step)
        left = token - window * step
        right = size - 1 - left
        context = tf.cast(tf.minimum(left, right), tf.float64)
        score = context + 0.01 * tf.cast(size, tf.float64)
        return tf.where((left >= 0) & (right >= 0), score, -float("inf"))

    best = clipped(middle)
    for other in (clipped(middle + 1), last):
        best = tf.where(score(other) > score(best), other, best)
    return best
