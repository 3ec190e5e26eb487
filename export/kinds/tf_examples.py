"""Signatures for the Classify and Regress methods of TensorFlow Serving, asked with tf.Example.

An example has a bytes feature for each text, of the name of the input of the text signature.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from export.kinds import checks, module
from export.kinds.module import Answers, Feeds, Row, Signature

# What TensorFlow Serving calls the input, and the outputs of the two methods.
_INPUT = "inputs"
_CLASSES, _SCORES, _OUTPUTS = "classes", "scores", "outputs"

AnswerRows = Callable[[Sequence[Row]], Mapping[str, Any]]


def classify(
    answer: Callable[..., Answers], names: Sequence[str], expected: AnswerRows
) -> Signature:
    """A signature for Classify: `classes` string [B C], `scores` float32 [B C].

    Args:
      answer: from texts, string [B] each, to `labels` and `probabilities`.
      names: of the texts.
      expected: what the Python path answers some rows.
    """
    return _signature(
        answer, names, expected, {_CLASSES: "labels", _SCORES: "probabilities"}, module.CLASSIFY
    )


def regress(
    answer: Callable[..., Answers], names: Sequence[str], expected: AnswerRows
) -> Signature:
    """A signature for Regress: `outputs` float32 [B]; see `classify`."""
    return _signature(answer, names, expected, {_OUTPUTS: "score"}, module.REGRESS)


def _signature(
    answer: Callable[..., Answers],
    names: Sequence[str],
    expected: AnswerRows,
    outputs: Mapping[str, str],
    method: str,
) -> Signature:
    """A signature whose `outputs` are some of those of the text signature, by name."""
    features = {name: tf.io.FixedLenFeature([], tf.string) for name in names}

    def answer_examples(inputs: tf.Tensor) -> Answers:
        parsed = tf.io.parse_example(inputs, features)
        answers = answer(*(parsed[name] for name in names))
        return {name: answers[source] for name, source in outputs.items()}

    def difference(given: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        want = expected(rows)
        return max(
            checks.largest_difference(given[name], np.asarray(want[source]), rows, source)
            for name, source in outputs.items()
            if name != _CLASSES
        )

    spec = tf.TensorSpec([None], tf.string, name=_INPUT)
    function = module.function(answer_examples, [spec])
    return Signature(function, lambda rows: _feeds(names, rows), difference, method)


def _feeds(names: Sequence[str], rows: Sequence[Row]) -> Feeds:
    return {_INPUT: [example(dict(zip(names, row, strict=True))) for row in rows]}


def example(texts: Mapping[str, str]) -> bytes:
    """A serialized tf.Example of some texts, by their names."""
    features = {
        name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()]))
        for name, text in texts.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
