"""Texts to labels or to numbers."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import keras
import numpy as np
from keras import ops

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.library import default_training, dropout_seeds, presets, texts
from bert_tf.library.text_model import TextModel
from bert_tf.library.tokenizer import Tokenizer
from bert_tf.modeling import Tensor, heads

Label: TypeAlias = str | int


class Classification(NamedTuple):
    """The answer for one text.

    Attributes:
      label: the most probable label.
      probability: of `label`.
      probabilities: of every label, in the order of the model's labels.
    """

    label: Label
    probability: float
    probabilities: Mapping[Label, float]


class _ScoringModel(TextModel):
    """An encoder and a `ClassificationHead`, with the defaults of the scripts in `compile`."""

    _LOSS: keras.losses.Loss
    _METRICS: Sequence[Any]

    def _add_head(self, num_outputs: int) -> None:
        self.classifier = heads.ClassificationHead(
            self.config,
            num_outputs,
            dropout_rate=self.config.hidden_dropout_prob,
            dtype=self.dtype_policy,
        )
        self.built = True

    def compile(
        self,
        optimizer: Any = None,
        loss: Any = None,
        metrics: Any = None,
        *,
        learning_rate: float = default_training.LEARNING_RATE,
        **kwargs: Any,
    ) -> None:
        """`keras.Model.compile`, where everything has a default.

        Args:
          optimizer: None: AdamW as in the scripts, and in `fit` their warm-up and linear decay.
          loss: None: that of the scripts, from logits.
          metrics: None: accuracy, or for numbers the mean absolute error.
          learning_rate: the peak, for the default optimizer.
          **kwargs: other arguments of `keras.Model.compile`.
        """
        self._learning_rate = learning_rate if optimizer is None else None
        super().compile(
            optimizer=optimizer or default_training.new_optimizer(self, learning_rate),
            loss=loss or self._default_loss(),
            metrics=self._default_metrics() if metrics is None else metrics,
            **kwargs,
        )

    def _default_loss(self) -> keras.losses.Loss:
        raise NotImplementedError

    def _default_metrics(self) -> list[Any]:
        raise NotImplementedError

    def fit(self, x: Any = None, y: Any = None, **kwargs: Any) -> keras.callbacks.History:
        """`keras.Model.fit`, which also takes texts and labels in lists."""
        if self.compiled and self._learning_rate is not None:
            schedule = default_training.WarmupAndDecay(self._learning_rate)
            callbacks = kwargs.pop("callbacks", None) or []
            if not isinstance(callbacks, list | tuple):
                callbacks = [callbacks]
            kwargs["callbacks"] = [schedule, *callbacks]
        return super().fit(x, y, **kwargs)

    def get_compile_config(self) -> dict[str, Any]:
        """What `compile_from_config` takes, for a .keras file."""
        config = super().get_compile_config()
        if config and self._learning_rate is not None:
            config |= {"optimizer": None, "learning_rate": self._learning_rate}
        return config

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a model from a .keras file as it was compiled before."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def call(self, inputs: Any, training: bool = False) -> Tensor:
        pooled = self.encoder(self.encoder_inputs(inputs), training=training)["pooled_output"]
        if not training:
            return self.classifier(pooled)
        with dropout_seeds.drawn_from(self.encoder.seed_generator):
            return self.classifier(pooled, training=True)


@keras.saving.register_keras_serializable(package="bert_tf")
class TextClassifier(_ScoringModel):
    """One of several labels for each text or pair of texts (BERT section 4.1).

    On plain strings it answers with `Classification`s, one for one string. `predict` gives
    probabilities, `float32 [B C]`; on tensors, the model gives logits.

    Args:
      labels: strings or integers, in the order of the outputs.

    Call arguments:
      inputs: texts, a tuple (first texts, second texts), or the encoder's inputs.
    Returns:
      float32 [B C], logits.
    """

    def __init__(
        self,
        config: BertConfig | dict[str, Any],
        tokenizer: Tokenizer | dict[str, Any],
        labels: Sequence[Label],
        name: str = "text_classifier",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, tokenizer, name=name, **kwargs)
        self.labels = _checked_labels(labels)
        self._add_head(len(self.labels))

    @classmethod
    def from_preset(
        cls,
        preset: str | os.PathLike[str],
        labels: Sequence[Label] | None = None,
        *,
        max_seq_length: int | None = None,
        **kwargs: Any,
    ) -> "TextClassifier":
        """Makes a classifier with the weights of a preset.

        Args:
          preset: see `TextModel.from_preset`.
          labels: of a new classifier, to be trained. None: the preset is a trained classifier, and
            keeps its labels and its head.
          max_seq_length: see `TextModel.from_preset`.
          **kwargs: other arguments of the class.

        Raises:
          InputError: there is no such model, or without `labels` it is not a classifier.
        """
        source = presets.open_preset(preset)
        return cls.of(source, max_seq_length=max_seq_length, labels=labels, **kwargs)

    @classmethod
    def of(
        cls, source: presets.Source, *, max_seq_length: int | None = None, **kwargs: Any
    ) -> "TextClassifier":
        """Makes the model from an opened preset; see `from_preset`."""
        labels = kwargs.pop("labels", None)
        is_trained = labels is None
        tokenizer = Tokenizer.of(source, max_seq_length=max_seq_length)
        if is_trained and source.kind != "classify":
            raise InputError(
                f"{source.checkpoint.path} is not a trained classifier: it has no labels. Give "
                "labels=[...], and train it."
            )
        if is_trained:
            _check_row(source)
        labels = source.labels if is_trained else labels
        model = cls(source.config, tokenizer, labels, **kwargs)
        presets.fill(model, source, heads=("classifier",) if is_trained else ())
        return model

    def classify(self, inputs: texts.Texts, batch_size: int | None = None) -> Any:
        """The label of each text, with probabilities.

        Args:
          inputs: a string, a list of strings, or a tuple (first texts, second texts).

        Returns:
          a list of `Classification`, or one for one string or one pair.
        """
        probabilities = self.predict(inputs, batch_size=batch_size, verbose=0)
        if probabilities.ndim == 1:
            return classification(self.labels, probabilities)
        return [classification(self.labels, row) for row in probabilities]

    def answer(self, inputs: texts.Texts) -> Any:
        """`classify`, which calling the model on plain strings means."""
        return self.classify(inputs)

    def predict_step(self, data: Any) -> Tensor:
        """The probabilities of a batch, float32 [B C]."""
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        return ops.softmax(self(x, training=False))

    def targets(self, y: Any) -> np.ndarray:
        """The positions of labels in `labels`, int32 [N].

        Args:
          y: labels, or where the labels are strings also their positions.

        Raises:
          ValueError: one is not among the labels.
        """
        return np.array(_positions(np.asarray(y).tolist(), self.labels), np.int32)

    def _default_loss(self) -> keras.losses.Loss:
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def _default_metrics(self) -> list[Any]:
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return {**super().get_config(), "labels": list(self.labels)}


@keras.saving.register_keras_serializable(package="bert_tf")
class TextRegressor(_ScoringModel):
    """One number for each text or pair of texts, as in STS-B.

    On plain strings and in `predict` it gives the numbers, float32 [B], or one for one string.

    Call arguments:
      inputs: texts, a tuple (first texts, second texts), or the encoder's inputs.
    Returns:
      float32 [B 1].
    """

    def __init__(
        self,
        config: BertConfig | dict[str, Any],
        tokenizer: Tokenizer | dict[str, Any],
        name: str = "text_regressor",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, tokenizer, name=name, **kwargs)
        self._add_head(1)

    @classmethod
    def _heads_to_load(cls, source: presets.Source) -> Sequence[str]:
        if source.kind != "regress":
            return ()
        _check_row(source)
        return ("classifier",)

    def predict_step(self, data: Any) -> Tensor:
        """The numbers of a batch, float32 [B]."""
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        return self(x, training=False)[:, 0]

    def targets(self, y: Any) -> np.ndarray:
        """Numbers as float32 [N].

        Raises:
          ValueError: one is not a number.
        """
        values = np.asarray(y)
        if values.dtype.kind not in "iufb":
            raise ValueError(f"Numbers were wanted as targets, not {values.flat[0].item()!r}.")
        return values.astype(np.float32).reshape(-1)

    def _default_loss(self) -> keras.losses.Loss:
        return keras.losses.MeanSquaredError()

    def _default_metrics(self) -> list[Any]:
        return [keras.metrics.MeanAbsoluteError(name="mae")]


def _check_row(source: presets.Source) -> None:
    """Refuses a model that reads a long text in windows: one row would cut it off."""
    if source.metadata and "long_texts" in source.metadata.settings:
        raise InputError(
            f"{source.checkpoint.path} reads long texts in windows, which this class does not. "
            "bert_tf.load gives an object that answers as it was trained."
        )


def classification(labels: Sequence[Label], probabilities: np.ndarray) -> Classification:
    """The answer that probabilities [C] mean."""
    best = int(np.argmax(probabilities))
    by_label = dict(zip(labels, probabilities.tolist(), strict=True))
    return Classification(labels[best], by_label[labels[best]], by_label)


def _checked_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    if isinstance(labels, str):
        raise TypeError(f"labels={labels!r} is one string; a list of labels was wanted.")
    values = tuple(np.asarray(list(labels), object).tolist())
    if len(values) < 2 or len(set(values)) < len(values):
        raise InputError(
            f"labels={list(values)}: at least two labels were wanted, each of them once. For "
            "numbers instead of labels there is TextRegressor."
        )
    if not (all(type(v) is str for v in values) or all(type(v) is int for v in values)):
        raise TypeError(f"labels={list(values)} must be all strings or all integers.")
    return values


def _positions(values: list[Any], labels: tuple[Label, ...]) -> list[int]:
    positions = {label: index for index, label in enumerate(labels)}
    if isinstance(labels[0], str) and all(type(value) is int for value in values):
        positions = {index: index for index in range(len(labels))}
    found = [positions.get(value if type(value) is not bool else int(value)) for value in values]
    if None in found:
        index = found.index(None)
        raise ValueError(
            f"y[{index}] is {values[index]!r}, which is not among the labels: "
            f"{', '.join(map(repr, labels))}."
        )
    return [position for position in found if position is not None]
