"""What stands on the encoder: the two pre-training heads, classification, spans."""

from keras import ops

from bert_tf import shapes
from bert_tf.modeling import layer

_NEVER = -1e9  # logit of a position that is padding


class MaskedLmHead(layer.ConfigLayer):
    """Logits over the vocabulary at the positions it is given (BERT section 3.1, task 1).

    The transform (dense, activation, LayerNorm) and the output bias follow the released code;
    the output weights are the word embeddings.

    Call arguments:
      sequence_output:  float [B P H], of the positions to predict.
      word_embeddings:  variable [V H]
    Returns:
      float32 [B P V]
    """

    def __init__(self, config, name="masked_lm", **kwargs):
        super().__init__(config, name=name, **kwargs)
        self.transform = self.new_dense(
            self.config.hidden_size, "transform", self.hidden_activation
        )
        self.layer_norm = self.new_layer_norm()
        self.build()

    def build(self, input_shape=None):
        self.transform.build((None, self.config.hidden_size))
        self.layer_norm.build((None, self.config.hidden_size))
        self.output_bias = self.add_weight(
            name="output_bias", shape=(self.config.vocab_size,), initializer="zeros", autocast=False
        )

    def call(self, sequence_output, word_embeddings):
        shapes.check("sequence_output", sequence_output, "B P H", H=self.config.hidden_size)
        num_predictions = ops.shape(sequence_output)[1]
        flat = ops.reshape(sequence_output, (-1, self.config.hidden_size))  # [B*P H]
        hidden = self.layer_norm(self.transform(flat))  # [B*P H]
        table = ops.cast(word_embeddings, self.compute_dtype)
        logits = ops.cast(_by_transposed(hidden, table), "float32") + self.output_bias
        return ops.reshape(logits, (-1, num_predictions, self.config.vocab_size))  # [B P V]


class ClassificationHead(layer.ConfigLayer):
    """One affine map of the pooled first token (BERT section 4.1), with dropout before it.

    With one class it is the regression head of STS-B.

    Args:
      num_classes: int.
      dropout_rate: float; the released code has none for next sentence prediction.

    Call arguments:
      pooled_output: float [B H]
    Returns:
      float32 [B C]
    """

    def __init__(self, config, num_classes, dropout_rate, name="classifier", **kwargs):
        super().__init__(config, name=name, **kwargs)
        self.num_classes = num_classes
        self.dropout_rate = dropout_rate
        self.dropout = self.new_dropout(dropout_rate, salt=3 * self.config.num_hidden_layers + 1)
        self.build()

    def build(self, input_shape=None):
        self.kernel, self.bias = _affine(self, self.num_classes)

    def call(self, pooled_output, training=False):
        shapes.check("pooled_output", pooled_output, "B H", H=self.config.hidden_size)
        pooled_output = self.dropout(pooled_output, training=training)
        return _float32_affine(pooled_output, self.kernel, self.bias)  # [B C]

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "dropout_rate": self.dropout_rate,
        }


class SpanHead(layer.ConfigLayer):
    """Start and end logits of every token (BERT section 4.2). Padding is never chosen.

    Call arguments:
      sequence_output: float [B T H]
      input_mask:      int [B T]
    Returns:
      (start_logits, end_logits), float32 [B T] each.
    """

    def __init__(self, config, name="span", **kwargs):
        super().__init__(config, name=name, **kwargs)
        self.build()

    def build(self, input_shape=None):
        self.kernel, self.bias = _affine(self, 2)

    def call(self, sequence_output, input_mask):
        shapes.check("sequence_output", sequence_output, "B T H", H=self.config.hidden_size)
        shapes.check("input_mask", input_mask, "B T")
        num_tokens = ops.shape(sequence_output)[1]
        flat = ops.reshape(sequence_output, (-1, self.config.hidden_size))  # [B*T H]
        logits = ops.reshape(_float32_affine(flat, self.kernel, self.bias), (-1, num_tokens, 2))
        real = ops.cast(input_mask, "bool")
        return tuple(ops.where(real, logits[:, :, i], _NEVER) for i in (0, 1))  # [B T] each


@ops.custom_gradient
def _by_transposed(x, table):
    """x [N H] times the transposed table [V H]; the gradient of the table needs no transposing."""

    def grad(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream  # [N V]
        return ops.matmul(upstream, table), ops.matmul(ops.transpose(upstream), x)

    return ops.matmul(x, ops.transpose(table)), grad


def _affine(owner, units):
    """Adds a kernel [H C] and a bias [C] to the layer `owner`."""
    kernel = owner.add_weight(
        name="kernel",
        shape=(owner.config.hidden_size, units),
        initializer=owner.new_initializer(),
    )
    bias = owner.add_weight(name="bias", shape=(units,), initializer="zeros", autocast=False)
    return kernel, bias


def _float32_affine(x, kernel, bias):
    return ops.cast(ops.matmul(x, kernel), "float32") + ops.convert_to_tensor(bias)
