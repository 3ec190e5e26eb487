"""An exported model (a SavedModel of `export.savedmodel`), called on plain strings."""

import os
from typing import Any

import numpy as np

from bert_tf.errors import InputError
from bert_tf.library import texts
from bert_tf.library.question_answerer import Answer
from bert_tf.library.text_classifier import Classification, classification

_GRAPH_FILE = "saved_model.pb"
_SIGNATURE = "serving_default"
_LABELS_FILE = os.path.join("assets", "labels.txt")
# Inputs of an export, in the order of the texts.
_INPUTS = (("text",), ("text_a", "text_b"), ("question", "context"))


class ExportedModel:
    """A model that was exported. It answers as the model itself does.

    Attributes:
      labels: of the outputs of a classifier, in their order.
      num_texts: 1, or 2 if it takes pairs, such as questions and contexts.
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

    def __call__(self, inputs: texts.Texts) -> Any:
        """Answers texts.

        Args:
          inputs: a string, a list of strings, or a tuple (first texts, second texts).

        Returns:
          a list of `Classification`; of `Answer`, if the texts are questions and contexts; or
          float32 [B] of a regressor. For one string or pair one of them.

        Raises:
          ValueError: pairs for a model of single texts, or the other way round.
        """
        import tensorflow as tf

        given = texts.read(inputs)
        if len(given.columns) != self.num_texts:
            wanted = {1: "single texts", 2: "pairs: (first texts, second texts)"}[self.num_texts]
            raise ValueError(f"This model takes {wanted}.")
        columns = zip(self._names, given.columns, strict=True)
        outputs = self._signature(**{name: tf.constant(column) for name, column in columns})
        if "answer" in outputs:
            found = _answers({name: column.numpy() for name, column in outputs.items()})
            return found[0] if given.is_one else found
        if not self.labels:
            scores = outputs["score"].numpy()
            return scores[0] if given.is_one else scores
        rows = outputs["probabilities"].numpy()
        answers: list[Classification] = [classification(self.labels, row) for row in rows]
        return answers[0] if given.is_one else answers


def _answers(columns: dict[str, np.ndarray]) -> list[Answer]:
    rows = zip(*(columns[name] for name in ("answer", "score", "start", "end")), strict=True)
    return [
        Answer(text.decode(), float(score), *((int(start), int(end)) if text else (None, None)))
        for text, score, start, end in rows
    ]


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
