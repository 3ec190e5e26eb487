"""An exported model (a SavedModel of `export.savedmodel`), called on plain strings."""

import os
from typing import Any

import numpy as np

from bert_tf.errors import InputError
from bert_tf.library import exported_answers, text_chooser, texts

_GRAPH_FILE = "saved_model.pb"
_SIGNATURE = "serving_default"
_LABELS_FILE = os.path.join("assets", "labels.txt")
# Inputs of an export, in the order of the texts.
_CHOICES = ("context", "choices")
_INPUTS = (("text",), ("text_a", "text_b"), ("question", "context"), _CHOICES)


class ExportedModel:
    """A model that was exported. It answers as the model itself does.

    Attributes:
      labels: of the outputs of a classifier or a tagger, in their order.
      num_texts: 1, or 2 if it takes pairs, such as questions and contexts, or contexts and lists of
        choices.
    """

    def __init__(self, path: str) -> None:
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  the graph has its operations

        self._model = tf.saved_model.load(path)
        self._signature = self._model.signatures[_SIGNATURE]
        given = set(self._signature.structured_input_signature[1])
        (self._names,) = [names for names in _INPUTS if set(names) == given]
        self.num_texts = len(self._names)
        self.labels = _read_labels(os.path.join(path, _LABELS_FILE))

    def __call__(self, inputs: Any) -> Any:
        """Answers texts.

        Args:
          inputs: a string, a list of strings, or a tuple (first texts, second texts); the second
            ones of a model of choices are lists of strings.

        Returns:
          by what the model answers, a list of
          `Classification`: labels of texts.
          `Answer`: parts of contexts, for questions.
          `TaggedText`: words with tags, and entities.
          `Chosen`: one of the choices.
          lists with a list of `Candidate`s for each [MASK].
          Or float32 [B] of a regressor, or [B H]: a vector for each text. For one string or pair
          one of them.

        Raises:
          ValueError: pairs for a model of single texts, or the other way round.
        """
        if self._names == _CHOICES:
            return self._choose(inputs)
        given = texts.read(inputs)
        if len(given.columns) != self.num_texts:
            wanted = {1: "single texts", 2: "pairs: (first texts, second texts)"}[self.num_texts]
            raise ValueError(f"This model takes {wanted}.")
        outputs = self._run(*given.columns)
        answers = exported_answers.of_texts(outputs, self.labels, given.first)
        return answers[0] if given.is_one else answers

    def _choose(self, inputs: text_chooser.Questions) -> Any:
        given = text_chooser.read(inputs)
        most = max(map(len, given.choices))
        # An empty choice is none.
        padded = [[*each, *[""] * (most - len(each))] for each in given.choices]
        probabilities = self._run(given.contexts, padded)["probabilities"]
        answers = list(map(text_chooser.chosen, given.choices, probabilities))
        return answers[0] if given.is_one else answers

    def _run(self, *columns: Any) -> dict[str, np.ndarray]:
        import tensorflow as tf

        named = zip(self._names, columns, strict=True)
        outputs = self._signature(**{name: tf.constant(column) for name, column in named})
        return {name: tensor.numpy() for name, tensor in outputs.items()}


def find(path: str) -> str | None:
    """The directory of an export's newest version at or in `path`; None if there is no export.

    Raises:
      InputError: there are versions, and the newest is damaged.
    """
    if not os.path.isdir(path):
        return None
    if not os.path.isfile(os.path.join(path, _GRAPH_FILE)):
        versions = [name for name in os.listdir(path) if name.isdigit()]
        if not versions:
            return None
        path = os.path.join(path, max(versions, key=int))
        if not os.path.isfile(os.path.join(path, _GRAPH_FILE)):
            raise InputError(f"{path} is the newest version and has no {_GRAPH_FILE}.")
    return path if _is_ours(path) else None


def _is_ours(path: str) -> bool:
    """Whether a SavedModel takes texts by our names: those of TF Hub and others do not."""
    from tensorflow.core.protobuf import saved_model_pb2

    with open(os.path.join(path, _GRAPH_FILE), "rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    signatures = saved.meta_graphs[0].signature_def
    names = set(signatures[_SIGNATURE].inputs) if _SIGNATURE in signatures else set()
    return any(names == set(known) for known in _INPUTS)


def _read_labels(path: str) -> tuple[str, ...]:
    if not os.path.isfile(path):
        return ()
    with open(path, encoding="utf-8") as file:
        return tuple(file.read().splitlines())
