"""Batches to the vectors that are wanted of the encoder, in one graph."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from keras import ops

from bert_tf import features
from bert_tf.modeling import Tensor, pooling
from bert_tf.modeling.encoder import Encoder
from bert_tf.training.frozen.layers import Selection


class VectorModel:
    """An encoder, and what is taken from it. Traced once, whatever the sizes of the batches.

    TensorFlow leaves out layers above the ones that are wanted.

    Args:
      selection: which vectors.
      output_dtype: of the vectors, such as "float16".
    """

    def __init__(self, encoder: Encoder, selection: Selection, output_dtype: str) -> None:
        self._encoder, self._selection, self._dtype = encoder, selection, output_dtype
        signature = {
            feature.name: tf.TensorSpec([None, None], feature.dtype)
            for feature in features.ENCODER_INPUTS
        }
        self._function = tf.function(self._vectors, input_signature=[signature], autograph=False)

    def __call__(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        """The vectors of a batch of the encoder's inputs.

        Returns:
          [B T N H], padding included, or [B N H] of a vector for each text. N is 1 for combined
          layers; those one after the other make H as many times wider.
        """
        return self._function(dict(batch)).numpy()

    def _vectors(self, batch: dict[str, Tensor]) -> Tensor:
        encoded = self._encoder(batch, training=False)
        if self._selection.pooling == "pooled":
            return ops.cast(encoded["pooled_output"][:, None], self._dtype)  # [B 1 H]
        outputs = [self._embeddings(batch), *encoded["encoder_outputs"]]
        wanted = [self._of_rows(outputs[layer.depth], batch) for layer in self._selection.layers]
        return ops.cast(_combined(wanted, self._selection.combination), self._dtype)

    def _embeddings(self, batch: dict[str, Tensor]) -> Tensor:
        """What the first layer reads, [B T H]."""
        word_ids, type_ids = batch[features.WORD_IDS.name], batch[features.TYPE_IDS.name]
        return self._encoder.embeddings(word_ids, type_ids)

    def _of_rows(self, hidden: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """The vectors of a layer in float32: [B T H], or [B H] if there is one for each text."""
        if self._selection.has_tokens:
            return ops.cast(hidden, "float32")
        return pooling.pool(hidden, batch[features.MASK.name], self._selection.pooling)


def _combined(layers: list[Tensor], combination: str) -> Tensor:
    """N times [... H] as [... N H], or combined as [... 1 H]."""
    if combination == "concat":
        return ops.concatenate(layers, axis=-1)[..., None, :]
    stacked = ops.stack(layers, axis=-2)
    if combination == "none":
        return stacked
    combine = {"mean": ops.mean, "sum": ops.sum}[combination]
    return combine(stacked, axis=-2, keepdims=True)
