"""Runs the warm-up requests that a SavedModel carries."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import input_pb2, predict_pb2, prediction_log_pb2

from serving.models.servable import Servable
from serving.status import Code, ServingError, invalid

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")

_MAX_RECORDS = 1000  # TensorFlow Serving loads no model with more


def run(servable: Servable, repeats: int = 1) -> int:
    """Runs every warm-up request of a servable.

    Args:
      repeats: how often each is run.

    Returns:
      How many there are; 0 if the model carries none.

    Raises:
      ServingError: a record is damaged or fails, as it would on TensorFlow Serving; a missing
        operation shows here, not in a client's request.
    """
    path = os.path.join(servable.path, WARMUP_FILE)
    if not os.path.isfile(path):
        return 0
    count = 0
    for record in _records(path):
        if count == _MAX_RECORDS:
            raise invalid(
                f"Number of warmup records exceeds the maximum ({_MAX_RECORDS}) at {path}"
            )
        _run_record(servable, record, f"Warm-up record {count} of {path}", repeats)
        count += 1
    return count


def _records(path: str) -> Iterator[bytes]:
    try:
        yield from tf.compat.v1.io.tf_record_iterator(path)
    except tf.errors.DataLossError as error:
        raise ServingError(
            Code.DATA_LOSS,
            f"{error.message}. Please verify your warmup data is in TFRecord format.",
        ) from error


def _run_record(servable: Servable, record: bytes, where: str, repeats: int) -> None:
    try:
        log = prediction_log_pb2.PredictionLog.FromString(record)
    except DecodeError:
        raise invalid(f"{where} is not a PredictionLog.") from None
    kind = log.WhichOneof("log_type")
    if kind not in _RUNS:
        raise ServingError(
            Code.UNIMPLEMENTED,
            f"{where}: Unsupported log_type for warmup: {kind}; those that can be run: "
            f"{', '.join(_RUNS)}.",
        )
    try:
        for signature_name, feeds, outputs in _RUNS[kind](getattr(log, kind).request):
            _check_outputs(servable, signature_name, outputs)
            for _ in range(repeats):
                servable.run(signature_name, feeds, outputs)
    except ServingError as error:
        raise ServingError(error.code, f"{where} fails: {error.message}") from error


def _check_outputs(servable: Servable, signature_name: str, outputs: Collection[str]) -> None:
    for name in set(outputs) - servable.signature(signature_name).outputs.keys():
        raise invalid(f"output tensor alias not found in signature: {name}")


# What is run: the name of a signature, its feeds, and the outputs that are wanted (none: all).
Run = tuple[str, Mapping[str, np.ndarray], Collection[str]]


def _prediction(request: predict_pb2.PredictRequest) -> Iterator[Run]:
    feeds = {name: tf.make_ndarray(tensor) for name, tensor in request.inputs.items()}
    yield request.model_spec.signature_name, feeds, request.output_filter


def _inference(request: Any) -> Iterator[Run]:
    """Of a ClassificationRequest or a RegressionRequest."""
    yield request.model_spec.signature_name, _examples(request.input), ()


def _multi_inference(request: Any) -> Iterator[Run]:
    feeds = _examples(request.input)
    for task in request.tasks:
        yield task.model_spec.signature_name, feeds, ()


def _examples(given: input_pb2.Input) -> Mapping[str, np.ndarray]:
    """Serialized tf.Examples, with the features of their context if there is one."""
    context, examples = b"", given.example_list.examples
    if given.WhichOneof("kind") == "example_list_with_context":
        with_context = given.example_list_with_context
        context, examples = with_context.context.SerializeToString(), with_context.examples
    # One message after another is both of them merged.
    return {"inputs": np.array([context + each.SerializeToString() for each in examples], object)}


# By the kind of a record.
_RUNS: Mapping[str, Callable[[Any], Iterator[Run]]] = {
    "predict_log": _prediction,
    "classify_log": _inference,
    "regress_log": _inference,
    "multi_inference_log": _multi_inference,
}
