"""PredictionLog records of requests, as TensorFlow Serving logs them and reads them to warm up."""

import dataclasses
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

Tensors = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Target:
    """What answered a request.

    Attributes:
      version: the one that answered, whatever the request named.
    """

    model_name: str
    version: int
    signature_name: str


def predict(
    target: Target, feeds: Tensors, answer: Tensors, outputs: Collection[str] = ()
) -> prediction_log_pb2.PredictionLog:
    """A record of Predict.

    Args:
      feeds: inputs by name.
      answer: outputs by name.
      outputs: names that the request asked for; none: all.
    """
    log = _with_metadata(target)
    request, response = log.predict_log.request, log.predict_log.response
    _describe(request.model_spec, target)
    _describe(response.model_spec, target)
    for tensors, fields in ((feeds, request.inputs), (answer, response.outputs)):
        for name, array in tensors.items():
            fields[name].CopyFrom(tf.make_tensor_proto(array))
    request.output_filter.extend(sorted(outputs))
    return log


def classify(target: Target, examples: Sequence[bytes]) -> prediction_log_pb2.PredictionLog:
    """A record of Classify, without its answer.

    Args:
      examples: serialized tf.Examples.
    """
    return _of_examples("classify_log", target, examples)


def regress(target: Target, examples: Sequence[bytes]) -> prediction_log_pb2.PredictionLog:
    """A record of Regress, without its answer.

    Args:
      examples: serialized tf.Examples.
    """
    return _of_examples("regress_log", target, examples)


def _of_examples(
    kind: str, target: Target, examples: Sequence[bytes]
) -> prediction_log_pb2.PredictionLog:
    log = _with_metadata(target)
    request = getattr(log, kind).request
    _describe(request.model_spec, target)
    for example in examples:
        request.input.example_list.examples.add().MergeFromString(example)
    return log


def _with_metadata(target: Target) -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    _describe(log.log_metadata.model_spec, target)
    log.log_metadata.timestamp_secs = int(time.time())
    return log


def _describe(spec: Any, target: Target) -> None:
    spec.name, spec.signature_name = target.model_name, target.signature_name
    spec.version.value = target.version
