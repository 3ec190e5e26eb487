"""What the models have in common: strings in, training and prediction of lists, files."""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from bert_tf import checkpoints, features
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples.rows import Ints, Rows
from bert_tf.library import presets, texts
from bert_tf.library.encoder import Encoder
from bert_tf.library.tokenizer import Tokenizer
from bert_tf.records.read import stream

_BATCH_SIZE = 32  # Keras' own default
_TARGETS, _WEIGHTS = "labels", "weights"


class TextModel(keras.Model):
    """A tokenizer, an encoder and what a subclass adds.

    `fit`, `evaluate` and `predict` take texts as `texts.Texts`, and everything that Keras takes:
    dicts of ids, string tensors, data sets. Called on plain strings, a model answers them; called
    on tensors, it is a Keras model.

    Args:
      config: of the encoder; a dict of its fields will do.
      tokenizer: a dict of its configuration will do.
    """

    def __init__(
        self,
        config: BertConfig | dict[str, Any],
        tokenizer: Tokenizer | dict[str, Any],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.config = BertConfig(**config) if isinstance(config, dict) else config
        if isinstance(tokenizer, dict):
            tokenizer = Tokenizer(**tokenizer)
        self.tokenizer: Tokenizer = tokenizer
        checkpoints.check_vocabulary(self.config, tokenizer.vocabulary)
        if tokenizer.max_seq_length > self.config.max_position_embeddings:
            raise InputError(
                f"max_seq_length={tokenizer.max_seq_length} is beyond the model's "
                f"{self.config.max_position_embeddings} positions (max_position_embeddings). "
                f"Give max_seq_length={self.config.max_position_embeddings} or less."
            )
        self.encoder = Encoder(self.config, dtype=self.dtype_policy)

    @classmethod
    def from_preset(
        cls, preset: str | os.PathLike[str], *, max_seq_length: int | None = None, **kwargs: Any
    ) -> Self:
        """Makes the model with the weights of a preset.

        Args:
          preset: a name such as "bert-base-uncased"; a directory or checkpoint of any format; or
            the --output_dir of a training.
          max_seq_length: tokens of a text, special tokens included; None: as in the training here,
            or else as many as the model has positions.
          **kwargs: other arguments of the class.

        Raises:
          InputError: there is no such model, or it lacks what this class needs.
        """
        source = presets.open_preset(preset)
        return cls.of(source, max_seq_length=max_seq_length, **kwargs)

    @classmethod
    def of(
        cls, source: presets.Source, *, max_seq_length: int | None = None, **kwargs: Any
    ) -> Self:
        """Makes the model from an opened preset; see `from_preset`."""
        tokenizer = Tokenizer.of(source, max_seq_length=max_seq_length)
        model = cls(source.config, tokenizer, **kwargs)
        presets.fill(model, source, heads=cls._heads_to_load(source))
        return model

    @classmethod
    def _heads_to_load(cls, source: presets.Source) -> Sequence[str]:
        """Heads that the preset must hold; without any, heads keep their initial weights."""
        return ()

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Answers plain strings; otherwise what `call` gives."""
        if texts.are_plain(inputs):
            return self.answer(inputs, *args, **kwargs)
        return super().__call__(inputs, *args, **kwargs)

    def answer(self, inputs: texts.Texts) -> Any:
        """What calling the model on plain strings gives: see the class.

        Args:
          inputs: a string, a list of strings, or a tuple (first texts, second texts).
        """
        return self.predict(inputs, verbose=0)

    def encoder_inputs(self, inputs: Any) -> Mapping[str, Any]:
        """The encoder's inputs, dict of int32 [B T], for string tensors or for such a dict."""
        if not isinstance(inputs, Mapping):
            return self.tokenizer(inputs)
        # On several replicas Keras tries a model on the mean of their ids, which are floats then.
        return {name: keras.ops.cast(ids, "int32") for name, ids in inputs.items()}

    def targets(self, y: Any) -> Any:
        """What the loss is computed from, for labels as users give them."""
        return y

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        *,
        batch_size: int | None = None,
        validation_data: Any = None,
        validation_split: float = 0.0,
        sample_weight: Any = None,
        **kwargs: Any,
    ) -> keras.callbacks.History:
        """`keras.Model.fit`, which also takes texts and labels in lists; see the class."""
        y = self._checked_targets(x, y)
        if isinstance(validation_data, tuple) and len(validation_data) > 1:
            validation_data = self._validation_data(validation_data, batch_size)
        if not texts.are_plain(x):
            if sample_weight is not None:
                kwargs["sample_weight"] = sample_weight
            return super().fit(
                x,
                y,
                batch_size=batch_size,
                validation_data=validation_data,
                validation_split=validation_split,
                **kwargs,
            )
        rows = self._rows(x, y, sample_weight)
        if validation_split and validation_data is None:
            rows, held_out = _split(rows, validation_split)
            validation_data = _data_set(held_out, batch_size)
        self._build_optimizer()
        data_set = _data_set(rows, batch_size, shuffle=kwargs.pop("shuffle", True))
        return super().fit(data_set, validation_data=validation_data, shuffle=False, **kwargs)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        *,
        batch_size: int | None = None,
        sample_weight: Any = None,
        **kwargs: Any,
    ) -> Any:
        """`keras.Model.evaluate`, which also takes texts and labels in lists."""
        y = self._checked_targets(x, y)
        if texts.are_plain(x):
            data_set = _data_set(self._rows(x, y, sample_weight), batch_size)
            return super().evaluate(data_set, **kwargs)
        if sample_weight is not None:
            kwargs["sample_weight"] = sample_weight
        return super().evaluate(x, y, batch_size=batch_size, **kwargs)

    def predict(self, x: Any, *, batch_size: int | None = None, **kwargs: Any) -> Any:
        """`keras.Model.predict`, which also takes texts; one string gives one result.

        Texts are computed in batches of similar length, so little padding is computed.
        """
        if not texts.are_plain(x):
            return super().predict(x, batch_size=batch_size, **kwargs)
        given = texts.read(x)
        rows = self.tokenizer.pack(given)
        by_length = np.argsort(-rows.lengths, kind="stable")
        outputs = super().predict(_data_set(_selected(rows, by_length), batch_size), **kwargs)
        order = np.argsort(by_length)
        outputs = keras.tree.map_structure(lambda array: array[order], outputs)
        return keras.tree.map_structure(lambda x: x[0], outputs) if given.is_one else outputs

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return {
            **keras.layers.Layer.get_config(self),
            "config": dataclasses.asdict(self.config),
            "tokenizer": self.tokenizer.get_config(),
        }

    def _checked_targets(self, x: Any, y: Any) -> Any:
        if y is None:
            if texts.are_plain(x):
                raise ValueError("There are texts and no labels: give y, one label for each text.")
            return None
        return self.targets(y)

    def _validation_data(self, data: tuple, batch_size: int | None) -> Any:
        x, y, *weights = data
        y = self._checked_targets(x, y)
        if texts.are_plain(x):
            return _data_set(self._rows(x, y, *weights), batch_size)
        return x, y, *weights

    def _rows(self, x: texts.Texts, y: Any, sample_weight: Any = None) -> Rows:
        """Packed texts with their targets and, if there are any, their weights."""
        given = texts.read(x)
        labels = {_TARGETS: np.asarray(y)}
        if sample_weight is not None:
            labels[_WEIGHTS] = np.asarray(sample_weight, np.float32)
        for what, values in labels.items():
            if len(values) != len(given):
                raise ValueError(f"There are {len(given)} texts and {len(values)} {what}.")
        return dataclasses.replace(self.tokenizer.pack(given), labels=labels)

    def _build_optimizer(self) -> None:
        """Makes the optimizer's variables before the update is traced, which is then done once."""
        if self.compiled and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)


