"""The losses. Each returns a total and a count; only the training loop divides.

The mean is the sum of all totals over the sum of all counts, of every replica and micro-batch.
These have different counts, so the mean of their means is something else.
"""

from collections.abc import Sequence

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


def classification(
    logits: Tensor, label_ids: Tensor, example_weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of one label per example, or of one choice.

    Args:
      logits: float [B C]; or [B W], of the choices
      label_ids: int [B]
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in examples, or the sum of their weights.
    """
    shapes.check("logits", logits, "B C")
    return sum_and_size(fused.cross_entropy(logits, label_ids), example_weights)


def multi_label(
    logits: Tensor,
    label_vectors: Tensor,
    example_weights: Tensor | None = None,
    positive_weights: Sequence[float] = (),
) -> tuple[Tensor, Tensor]:
    """Mean of the C binary cross-entropies of each example, any number of whose labels hold.

    Args:
      logits: float [B C]
      label_vectors: float [B C], 1 for a label that holds, else 0
      example_weights: float [B]; None: 1 each
      positive_weights: of each label in the cross-entropy where it holds, as `pos_weight` of
        PyTorch's BCEWithLogitsLoss; empty: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in examples, or the sum of their weights.
    """
    shapes.check("logits", logits, "B C")
    shapes.check("label_vectors", label_vectors, "B C")
    logits = ops.cast(logits, "float32")
    # log(1 + exp(x)) - x y, in a form that does not overflow.
    softplus = ops.maximum(logits, 0.0) + ops.log1p(ops.exp(-ops.abs(logits)))
    vectors = ops.cast(label_vectors, "float32")
    per_label = softplus - logits * vectors  # [B C]
    if positive_weights:
        weights = ops.convert_to_tensor(positive_weights, "float32")
        per_label = per_label * (1.0 + (weights - 1.0) * vectors)
    return sum_and_size(ops.mean(per_label, axis=1), example_weights)


def tagging(
    logits: Tensor,
    token_label_ids: Tensor,
    example_weights: Tensor | None = None,
    label_weights: Sequence[float] = (),
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the labels of tokens (BERT section 5.3).

    Args:
      logits: float [B T C]
      token_label_ids: int [B T], negative for a token without a label
      example_weights: float [B]; None: 1 each
      label_weights: of each of the C labels; empty: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in labelled tokens, or the sum of their weights.
    """
    shapes.check("logits", logits, "B T C")
    weights = token_weights(token_label_ids, example_weights, label_weights)  # [B T]
    losses = fused.cross_entropy(logits, ops.maximum(token_label_ids, 0))
    return ops.sum(losses * weights), ops.sum(weights)


def token_weights(
    token_label_ids: Tensor,
    example_weights: Tensor | None = None,
    label_weights: Sequence[float] = (),
) -> Tensor:
    """What the loss of each token is multiplied by: float32 [B T], 0 without a label.

    Args: see `tagging`.
    """
    weights = ops.cast(token_label_ids >= 0, "float32")
    if example_weights is not None:
        weights = weights * ops.cast(example_weights, "float32")[:, None]
    if label_weights:
        of_labels = ops.convert_to_tensor(label_weights, "float32")
        weights = weights * ops.take(of_labels, ops.maximum(token_label_ids, 0))
    return weights


def regression(
    logits: Tensor, label_values: Tensor, example_weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Squared error of one number per example.

    Args:
      logits: float [B 1]
      label_values: float [B]
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars, in squared units of the label and in examples, or the sum of
      their weights.
    """
    shapes.check("logits", logits, "B C", C=1)
    shapes.check("label_values", label_values, "B")
    error = ops.cast(logits, "float32")[:, 0] - ops.cast(label_values, "float32")
    return sum_and_size(ops.square(error), example_weights)


def span(
    start_logits: Tensor,
    end_logits: Tensor,
    start_positions: Tensor,
    end_positions: Tensor,
    example_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean of the cross-entropies of start and end, as in the released code.

    Args:
      start_logits, end_logits: float [B T]
      start_positions, end_positions: int [B]
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in windows, or the sum of their weights.
    """
    shapes.check("start_logits", start_logits, "B T")
    start = fused.cross_entropy(start_logits, start_positions)
    end = fused.cross_entropy(end_logits, end_positions)
    return sum_and_size((start + end) / 2.0, example_weights)


def hits(logits: Tensor, labels: Tensor) -> Tensor:
    """Where the highest logit is the label's: float32 1 or 0, of the shape of `labels`.

    Args:
      logits: float [... C]
      labels: int [...]
    """
    return ops.cast(ops.equal(ops.argmax(logits, axis=-1), labels), "float32")


def accuracy(
    logits: Tensor, label_ids: Tensor, example_weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Share of right answers, as a loss is returned.

    Args:
      logits: float [B C]; or [B W], of the choices
      label_ids: int [B]
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars.
    """
    return sum_and_size(hits(logits, label_ids), example_weights)


def sum_and_size(losses: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Losses [B] and their weights [B] to (total, count)."""
    if weights is None:
        return ops.sum(losses), ops.cast(ops.shape(losses)[0], "float32")
    weights = ops.cast(weights, "float32")
    return ops.sum(losses * weights), ops.sum(weights)
