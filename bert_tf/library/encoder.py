"""The encoder as a layer of any Keras model."""

import os
from collections.abc import Mapping
from typing import Any

import keras

from bert_tf.library import dropout_seeds, presets
from bert_tf.modeling import Tensor, encoder


@keras.saving.register_keras_serializable(package="bert_tf")
class Encoder(encoder.Encoder):
    """A BERT encoder, with random weights or, by `from_preset`, with those of a model.

    Args:
      config: a `BertConfig`.

    Call arguments:
      batch: dict with `input_word_ids`, `input_mask`, `input_type_ids`, int [B T]: what a
        `Tokenizer` gives, or inputs of a functional model.
    Returns:
      dict: `sequence_output` float [B T H]; `pooled_output` float [B H]; `encoder_outputs`, the
      [B T H] of every block.
    """

    def build(self, input_shape: None = None) -> None:
        self.seed_generator = keras.random.SeedGenerator()
        super().build()

    def call(
        self,
        batch: Mapping[str, Tensor],
        positions: Tensor | None = None,
        training: bool = False,
    ) -> dict[str, Any]:
        if not training:
            return super().call(batch, positions)
        with dropout_seeds.drawn_from(self.seed_generator):
            return super().call(batch, positions, training=True)

    @classmethod
    def from_preset(cls, preset: str | os.PathLike[str], **kwargs: Any) -> "Encoder":
        """Makes the encoder of a model, with its weights.

        Args:
          preset: a name such as "bert-base-uncased"; a directory or checkpoint of any format; or
            the --output_dir of a training.
          **kwargs: other arguments of a Keras layer, such as `name`.

        Raises:
          InputError: there is no such model, or it is damaged.
        """
        source = presets.open_preset(preset)
        new = cls(source.config, **kwargs)
        presets.fill(new, source, prefix=f"{new.name}/")
        return new
