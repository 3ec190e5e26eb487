"""Multi-head self-attention."""

import math

from keras import ops

from bert_tf import shapes
from bert_tf.modeling import layer

# Added to the scores of padding: its exponential is exactly zero in float32.
_NEVER = -1e9


class SelfAttention(layer.ConfigLayer):
    """Multi-head self-attention (BERT section 3; Vaswani et al. 2017, section 3.2.2).

    Query, key and value are one matrix product. Padded queries still produce values, which no
    loss reads. The softmax is float32 whatever the dtype policy.

    Args:
      salt: int, of the dropout of the attention probabilities.

    Call arguments:
      hidden:     float [B*T H]; rows are flattened so that every product is of two matrices.
      input_mask: int [B S], 1 where a token is real; S is T.
      visible:    bool [B T S] of `visible`, or None: every token sees every real one.
    Returns:
      float [B*T H], projected; the caller adds dropout, residual and LayerNorm.
    """

    def __init__(self, config, salt, **kwargs):
        super().__init__(config, **kwargs)
        self.salt = salt
        self.qkv = self.new_dense(3 * self.config.hidden_size, "qkv")
        self.output_dense = self.new_dense(self.config.hidden_size, "output")
        self.dropout = self.new_dropout(self.config.attention_probs_dropout_prob, salt)

    def build(self, input_shape=None):
        self.qkv.build((None, self.config.hidden_size))
        self.output_dense.build((None, self.config.hidden_size))

    def call(self, hidden, input_mask, visible=None, training=False):
        shapes.check("input_mask", input_mask, "B S")
        size_per_head = self.config.size_per_head
        num_tokens = ops.shape(input_mask)[1]
        split_heads = (-1, num_tokens, self.config.num_attention_heads, size_per_head)
        # Split, not indexed: the gradient of an index on a middle axis costs as much as a product.
        query, key, value = (
            ops.reshape(part, split_heads) for part in ops.split(self.qkv(hidden), 3, axis=-1)
        )  # [B T A D] each
        query = ops.transpose(query, (0, 2, 1, 3))  # [B A T D]
        key = ops.transpose(key, (0, 2, 3, 1))  # [B A D S]
        value = ops.transpose(value, (0, 2, 1, 3))  # [B A S D]

        scores = ops.matmul(query * (1.0 / math.sqrt(size_per_head)), key)  # [B A T S]
        bias = _padding_bias(input_mask) if visible is None else _bias(visible)
        probs = ops.softmax(ops.cast(scores, "float32") + bias)  # [B A T S]
        probs = self.dropout(ops.cast(probs, self.compute_dtype), training=training)

        context = ops.transpose(ops.matmul(probs, value), (0, 2, 1, 3))  # [B T A D]
        context = ops.reshape(context, (-1, self.config.hidden_size))
        return self.output_dense(context)  # [B*T H]

    def get_config(self):
        return {**super().get_config(), "salt": self.salt}


def visible(input_mask, sequence_ids=None, is_causal=False):
    """Which token may attend to which, where that is not simply every one to every real one.

    Args:
      input_mask: int [B T], 1 where a token is real.
      sequence_ids: int [B T], which of the texts packed into its row a token belongs to; a text
        sees itself only.
      is_causal: bool, a token sees itself and those before it only.

    Returns:
      bool [B T S].
    """
    seen = ops.cast(input_mask, "bool")[:, None, :]  # [B 1 S]
    if sequence_ids is not None:
        shapes.check("sequence_ids", sequence_ids, "B T")
        seen = ops.logical_and(seen, _same(sequence_ids))  # [B T S]
    if is_causal:
        seen = ops.logical_and(seen, _not_later(ops.shape(input_mask)[1]))  # [B T S]
    return seen


def places_in_sequence(sequence_ids):
    """The place of every token in its text: int32 [B T], from 0 again where a text starts.

    Args:
      sequence_ids: int [B T]; see `visible`.
    """
    up_to = ops.logical_and(_same(sequence_ids), _not_later(ops.shape(sequence_ids)[1]))
    return ops.sum(ops.cast(up_to, "int32"), axis=-1) - 1


def _same(sequence_ids):
    """Bool [B T S], true where both tokens are of one text."""
    return ops.equal(sequence_ids[:, :, None], sequence_ids[:, None, :])  # [B T S]


def _not_later(num_tokens):
    """Bool [T S], true where s <= t."""
    places = ops.arange(num_tokens, dtype="int32")
    return places[None, :] <= places[:, None]


def _padding_bias(input_mask):
    """Float32 [B 1 1 S] to add to scores: zero where a token is real, very negative elsewhere."""
    padding = 1.0 - ops.cast(input_mask, "float32")
    return padding[:, None, None, :] * _NEVER


def _bias(visible):
    """Float32 [B 1 T S] to add to scores: zero where a token is seen, very negative elsewhere."""
    shapes.check("visible", visible, "B T S")
    return ops.where(visible, 0.0, _NEVER)[:, None]
