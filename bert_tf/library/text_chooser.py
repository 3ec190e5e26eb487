"""Picks one of several texts that may follow a text."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.examples import batching
from bert_tf.examples.labelled import ChoiceExample
from bert_tf.library import texts
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.choice import Choice
from bert_tf.text.wordpiece import WordPieceTokenizer

_BATCH_SIZE = 8

# A context and a list of its choices, or lists of both.
Questions: TypeAlias = tuple[texts.Column, Sequence[Any]]


class Chosen(NamedTuple):
    """The answer for one context.

    Attributes:
      text: the most probable choice.
      number: of this choice, from 0.
      probability: of this choice.
      probabilities: of all choices, in their order.
    """

    text: str
    number: int
    probability: float
    probabilities: tuple[float, ...]


class Given(NamedTuple):
    """Contexts with their choices, and whether it was one and not a list of one."""

    contexts: list[str]
    choices: list[list[str]]
    is_one: bool


class TextChooser:
    """A model of choices, called on plain strings. It answers as run_classifier.py predicts."""

    def __init__(self, directory: ModelDirectory) -> None:
        task = registry.of_model(directory.metadata)
        assert isinstance(task, Choice), "`loading.load` has looked at the kind"
        self._task, self._max_seq_length = task, directory.metadata.max_seq_length
        do_lower_case = directory.metadata.do_lower_case
        self._tokenizer = WordPieceTokenizer(directory.vocabulary, do_lower_case)
        model = directory.build_model()
        signature = {
            feature.name: tf.TensorSpec([None, None, None], feature.dtype)
            for feature in features.ENCODER_INPUTS
        }
        self._logits = tf.function(
            lambda batch: model(batch, training=False)["logits"],
            input_signature=[signature],
            autograph=False,
        )

    def __call__(
        self, inputs: Any, choices: Any = None, batch_size: int = _BATCH_SIZE
    ) -> "Chosen | list[Chosen]":
        """Picks a choice for each context.

        Args:
          inputs: a context or a list of contexts; or a tuple of these and `choices`.
          choices: a list of strings for each context.
          batch_size: contexts that are computed together.

        Returns:
          a list of `Chosen`, or one for one context.

        Raises:
          TypeError, ValueError: something else was given; see the message.
        """
        given = read(inputs if choices is None else (inputs, choices))
        pairs = zip(given.contexts, given.choices, strict=True)
        examples = [ChoiceExample("", context, tuple(each)) for context, each in pairs]
        rows = self._task.encode(examples, self._tokenizer, self._max_seq_length)
        found: dict[int, np.ndarray] = {}
        for indices in batching.prediction_batches(rows, batch_size):
            logits = self._logits(rows.batch(indices))
            found.update(zip(indices.tolist(), tf.nn.softmax(logits).numpy(), strict=True))
        answers = [chosen(each, found[row]) for row, each in enumerate(given.choices)]
        return answers[0] if given.is_one else answers


def chosen(choices: Sequence[str], probabilities: np.ndarray) -> Chosen:
    """The answer for choices whose probabilities come first in an array [W]."""
    of_choices = probabilities[: len(choices)]
    best = int(of_choices.argmax())
    return Chosen(choices[best], best, float(of_choices[best]), tuple(of_choices.tolist()))


def read(inputs: Questions) -> Given:
    """Checks contexts and choices and puts them into lists.

    Raises:
      TypeError: something is not a string.
      ValueError: a context has no choices, or there are more or fewer of them than contexts.
    """
    if not isinstance(inputs, tuple) or len(inputs) != 2:
        raise TypeError("A context needs its choices: give both, the context first.")
    first, choices = inputs
    is_one = isinstance(first, str | bytes)
    contexts = texts.read(first).first
    of_contexts = [choices] if is_one else list(choices)
    if len(of_contexts) != len(contexts):
        raise ValueError(
            f"There are {len(contexts)} contexts and {len(of_contexts)} lists of choices. Each "
            "context needs its own list."
        )
    if any(isinstance(each, str | bytes) for each in of_contexts):
        raise TypeError("The choices of a context are a list of strings; a string was given.")
    decoded = [[texts.decoded(text) for text in texts.read(each).first] for each in of_contexts]
    if any(not text for each in decoded for text in each):
        raise ValueError("A choice is empty; a text was wanted.")
    return Given([texts.decoded(text) for text in contexts], decoded, is_one)
