"""The losses. Each returns (total, count); only the training loop divides.

The mean is the sum of totals over the sum of counts, of all replicas and pieces of a batch:
they hold different counts, so the mean of their means is not the mean.
"""

from keras import ops

from bert_tf import shapes


def masked_lm(logits, masked_lm_ids, masked_lm_weights):
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
    return ops.sum(_cross_entropy(logits, masked_lm_ids) * weights), ops.sum(weights)


def next_sentence(logits, next_sentence_labels):
    """Cross-entropy of next sentence prediction (BERT section 3.1, task 2).

    Args:
      logits: float [B 2]
      next_sentence_labels: int [B], 1 where the second text is a random one.
    Returns:
      (total, count): float32 scalars, in nats and in examples.
    """
    return classification(logits, next_sentence_labels)


def classification(logits, label_ids):
    """Cross-entropy of one label an example.

    Args:
      logits: float [B C]
      label_ids: int [B]
    Returns:
      (total, count): float32 scalars, in nats and in examples.
    """
    shapes.check("logits", logits, "B C")
    return _sum_and_size(_cross_entropy(logits, label_ids))


def regression(logits, label_values):
    """Squared error of one number an example.

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


def span(start_logits, end_logits, start_positions, end_positions):
    """Mean of the cross-entropies of start and end, as the released code takes it.

    Args:
      start_logits, end_logits: float [B T]
      start_positions, end_positions: int [B]
    Returns:
      (total, count): float32 scalars, in nats and in windows.
    """
    shapes.check("start_logits", start_logits, "B T")
    start = _cross_entropy(start_logits, start_positions)
    end = _cross_entropy(end_logits, end_positions)
    return _sum_and_size((start + end) / 2.0)


def _cross_entropy(logits, ids):
    """Float32 negative log-probabilities, one axis less than `logits`."""
    return ops.sparse_categorical_crossentropy(ids, ops.cast(logits, "float32"), from_logits=True)


def _sum_and_size(losses):
    return ops.sum(losses), ops.cast(ops.shape(losses)[0], "float32")
