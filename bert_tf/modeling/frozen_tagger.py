"""Tags from the layers of an encoder that is not trained (BERT section 5.3, table 7)."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from bert_tf import features, shapes
from bert_tf.config import BertConfig
from bert_tf.frozen_layers import FROZEN_LAYERS
from bert_tf.modeling import Tensor, layer
from bert_tf.modeling.encoder import Encoder

_NUM_LAYERS = 2  # of the BiLSTM, in the paper


@layer.serializable
class LayerMix(keras.layers.Layer):
    """A weighted sum of layers, whose weights are learned (Peters et al. 2018, equation 1).

    The weights are a softmax, all equal at first; `scale` multiplies the sum.

    Call arguments:
      vectors: float [B T L H], of L layers.
    Returns:
      float [B T H]
    """

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        self.mix = self.add_weight(name="mix", shape=(input_shape[-2],), initializer="zeros")
        self.scale = self.add_weight(name="scale", shape=(1,), initializer="ones")

    def call(self, vectors: Tensor) -> Tensor:
        shares = ops.softmax(self.mix) * self.scale  # [L]
        return ops.sum(vectors * shares[:, None], axis=-2)


@layer.serializable
class BiLstmTagger(layer.ConfigLayer):
    """A two-layer BiLSTM and a classifier on vectors of tokens (BERT section 5.3).

    Args:
      num_classes: C.
      num_layers: L, layers that each token has vectors of.
      is_weighted: whether these are summed with learned weights; otherwise they are read one after
        the other.
      units: of the LSTM in each direction.

    Call arguments:
      vectors: float [B T L H]
      input_mask: int [B T]; the LSTMs pass over padding.
    Returns:
      float32 [B T C]
    """

    def __init__(
        self,
        config: BertConfig,
        num_classes: int,
        num_layers: int,
        is_weighted: bool,
        units: int,
        name: str = "tagger",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, name=name, **kwargs)
        self.num_classes, self.num_layers = num_classes, num_layers
        self.is_weighted, self.units = is_weighted, units
        if is_weighted:
            self.layer_mix = LayerMix(name="layer_mix", dtype=self.dtype_policy)
        self.lstm_0, self.lstm_1 = (self._new_lstm(index) for index in range(_NUM_LAYERS))
        # Salts that follow those of the encoder.
        salts = (3 * self.config.num_hidden_layers + number for number in (1, 2, 3))
        rate = self.config.hidden_dropout_prob
        self.input_dropout, self.middle_dropout, self.output_dropout = (
            self.new_dropout(rate, salt, name)
            for salt, name in zip(
                salts, ("input_dropout", "middle_dropout", "dropout"), strict=True
            )
        )
        self.output_dense = self.new_dense(num_classes, "output")
        self.build()

    def _new_lstm(self, index: int) -> keras.layers.Bidirectional:
        lstm = keras.layers.LSTM(
            self.units, return_sequences=True, name="lstm", dtype=self.dtype_policy
        )
        return keras.layers.Bidirectional(lstm, name=f"lstm_{index}", dtype=self.dtype_policy)

    def build(self, input_shape: None = None) -> None:
        size, width = self.config.hidden_size, 2 * self.units
        if self.is_weighted:
            self.layer_mix.build((None, None, self.num_layers, size))
        self.lstm_0.build((None, None, size if self.is_weighted else self.num_layers * size))
        self.lstm_1.build((None, None, width))
        self.output_dense.build((None, width))

    def call(self, vectors: Tensor, input_mask: Tensor, training: bool = False) -> Tensor:
        size = self.config.hidden_size
        shapes.check("vectors", vectors, "B T L H", L=self.num_layers, H=size)
        batch_size, num_tokens = ops.shape(vectors)[:2]
        vectors = ops.cast(vectors, self.compute_dtype)
        if self.is_weighted:
            vectors = ops.reshape(vectors, (batch_size, num_tokens, self.num_layers, size))
            hidden = self.layer_mix(vectors)  # [B T H]
        else:
            hidden = ops.reshape(vectors, (batch_size, num_tokens, self.num_layers * size))
        is_real = ops.cast(input_mask, "bool")
        hidden = self.input_dropout(hidden, training=training)
        hidden = self.lstm_0(hidden, mask=is_real, training=training)
        hidden = self.middle_dropout(hidden, training=training)
        hidden = self.lstm_1(hidden, mask=is_real, training=training)
        hidden = self.output_dropout(hidden, training=training)
        return ops.cast(self.output_dense(hidden), "float32")  # [B T C]

    def get_config(self) -> dict[str, Any]:
        names = ("num_classes", "num_layers", "is_weighted", "units")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


@layer.serializable
class FrozenTaggerModel(layer.ConfigLayer):
    """One label for each token, from an encoder that is not trained (BERT section 5.3, table 7).

    The encoder has no dropout, so its vectors can be computed once and kept: with `layer_vectors`
    in the batch it does not run.

    Args:
      num_classes: C.
      frozen_layers: key of `FROZEN_LAYERS`.
      lstm_units: of the BiLSTM in each direction.

    Call arguments:
      batch: dict with the encoder's inputs; `layer_vectors` float [B T L H] or not.
    Returns:
      dict: `logits` float32 [B T C], at padding too.
    """

    def __init__(
        self,
        config: BertConfig,
        num_classes: int,
        frozen_layers: str,
        lstm_units: int,
        name: str = "frozen_tagging",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, name=name, **kwargs)
        self.num_classes, self.frozen_layers = num_classes, frozen_layers
        self.lstm_units = lstm_units
        layers = FROZEN_LAYERS[frozen_layers]
        self._depths = layers.depths(self.config.num_hidden_layers)
        self.encoder = self.new(Encoder)
        self.encoder.trainable = False
        self.tagger = self.new(
            BiLstmTagger,
            num_classes,
            num_layers=len(self._depths),
            is_weighted=layers.is_weighted,
            units=lstm_units,
        )
        self.built = True

    @property
    def variables(self) -> list[keras.Variable]:
        """Without the seeds that Keras' LSTMs keep for a dropout of their own; here it is off."""
        return [v for v in super().variables if v.name != "seed_generator_state"]

    def call(self, batch: Mapping[str, Tensor], training: bool = False) -> dict[str, Tensor]:
        vectors = batch.get(features.LAYER_VECTORS.name)
        if vectors is None:
            vectors = self._layer_vectors(batch)
        logits = self.tagger(vectors, batch[features.MASK.name], training=training)
        return {"logits": logits}

    def _layer_vectors(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The vectors that the model reads, [B T L H]."""
        word_ids, type_ids = batch[features.WORD_IDS.name], batch[features.TYPE_IDS.name]
        outputs = self.encoder(batch, training=False)["encoder_outputs"]
        outputs = [self.encoder.embeddings(word_ids, type_ids), *outputs]
        return ops.stack([outputs[depth] for depth in self._depths], axis=2)

    def get_config(self) -> dict[str, Any]:
        names = ("num_classes", "frozen_layers", "lstm_units")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
