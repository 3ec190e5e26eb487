"""An exported model: one set of weights and the signatures that answer with it.

A kind of model is a subclass of `ServingModule` and a row of `table`. It says in one place what its
signatures answer in the graph and what the Python path makes of the same rows; the export compares
the two.
"""

import abc
import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.errors import InputError
from bert_tf.examples.rows import Rows
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import checks, id_checks
from export.served.constants import Constants

TEXT_SIGNATURE = "serving_default"
IDS_SIGNATURE = "ids"
# What a warm-up request runs, and so the method of TensorFlow Serving that a client calls.
PREDICT, CLASSIFY, REGRESS = "predict", "classify", "regress"

Row = tuple[Any, ...]  # what a client asks about, in the order of the inputs
Answers = dict[str, tf.Tensor]
Feeds = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Served:
    """What is exported, and how.

    Attributes:
      model: what the graph computes: from the encoder's inputs to a dict of tensors; has
        `variables`.
      directory: describes the model.
      max_seq_length: tokens per row, special tokens included.
      chunk_rows: maximum rows that are computed together.
      pooling, normalize: of embeddings, see `embedding`.
      top_k: tokens for each [MASK], see `masked_lm`.
      original: the model that `model` is a form of, whose answers are wanted; None: `model`.
      constants: of a frozen `model`, which computes with zeros until its graph is written.
    """

    model: Any
    directory: ModelDirectory
    max_seq_length: int
    chunk_rows: int = 8
    pooling: str = "mean"
    normalize: bool = False
    top_k: int = 5
    original: Any = None
    constants: Constants | None = None
    _remembered: dict[Any, Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def in_python(self) -> Any:
        """What the Python path computes with."""
        return self.model if self.original is None else self.original

    def offline(self, batch: Mapping[str, np.ndarray], of_encoder: bool = False) -> Any:
        """The outputs of the Python path, by name.

        Those of the last batch are remembered: an export asks all signatures about the same rows.

        Args:
          batch: the encoder's inputs.
          of_encoder: whether the outputs of the model's encoder are wanted.
        """
        ids = ((name, x.shape, x.tobytes()) for name, x in sorted(batch.items()))
        key = (of_encoder, *ids)
        if key not in self._remembered:
            model = self.in_python
            asked = getattr(model, "encoder", model) if of_encoder else model
            self.forget()
            self._remembered[key] = asked(batch, training=False)
        return self._remembered[key]

    def forget(self) -> None:
        """Forgets the outputs of the last batch; the weights may have changed since."""
        self._remembered.clear()


@dataclasses.dataclass(frozen=True)
class Signature:
    """One way to ask an exported model.

    Attributes:
      function: from named tensors to named tensors, [B ...] each.
      feeds: what a client sends to ask about some rows, by the names of the inputs.
      difference: from the outputs for some rows to the largest difference from the Python path;
        raises `checks.Mismatch` if it is more than float32 rounding explains.
      method: of TensorFlow Serving.
    """

    function: tf.types.experimental.ConcreteFunction
    feeds: Callable[[Sequence[Row]], Feeds]
    difference: Callable[[Mapping[str, np.ndarray], Sequence[Row]], float]
    method: str = PREDICT


class ServingModule(tf.Module, abc.ABC):
    """A model with its tokenizer, ready for `tf.saved_model.save`.

    What `tf.saved_model.load` returns can be called with the inputs of the text signature, [B ...]
    each, or with those of one row, whose answer then has no batch dimension.

    Args:
      inputs: names of the inputs of the text signature, in the order of the texts, and the number
        of their axes.
    """

    def __init__(self, served: Served, inputs: Mapping[str, int]) -> None:
        super().__init__(name="serving")
        self.inputs = inputs
        directory = served.directory
        self.variables_of_model = [variable.value for variable in served.model.variables]
        self.tokenizer = GraphTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
        self.vocab_file = tf.saved_model.Asset(directory.vocab_file)
        self._served = served
        self._python_tokenizer = WordPieceTokenizer(
            directory.vocabulary, directory.metadata.do_lower_case
        )
        self._answer_texts = function(self.answer, self._text_specs())
        # One trace for lists and tensors, batches and single rows. Without a signature, TensorFlow
        # would trace the loaded model again for each list of other texts, which takes seconds.
        self.__call__ = tf.function(
            named(self._answer_any, inputs),
            input_signature=[tf.TensorSpec(None, tf.string, name=name) for name in inputs],
            autograph=False,
        )
        self.__call__.get_concrete_function()

    # What a kind says of itself.

    @abc.abstractmethod
    def answer(self, *inputs: tf.Tensor) -> Answers:
        """The outputs of the text signature, [B ...] each."""

    @abc.abstractmethod
    def answer_ids(self, batch: dict[str, tf.Tensor]) -> Answers:
        """The outputs of the ids signature, [B ...] each, from the encoder's inputs."""

    @abc.abstractmethod
    def rows(self, rows: Sequence[Row]) -> Rows:
        """The rows of ids that training and evaluation make of what a client asks about."""

    @abc.abstractmethod
    def text_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        """See `Signature.difference`; of the text signature."""

    @abc.abstractmethod
    def ids_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        """See `Signature.difference`; of the ids signature, fed with `ids_of(rows)`."""

    def other_signatures(self) -> dict[str, Callable[[], Signature]]:
        """Signatures in addition to those of texts and of ids, which are made if asked for."""
        return {}

    @property
    def default_signatures(self) -> tuple[str, ...]:
        """Names of the signatures that are exported unless others are asked for."""
        return TEXT_SIGNATURE, IDS_SIGNATURE

    def warm_up_rows(self, count: int) -> list[Row]:
        """Rows of unequal length that a server asks about before it answers."""
        return [(" ".join([_SENTENCE] * n),) * len(self.inputs) for n in range(1, count + 1)]

    def check_rows(self) -> list[Row]:
        """Rows that an export compares its answers on."""
        columns = [checks.TEXTS[3 * n :] + checks.TEXTS[: 3 * n] for n in range(len(self.inputs))]
        return list(zip(*columns, strict=True))

    # What all kinds share.

    def forget(self) -> None:
        """See `Served.forget`."""
        self._served.forget()

    def signatures(self, names: Sequence[str] = ()) -> dict[str, Signature]:
        """The signatures of some names.

        Args:
          names: none: the default ones. If `serving_default` is not among them, the first one is
            also exported under that name.

        Raises:
          InputError: a name is unknown.
        """
        known: dict[str, Callable[[], Signature]] = {
            TEXT_SIGNATURE: self._text_signature,
            IDS_SIGNATURE: self._ids_signature,
            **self.other_signatures(),
        }
        names = tuple(names) or self.default_signatures
        if unknown := [name for name in names if name not in known]:
            raise InputError(
                f"--signatures: {', '.join(unknown)} is unknown for a model of kind "
                f"{self._served.directory.metadata.kind!r}; known: {', '.join(known)}."
            )
        made = {name: known[name]() for name in names}
        made.setdefault(TEXT_SIGNATURE, made[names[0]])
        return made

    def ids_of(self, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        """The inputs of the ids signature for some rows: int32 [B T], or [B W T]."""
        given = self.rows(rows)
        return given.without_labels().batch(np.arange(len(given)))

    @property
    def ids_axes(self) -> int:
        """Axes of the inputs of the ids signature."""
        return 2

    def texts_of(self, rows: Sequence[Row]) -> Feeds:
        """The inputs of the text signature for some rows."""
        columns = zip(self.inputs, zip(*rows, strict=True), strict=True)
        return {name: list(column) for name, column in columns}

    def _text_signature(self) -> Signature:
        return Signature(self._answer_texts, self.texts_of, self.text_difference)

    def _ids_signature(self) -> Signature:
        specs = [
            tf.TensorSpec([None] * self.ids_axes, feature.dtype, name=feature.name)
            for feature in features.ENCODER_INPUTS
        ]

        def answer(*tensors: tf.Tensor) -> Answers:
            names = (feature.name for feature in features.ENCODER_INPUTS)
            batch = dict(zip(names, tensors, strict=True))
            return self.answer_ids(id_checks.checked(batch, self._served.directory.config))

        return Signature(function(answer, specs), self.ids_of, self.ids_difference)

    def _text_specs(self) -> list[tf.TensorSpec]:
        return [
            tf.TensorSpec([None] * axes, tf.string, name=name) for name, axes in self.inputs.items()
        ]

    def _answer_any(self, *inputs: tf.Tensor) -> Answers:
        """Answers a batch or one row; both run the function of the signature."""
        num_axes = tf.constant(list(self.inputs.values()))
        missing = num_axes - tf.stack([tf.rank(each) for each in inputs])
        is_batch = tf.reduce_all(missing == 0)
        check = tf.debugging.Assert(
            is_batch | tf.reduce_all(missing == 1),
            [f"Axes of {', '.join(self.inputs)} for a batch:", num_axes, "Missing:", missing],
        )
        with tf.control_dependencies([check]):
            batch = [
                tf.reshape(each, tf.concat([[1], tf.shape(each)], axis=0)[-axes:])
                for each, axes in zip(inputs, self.inputs.values(), strict=True)
            ]
        answers = self._answer_texts(*batch)
        first = 1 - tf.cast(is_batch, tf.int32)  # axis of an answer that is kept
        return {name: tf.reshape(x, tf.shape(x)[first:]) for name, x in answers.items()}


_SENTENCE = "The server runs this text once before it answers."


def named(answer: Callable[..., Answers], names: Sequence[str] | Mapping[str, Any]) -> Any:
    """A function of parameters of some names, from one that takes any number of them."""

    def call(*tensors: tf.Tensor) -> Answers:
        return answer(*tensors)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in names]
    )
    return call


def function(
    answer: Callable[..., Answers], specs: Sequence[tf.TensorSpec]
) -> tf.types.experimental.ConcreteFunction:
    """A function of named tensors for a signature.

    It is traced here: a polymorphic one would be traced again by `tf.saved_model.save`.
    """
    call = named(answer, [spec.name for spec in specs])
    return tf.function(call, input_signature=specs, autograph=False).get_concrete_function()
