"""The losses. Each returns (total, count); only the training loop divides.

The mean is the sum of totals over the sum of counts, of all replicas and pieces of a batch:
they hold different counts, so the mean of their means is not the mean.
"""

import math

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
    """Float32 negative log-probabilities, one axis less than `logits`.

    The gradient, probability minus one-hot, is written out: the derived one makes further arrays
    of the size of the logits, the largest of the whole model.
    """
    shape, num_classes = ops.shape(ids), ops.shape(logits)[-1]
    ids = ops.reshape(ops.cast(ids, "int32"), (-1, 1))  # [N 1]

    @ops.custom_gradient
    def of_rows(logits):
        probs = ops.softmax(logits)  # [N C]
        of_label = ops.take_along_axis(logits, ids, axis=-1)[:, 0]
        # Against the likeliest class, whose probability has a logarithm. (Without `initial`, a
        # batch of no rows would be an error.)
        highest = ops.max(logits, axis=-1, initial=-math.inf)
        log_probs = of_label - highest + ops.log(ops.max(probs, axis=-1, initial=0.0))

        def grad(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream  # [N]
            places = ops.arange(ops.shape(ids)[0], dtype="int32")[:, None]
            places = ops.concatenate([places, ids], axis=-1)  # [N 2]
            return ops.scatter_update(probs * upstream[:, None], places, -upstream, "add")

        return -log_probs, grad

    logits = ops.reshape(ops.cast(logits, "float32"), (-1, num_classes))
    return ops.reshape(of_rows(logits), shape)


def _sum_and_size(losses):
    return ops.sum(losses), ops.cast(ops.shape(losses)[0], "float32")
