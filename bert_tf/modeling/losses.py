"""The losses. Each returns a total and a count; only the training loop divides.

The mean is the sum of all totals over the sum of all counts, of every replica and micro-batch.
These have different counts, so the mean of their means is something else.
"""

from keras import ops

from bert_tf import shapes
from bert_tf.modeling import Tensor, fused


def masked_lm(
    logits: Tensor, masked_lm_ids: Tensor, masked_lm_weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the masked positions (BERT section 3.1, task 1).

    Args:
      logits: float [B P V]
      masked_lm_ids: int [B P], ids before masking; 0 in unused slots.
      masked_lm_weights: float [B P], 1.0 for a prediction, 0.0 for an unused slot.

    Returns:
      (total, count): float32 scalars, in nats and in predictions.
    """
    shapes.check("logits", logits, "B P V")
    weights = ops.cast(masked_lm_weights, "float32")
    return ops.sum(fused.cross_entropy(logits, masked_lm_ids) * weights), ops.sum(weights)


def next_sentence(logits: Tensor, next_sentence_labels: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of next sentence prediction (BERT section 3.1, task 2).

    Args:
      logits: float [B 2]
      next_sentence_labels: int [B], 1 where the second text is a random one.

    Returns:
      (total, count): float32 scalars, in nats and in examples.
    """
    return classification(logits, next_sentence_labels)


def classification(logits: Tensor, label_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of one label per example.

    Args:
      logits: float [B C]
      label_ids: int [B]

    Returns:
      (total, count): float32 scalars, in nats and in examples.
    """
    shapes.check("logits", logits, "B C")
    return _sum_and_size(fused.cross_entropy(logits, label_ids))


def regression(logits: Tensor, label_values: Tensor) -> tuple[Tensor, Tensor]:
    """Squared error of one number per example.

    Args:
      logits: float [B 1]
      label_values: float [B]

    Returns:
      (total, count): float32 scalars, in squared units of the label and in examples.
    """
    shapes.check("logits", logits, "B C", C=1)
    shapes.check("label_values", label_values, "B")
    error = ops.cast(logits, "float32")[:, 0] - ops.cast(label_values, "float32")
    return _sum_and_size(ops.square(error))


def span(
    start_logits: Tensor, end_logits: Tensor, start_positions: Tensor, end_positions: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean of the cross-entropies of start and end, as in the released code.

    Args:
      start_logits, end_logits: float [B T]
      start_positions, end_positions: int [B]

    Returns:
      (total, count): float32 scalars, in nats and in windows.
    """
    shapes.check("start_logits", start_logits, "B T")
    start = fused.cross_entropy(start_logits, start_positions)
    end = fused.cross_entropy(end_logits, end_positions)
    return _sum_and_size((start + end) / 2.0)


def _sum_and_size(losses: Tensor) -> tuple[Tensor, Tensor]:
    return ops.sum(losses), ops.cast(ops.shape(losses)[0], "float32")
