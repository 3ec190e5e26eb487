"""The forward pass of the encoder, written so that TensorFlow makes few operations of it.

What is computed is that of `bert_tf.modeling.encoder`. The forms of GELU, LayerNorm and attention
scores are those that TensorFlow's graph optimizer (grappler's remapper) replaces by one operation
of oneDNN each. Where it does not, they are ordinary operations with the same result.
"""

import dataclasses
import math
from collections.abc import Callable

import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling import layer
from export.served.weights import Tensors


def _gelu_erf(x: tf.Tensor) -> tf.Tensor:
    return 0.5 * x * (1.0 + tf.math.erf(x * tf.cast(math.sqrt(0.5), x.dtype)))


_ACTIVATIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "gelu": lambda x: tf.nn.gelu(x, approximate=True),
    "gelu_erf": _gelu_erf,
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
    "linear": lambda x: x,
}


@dataclasses.dataclass(frozen=True)
class Rows:
    """A batch of rows; their tokens are laid end to end, [B*T ...].

    Attributes:
      size: (B, T), int32 scalars.
      added: float32 [B 1 1 S], what is added to scores: very negative at padding.
    """

    size: tuple[tf.Tensor, tf.Tensor]
    added: tf.Tensor

    @classmethod
    def of(cls, input_mask: tf.Tensor) -> "Rows":
        """The rows of a mask, int32 [B T]."""
        shape = tf.shape(input_mask)
        padding = 1.0 - tf.cast(input_mask, tf.float32)
        added = tf.expand_dims(tf.expand_dims(padding * layer.MASKED, 1), 1)
        return cls((shape[0], shape[1]), added)

    @property
    def first_tokens(self) -> tf.Tensor:
        """int32 [B], places of the first tokens in [B*T]."""
        batch_size, num_tokens = self.size
        return tf.range(batch_size) * num_tokens


class Encode:
    """The encoder's layers on the weights of one graph.

    Args:
      config: of the encoder.
      tensors: the weights by path.
      rows: of the batch.
    """

    def __init__(self, config: BertConfig, tensors: Tensors, rows: Rows) -> None:
        self.rows = rows
        self._config, self._tensors = config, tensors
        self._activation = _ACTIVATIONS[config.hidden_act]

    def embed(self, word_ids: tf.Tensor, type_ids: tf.Tensor) -> tf.Tensor:
        """The embeddings, float32 [B*T H], of ids int32 [B T]."""
        path = "encoder/embeddings"
        positions = self._tensors.rows(f"{path}/position", tf.range(self.rows.size[1]))  # [T H]
        words = self._tensors.rows(f"{path}/word", word_ids)  # [B T H]
        summed = words + positions + self._tensors.rows(f"{path}/type", type_ids)
        flat = tf.reshape(summed, [-1, self._config.hidden_size])
        return self.normalize(flat, f"{path}/layer_norm")

    def block(self, index: int, hidden: tf.Tensor, queries: tf.Tensor | None = None) -> tf.Tensor:
        """A layer on float32 [B*T H].

        Args:
          queries: int32 [B Q] or None: the rows of `hidden` whose output is wanted, if not all.

        Returns:
          float32 [B*T H], or [B*Q H] with `queries`.
        """
        path = f"encoder/layer_{index}"
        context, hidden = self._attend(f"{path}/attention", hidden, queries)
        attended = self._affine(context, f"{path}/attention/output")
        hidden = self.normalize(hidden + attended, f"{path}/attention_layer_norm")
        inner = self.activate(hidden, f"{path}/feed_forward/intermediate")
        output = self._affine(inner, f"{path}/feed_forward/output")
        return self.normalize(hidden + output, f"{path}/output_layer_norm")

    def pool(self, first_tokens: tf.Tensor) -> tf.Tensor:
        """The pooler's output, float32 [B H], of the first tokens' vectors, [B H]."""
        return tf.tanh(self._affine(first_tokens, "encoder/pooler"))

    def activate(self, hidden: tf.Tensor, path: str) -> tf.Tensor:
        """An affine map and the activation of the config."""
        return self._activation(self._tensors.affine(hidden, path))

    def normalize(self, x: tf.Tensor, path: str) -> tf.Tensor:
        """LayerNorm of float32 [N H]."""
        centred = x - tf.reduce_mean(x, axis=1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axis=1, keepdims=True)
        scale = tf.math.rsqrt(variance + self._config.layer_norm_eps)
        gamma, beta = (self._tensors.vector(f"{path}/{name}") for name in ("gamma", "beta"))
        return centred * (scale * gamma) + beta

    def _attend(
        self, path: str, hidden: tf.Tensor, queries: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The averaged values [B*T H], and those of `hidden` that they are for."""
        num_tokens = self.rows.size[1]
        if queries is None:
            projected = self._tensors.affine(hidden, f"{path}/qkv")
            query, key, value = self._heads(projected, num_tokens, 3)  # [B A T D] each
        else:
            size = self._config.hidden_size
            asking = tf.gather(hidden, tf.reshape(queries, [-1]))  # [B*Q H]
            projected = self._tensors.affine(asking, f"{path}/qkv", slice(size))
            (query,) = self._heads(projected, tf.shape(queries)[1], 1)  # [B A Q D]
            projected = self._tensors.affine(hidden, f"{path}/qkv", slice(size, None))
            key, value = self._heads(projected, num_tokens, 2)
            hidden = asking
        scale = 1.0 / math.sqrt(self._config.size_per_head)
        scores = tf.matmul(query, key, transpose_b=True)  # [B A T S]
        scores = tf.cast(scores, tf.float32) * scale + self.rows.added
        context = tf.matmul(tf.cast(tf.nn.softmax(scores), value.dtype), value)  # [B A T D]
        context = tf.transpose(context, [0, 2, 1, 3])  # [B T A D]
        return tf.reshape(context, [-1, self._config.hidden_size]), hidden

    def _heads(self, projected: tf.Tensor, num_tokens: tf.Tensor, count: int) -> list[tf.Tensor]:
        """[B*T count*H] as `count` times [B A T D]."""
        config = self._config
        sizes = [-1, num_tokens, count, config.num_attention_heads, config.size_per_head]
        parts = tf.transpose(tf.reshape(projected, sizes), [2, 0, 3, 1, 4])
        return tf.unstack(parts, count)

    def _affine(self, x: tf.Tensor, path: str) -> tf.Tensor:
        return tf.cast(self._tensors.affine(x, path), tf.float32)
