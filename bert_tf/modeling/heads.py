"""From the encoder's outputs to logits: masked LM, classification, spans."""

from typing import Any

import keras
from keras import ops

from bert_tf import shapes
from bert_tf.config import BertConfig
from bert_tf.modeling import Tensor, fused, layer


@layer.serializable
class MaskedLmHead(layer.ConfigLayer):
    """Logits over the vocabulary at the given positions (BERT section 3.1, task 1).

    The transform (dense, activation, LayerNorm) and the output bias follow the released code;
    the output weights are the word embeddings.

    Call arguments:
      sequence_output:  float [B P H], of the positions to predict.
      word_embeddings:  variable [V H]
    Returns:
      float32 [B P V]
    """

    def __init__(self, config: BertConfig, name: str = "masked_lm", **kwargs: Any) -> None:
        super().__init__(config, name=name, **kwargs)
        self.transform = self.new_dense(
            self.config.hidden_size, "transform", self.hidden_activation
        )
        self.layer_norm = self.new_layer_norm()
        self.build()

    def build(self, input_shape: None = None) -> None:
        self.transform.build((None, self.config.hidden_size))
        self.layer_norm.build((None, self.config.hidden_size))
        self.output_bias = self.add_weight(
            name="output_bias", shape=(self.config.vocab_size,), initializer="zeros", autocast=False
        )

    def call(self, sequence_output: Tensor, word_embeddings: Tensor) -> Tensor:
        shapes.check("sequence_output", sequence_output, "B P H", H=self.config.hidden_size)
        num_predictions = ops.shape(sequence_output)[1]
        flat = ops.reshape(sequence_output, (-1, self.config.hidden_size))  # [B*P H]
        hidden = self.layer_norm(self.transform(flat))  # [B*P H]
        table = ops.cast(word_embeddings, self.compute_dtype)
        logits = fused.matmul_transposed(hidden, table)  # [B*P V]
        logits = ops.cast(logits, "float32") + self.output_bias
        return ops.reshape(logits, (-1, num_predictions, self.config.vocab_size))  # [B P V]


@layer.serializable
class ClassificationHead(layer.ConfigLayer):
    """One affine map of the pooled first token (BERT section 4.1), with dropout before it.

    With one class it is the regression head of STS-B.

    Args:
      num_classes: C.
      dropout_rate: the released code has none for next sentence prediction.

    Call arguments:
      pooled_output: float [B H]
    Returns:
      float32 [B C]
    """

    def __init__(
        self,
        config: BertConfig,
        num_classes: int,
        dropout_rate: float,
        name: str = "classifier",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, name=name, **kwargs)
        self.num_classes = num_classes
        self.dropout_rate = dropout_rate
        self.dropout = self.new_dropout(dropout_rate, salt=3 * self.config.num_hidden_layers + 1)
        self.build()

    def build(self, input_shape: None = None) -> None:
        self.kernel, self.bias = _affine(self, self.num_classes)

    def call(self, pooled_output: Tensor, training: bool = False) -> Tensor:
        shapes.check("pooled_output", pooled_output, "B H", H=self.config.hidden_size)
        pooled_output = self.dropout(pooled_output, training=training)
        return _float32_affine(pooled_output, self.kernel, self.bias)  # [B C]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "dropout_rate": self.dropout_rate,
        }


@layer.serializable
class SpanHead(layer.ConfigLayer):
    """Start and end logits of every token (BERT section 4.2). Padding is never chosen.

    Call arguments:
      sequence_output: float [B T H]
      input_mask:      int [B T]
    Returns:
      (start_logits, end_logits), float32 [B T] each.
    """

    def __init__(self, config: BertConfig, name: str = "span", **kwargs: Any) -> None:
        super().__init__(config, name=name, **kwargs)
        self.build()

    def build(self, input_shape: None = None) -> None:
        self.kernel, self.bias = _affine(self, 2)

    def call(self, sequence_output: Tensor, input_mask: Tensor) -> tuple[Tensor, Tensor]:
        shapes.check("sequence_output", sequence_output, "B T H", H=self.config.hidden_size)
        shapes.check("input_mask", input_mask, "B T")
        num_tokens = ops.shape(sequence_output)[1]
        flat = ops.reshape(sequence_output, (-1, self.config.hidden_size))  # [B*T H]
        logits = ops.reshape(_float32_affine(flat, self.kernel, self.bias), (-1, num_tokens, 2))
        real = ops.cast(input_mask, "bool")
        return tuple(ops.where(real, logits[:, :, i], layer.MASKED) for i in (0, 1))  # [B T] each


def _affine(owner: layer.ConfigLayer, units: int) -> tuple[keras.Variable, keras.Variable]:
    """Adds a kernel [H C] and a bias [C] to the layer `owner`; C is `units`."""
    kernel = owner.add_weight(
        name="kernel",
        shape=(owner.config.hidden_size, units),
        initializer=owner.new_initializer(),
    )
    bias = owner.add_weight(name="bias", shape=(units,), initializer="zeros", autocast=False)
    return kernel, bias


def _float32_affine(x: Tensor, kernel: keras.Variable, bias: keras.Variable) -> Tensor:
    return ops.cast(ops.matmul(x, kernel), "float32") + ops.convert_to_tensor(bias)