def _data_set(rows: Rows, batch_size: int | None, shuffle: bool = False) -> tf.data.Dataset:
    """Batches of rows, each padded to its own longest row, in a new order every time if asked."""
    size = batch_size or _BATCH_SIZE

    def batches() -> Iterator[tuple]:
        # The generator that `keras.utils.set_random_seed` seeds.
        order = np.random.permutation(len(rows)) if shuffle else np.arange(len(rows))
        for start in range(0, len(rows), size):
            batch = rows.batch(order[start : start + size])
            rest = [batch.pop(name) for name in (_TARGETS, _WEIGHTS) if name in batch]
            yield batch, *rest

    inputs = {f.name: tf.TensorSpec([None, None], f.dtype) for f in features.ENCODER_INPUTS}
    rest = [tf.TensorSpec([None], np.asarray(x).dtype) for x in rows.labels.values()]
    data_set = tf.data.Dataset.from_generator(batches, output_signature=(inputs, *rest))
    num_batches = -(-len(rows) // size)
    data_set = data_set.apply(tf.data.experimental.assert_cardinality(num_batches))
    options = stream.untuned()
    by_data = tf.data.experimental.AutoShardPolicy.DATA  # there are no files to share out
    options.experimental_distribute.auto_shard_policy = by_data
    return data_set.prefetch(stream.BATCHES_AHEAD).with_options(options)


def _split(rows: Rows, share: float) -> tuple[Rows, Rows]:
    """The first rows and the last `share` of them, as Keras splits off validation data."""
    cut = int(len(rows) * (1.0 - share))
    if not 0 < cut < len(rows):
        raise ValueError(
            f"validation_split={share} of {len(rows)} texts leaves no text to train on or none "
            "to validate on."
        )
    return _selected(rows, np.arange(cut)), _selected(rows, np.arange(cut, len(rows)))


def _selected(rows: Rows, indices: Ints) -> Rows:
    """The rows of those numbers, in that order."""
    word_ids = [rows.word_ids[index] for index in indices]
    type_ids = [rows.type_ids[index] for index in indices]
    labels = {name: np.asarray(values)[indices] for name, values in rows.labels.items()}
    return Rows(word_ids, type_ids, labels)
