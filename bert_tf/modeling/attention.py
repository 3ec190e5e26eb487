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
      queries:    int [B Q] or None: the rows of `hidden` that attend, if not all; T is then Q.
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

    def call(self, hidden, input_mask, visible=None, queries=None, training=False):
        shapes.check("input_mask", input_mask, "B S")
        if queries is None:
            query, key, value = self._heads(self.qkv(hidden), input_mask, 3)  # [B A T D] each
        else:
            query, key, value = self._of_queries(hidden, input_mask, queries)
            visible = None if visible is None else _rows(visible, queries)  # [B T S]

        query = query * (1.0 / math.sqrt(self.config.size_per_head))
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))  # [B A T S]
        bias = _padding_bias(input_mask) if visible is None else _bias(visible)
        scores = ops.cast(scores, "float32") + bias
        kept = self.dropout.kept(ops.shape(scores), self.compute_dtype) if training else None
        context = _averaged(scores, value, kept)  # [B A T D]

        context = ops.transpose(context, (0, 2, 1, 3))  # [B T A D]
        return self.output_dense(ops.reshape(context, (-1, self.config.hidden_size)))  # [B*T H]

    def _heads(self, projected, alike, count):
        """[B*T count*H] as `count` times [B A T D]; T is that of `alike`, [B T]."""
        sizes = (count, self.config.num_attention_heads, self.config.size_per_head)
        # One transposition; the parts of its result lie one behind the other.
        parts = ops.reshape(projected, (-1, ops.shape(alike)[1], *sizes))  # [B T count A D]
        return ops.unstack(ops.transpose(parts, (2, 0, 3, 1, 4)), count)

    def _of_queries(self, hidden, input_mask, queries):
        """As the one product gives them, the queries only for some rows of `hidden`."""
        asked = ops.take(hidden, ops.reshape(queries, (-1,)), axis=0)  # [B*Q H]
        (kernel, other_kernel), (bias, other_bias) = (
            ops.split(ops.cast(weights, self.compute_dtype), [self.config.hidden_size], axis=-1)
            for weights in (self.qkv.kernel, self.qkv.bias)
        )
        query = self._heads(ops.matmul(asked, kernel) + bias, queries, 1)
        return *query, *self._heads(ops.matmul(hidden, other_kernel) + other_bias, input_mask, 2)

    def get_config(self):
        return {**super().get_config(), "salt": self.salt}


def _averaged(scores, value, kept):
    """The values [B A S D], averaged by the softmax of the scores: [B A T D].

    Of the averages' weights, `kept` [B A T S] has the factors of dropout, or is None. The
    gradient is written out. That of the softmax needs, for each query, the sum over S of the
    weights times their gradients; it is also the sum over D of the average times its gradient,
    which takes no further array of the size of the scores (Dao et al. 2022, appendix B.2).
    """

    # An argument, not seen from outside: JAX may compute all this anew in the backward pass.
    factors = () if kept is None else (kept,)

    @ops.custom_gradient
    def of(scores, value, *factors):
        probs = ops.cast(ops.softmax(scores), value.dtype)  # [B A T S]
        weights = probs * factors[0] if factors else probs
        context = ops.matmul(weights, value)  # [B A T D]

        def grad(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream  # [B A T D]
            of_weights = ops.matmul(upstream, ops.transpose(value, (0, 1, 3, 2)))  # [B A T S]
            sums = ops.sum(_float32(upstream * context), axis=-1, keepdims=True)  # [B A T 1]
            of_scores = _float32(weights * of_weights) - _float32(probs) * sums
            of_value = ops.matmul(ops.transpose(weights, (0, 1, 3, 2)), upstream)  # [B A S D]
            return of_scores, of_value, *map(ops.zeros_like, factors)

        return context, grad

    return of(scores, value, *factors)


def _float32(x):
    return ops.cast(x, "float32")


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


def _rows(visible, queries):
    """Those of `visible` [B T S] that belong to `queries`, int [B Q], rows of [B*T]: [B Q S]."""
    _, num_queries = ops.shape(queries)
    num_keys = ops.shape(visible)[2]
    flat = ops.reshape(visible, (-1, num_keys))  # [B*T S]
    flat = ops.take(flat, ops.reshape(queries, (-1,)), axis=0)  # [B*Q S]
    return ops.reshape(flat, (-1, num_queries, num_keys))


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
