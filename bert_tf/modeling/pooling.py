"""From a vector for each token to one for each text."""

from keras import ops

from bert_tf import shapes
from bert_tf.modeling import Tensor


def pool(sequence: Tensor, input_mask: Tensor, pooling: str) -> Tensor:
    """One vector for each row.

    Args:
      sequence: float [B T H].
      input_mask: int [B T], 1 where a token is real.
      pooling: "cls": the vector of the first token; "mean" or "max": over the real tokens, special
        tokens included (Reimers and Gurevych 2019, section 3).

    Returns:
      float32 [B H]; zeros for the mean of a row without a real token.
    """
    shapes.check("sequence", sequence, "B T H")
    sequence = ops.cast(sequence, "float32")
    if pooling == "cls":
        return sequence[:, 0]
    is_real = ops.cast(input_mask, "float32")[:, :, None]  # [B T 1]
    if pooling == "mean":
        return ops.sum(sequence * is_real, axis=1) / ops.maximum(ops.sum(is_real, axis=1), 1.0)
    if pooling == "max":
        return ops.max(ops.where(is_real > 0.0, sequence, -float("inf")), axis=1)
    raise ValueError(f"pooling is {pooling!r}; wanted cls, mean or max.")
