"""Texts to vectors."""

from typing import Any

import keras
from keras import ops

from bert_tf import features
from bert_tf.checkpoints.variables import POOLER
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.library import presets
from bert_tf.library.text_model import TextModel
from bert_tf.library.tokenizer import Tokenizer
from bert_tf.modeling import Tensor
from bert_tf.modeling.pooling import pool

_POOLINGS = ("mean", "cls", "pooled")


@keras.saving.register_keras_serializable(package="bert_tf")
class TextEmbedder(TextModel):
    """One vector for each text.

    Args:
      pooling: "mean": the mean over the real tokens, special tokens included, as in
        sentence-transformers; "cls": the vector of [CLS]; "pooled": that vector after the pooler,
        which is what classifiers read (BERT section 4.1).
      normalize: whether vectors get length 1, so that dot products are cosines.

    Call arguments:
      inputs: texts, or the encoder's inputs.
    Returns:
      float32 [B H]; NumPy for plain strings, [H] for one.
    """

    def __init__(
        self,
        config: BertConfig | dict[str, Any],
        tokenizer: Tokenizer | dict[str, Any],
        pooling: str = "mean",
        normalize: bool = False,
        name: str = "text_embedder",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, tokenizer, name=name, **kwargs)
        if pooling not in _POOLINGS:
            raise InputError(f"pooling={pooling!r}; wanted one of: {', '.join(_POOLINGS)}.")
        self.pooling, self.normalize = pooling, normalize
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Tensor:
        batch = self.encoder_inputs(inputs)
        vectors = self._pooled(self.encoder(batch, training=training), batch)
        vectors = ops.cast(vectors, "float32")
        return ops.normalize(vectors, axis=-1) if self.normalize else vectors

    def _pooled(self, encoded: dict[str, Tensor], batch: Any) -> Tensor:
        """The vector of each row, [B H]."""
        if self.pooling == "pooled":
            return encoded["pooled_output"]
        return pool(encoded["sequence_output"], batch[features.MASK.name], self.pooling)

    @classmethod
    def of(
        cls, source: presets.Source, *, max_seq_length: int | None = None, **kwargs: Any
    ) -> "TextEmbedder":
        """Makes the model from an opened preset; see `from_preset`."""
        if kwargs.get("pooling") == "pooled" and POOLER[0] not in source.paths:
            raise InputError(
                f"{source.checkpoint.path} has no pooler, which pooling='pooled' reads. Give "
                "pooling='mean' or 'cls'."
            )
        return super().of(source, max_seq_length=max_seq_length, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return {**super().get_config(), "pooling": self.pooling, "normalize": self.normalize}
