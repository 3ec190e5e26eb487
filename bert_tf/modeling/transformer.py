"""One block of the Transformer encoder."""

from keras import ops

from bert_tf.modeling import layer
from bert_tf.modeling.attention import SelfAttention


class FeedForward(layer.ConfigLayer):
    """Two affine maps with the activation between them (Vaswani et al. 2017, section 3.3).

    Call arguments:
      hidden: float [B*T H]
    Returns:
      float [B*T H]
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.intermediate = self.new_dense(
            self.config.intermediate_size, "intermediate", self.hidden_activation
        )
        self.output_dense = self.new_dense(self.config.hidden_size, "output")

    def build(self, input_shape=None):
        self.intermediate.build((None, self.config.hidden_size))
        self.output_dense.build((None, self.config.intermediate_size))

    def call(self, hidden):
        return self.output_dense(self.intermediate(hidden))  # [B*T I], [B*T H]


class Block(layer.ConfigLayer):
    """Self-attention and feed-forward, each in LayerNorm(x + Dropout(f(x))).

    Args:
      index: int, of the layer, from 0; the salts of its three dropouts follow from it.

    Call arguments:
      hidden:     float [B*T H]
      input_mask: int [B T]
      visible:    bool [B T S] or None; see `SelfAttention`.
      queries:    int [B Q] or None: the rows of `hidden` whose output is wanted, if not all.
    Returns:
      float [B*T H], or [B*Q H] with `queries`.
    """

    def __init__(self, config, index, **kwargs):
        super().__init__(config, **kwargs)
        self.index = index
        salt = 3 * index + 1
        rate = self.config.hidden_dropout_prob
        self.attention = self.new(SelfAttention, salt, name="attention")
        self.attention_dropout = self.new_dropout(rate, salt + 1, "attention_dropout")
        self.attention_layer_norm = self.new_layer_norm("attention_layer_norm")
        self.feed_forward = self.new(FeedForward, name="feed_forward")
        self.output_dropout = self.new_dropout(rate, salt + 2, "output_dropout")
        self.output_layer_norm = self.new_layer_norm("output_layer_norm")

    def build(self, input_shape=None):
        self.attention.build()
        self.attention_layer_norm.build((None, self.config.hidden_size))
        self.feed_forward.build()
        self.output_layer_norm.build((None, self.config.hidden_size))

    def call(self, hidden, input_mask, visible=None, queries=None, training=False):
        attended = self.attention(hidden, input_mask, visible, queries, training=training)
        if queries is not None:
            hidden = ops.take(hidden, ops.reshape(queries, (-1,)), axis=0)  # [B*Q H]
        attended = self.attention_dropout(attended, training=training)
        hidden = self.attention_layer_norm(hidden + attended)  # [B*T H]
        output = self.output_dropout(self.feed_forward(hidden), training=training)
        return self.output_layer_norm(hidden + output)  # [B*T H]

    def get_config(self):
        return {**super().get_config(), "index": self.index}
