"""The losses of a student that learns from a teacher (Hinton et al. 2015; DistilBERT).

As those of `losses`, each returns a total and a count. The logits of both are divided by a
temperature. The gradients are then smaller by its square, so the losses are multiplied by that:
Hinton et al. 2015, arXiv 1503.02531, section 2.
"""

from keras import ops

from bert_tf import shapes
from bert_tf.modeling import Tensor, layer, losses


def classification(
    logits: Tensor,
    teacher_logits: Tensor,
    temperature: float,
    example_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Kullback-Leibler divergence of the student's probabilities from the teacher's.

    It differs from DistilBERT's cross-entropy by what no weight changes, and is 0 where both agree.

    Args:
      logits, teacher_logits: float [B C]; or [B W], of choices
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in examples, or the sum of their weights.
    """
    shapes.check("logits", logits, "B C")
    divergences = _divergences(logits, teacher_logits, temperature)
    return losses.sum_and_size(divergences, example_weights)


def multi_label(
    logits: Tensor,
    teacher_logits: Tensor,
    temperature: float,
    example_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean of the C divergences of each example, of the probabilities that a label holds or not.

    Args:
      logits, teacher_logits: float [B C]
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in examples, or the sum of their weights.
    """
    shapes.check("logits", logits, "B C")
    ours, theirs = (ops.stack([x, ops.zeros_like(x)], axis=-1) for x in (logits, teacher_logits))
    divergences = _divergences(ours, theirs, temperature)  # [B C 2] to [B C]
    return losses.sum_and_size(ops.mean(divergences, axis=1), example_weights)


def tagging(
    logits: Tensor,
    teacher_logits: Tensor,
    token_label_ids: Tensor,
    temperature: float,
    example_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`classification` of the tokens that have a label.

    Args:
      logits: float [B T C]
      teacher_logits: float [B C T]
      token_label_ids: int [B T], negative for a token without a label
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in labelled tokens, or the sum of their weights.
    """
    shapes.check("logits", logits, "B T C")
    shapes.check("teacher_logits", teacher_logits, "B C T")
    weights = ops.cast(token_label_ids >= 0, "float32")  # [B T]
    if example_weights is not None:
        weights = weights * ops.cast(example_weights, "float32")[:, None]
    teacher = ops.transpose(teacher_logits, (0, 2, 1))
    return ops.sum(_divergences(logits, teacher, temperature) * weights), ops.sum(weights)


def spans(
    logits: Tensor,
    teacher_logits: Tensor,
    mask: Tensor,
    temperature: float,
    example_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean of the divergences of start and end, whose probabilities are over the tokens.

    Args:
      logits: float [B 2 T], very negative at padding
      teacher_logits: float [B 2 T], anything at padding
      mask: int [B T], 0 at padding
      example_weights: float [B]; None: 1 each

    Returns:
      (total, count): float32 scalars, in nats and in windows, or the sum of their weights.
    """
    shapes.check("logits", logits, "B C T", C=2)
    teacher = ops.where(mask[:, None] > 0, teacher_logits, layer.MASKED)
    divergences = _divergences(logits, teacher, temperature)  # [B 2]
    return losses.sum_and_size(ops.mean(divergences, axis=1), example_weights)


def hidden_states(
    hidden: Tensor, teacher_hidden: Tensor, token_weights: Tensor
) -> tuple[Tensor, Tensor]:
    """1 - cosine of the last hidden states of student and teacher (DistilBERT, section 3).

    Args:
      hidden, teacher_hidden: float [... T H]
      token_weights: float32 [... T], 0 for padding

    Returns:
      (total, count): float32 scalars, of tokens, and the sum of their weights.
    """
    hidden, teacher_hidden = (ops.cast(x, "float32") for x in (hidden, teacher_hidden))
    products = ops.sum(hidden * teacher_hidden, axis=-1)
    squares = ops.sum(hidden**2, axis=-1) * ops.sum(teacher_hidden**2, axis=-1)
    cosines = products / ops.sqrt(ops.maximum(squares, 1e-16))
    return ops.sum((1.0 - cosines) * token_weights), ops.sum(token_weights)


def _divergences(logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """Of the softmax over the last axis, float32."""
    student = ops.log_softmax(ops.cast(logits, "float32") / temperature, axis=-1)
    teacher = ops.log_softmax(ops.cast(teacher_logits, "float32") / temperature, axis=-1)
    return ops.sum(ops.exp(teacher) * (teacher - student), axis=-1) * temperature**2
