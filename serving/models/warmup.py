"""Loads a SavedModel and runs the warm-up requests that it carries, so that no client waits."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import (
    classification_pb2,
    predict_pb2,
    prediction_log_pb2,
    regression_pb2,
)

from bert_tf import formatting
from bert_tf.errors import InputError
from serving.models.servable import Servable
from serving.options import Server
from serving.status import ServingError

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
Feeds = dict[str, np.ndarray]

_MAX_RECORDS = 1000  # TensorFlow Serving loads no model with more


def load(options: Server, version: int, path: str) -> Servable:
    """Loads a version and, unless the options say otherwise, runs its warm-up requests."""
    tf.get_logger().setLevel("ERROR")  # version-1 loading warns that it is version 1
    start = time.monotonic()
    servable = Servable(
        options.model_name,
        version,
        path,
        intra_op=options.tensorflow_intra_op_parallelism,
        inter_op=options.tensorflow_inter_op_parallelism,
    )
    loaded_at = time.monotonic()
    print(f"Loaded in {formatting.duration(loaded_at - start)}.", flush=True)
    if options.enable_model_warmup:
        count = run(servable)
        seconds = formatting.duration(time.monotonic() - loaded_at)
        print(f"Warm-up: {count} requests in {seconds}.", flush=True)
    return servable


def run(servable: Servable) -> int:
    """Runs every warm-up request of a servable.

    Returns:
      How many ran; 0 if the model carries none.

    Raises:
      InputError: a record is damaged or fails, as it would on TensorFlow Serving; a missing
        operation shows here, not in a client's request.
    """
    path = os.path.join(servable.path, WARMUP_FILE)
    if not os.path.isfile(path):
        return 0
    try:
        records = list(tf.data.TFRecordDataset(path).take(_MAX_RECORDS + 1).as_numpy_iterator())
    except tf.errors.DataLossError as error:
        raise InputError(f"{path} is damaged: {error.message}") from error
    if len(records) > _MAX_RECORDS:
        raise InputError(f"{path} holds more than {_MAX_RECORDS} requests.")
    for index, record in enumerate(records):
        _run_record(servable, record, f"{path}, record {index}")
    return len(records)


def _tensors(request: predict_pb2.PredictRequest) -> Feeds:
    return {name: tf.make_ndarray(tensor) for name, tensor in request.inputs.items()}


def _examples(
    request: classification_pb2.ClassificationRequest | regression_pb2.RegressionRequest,
) -> Feeds:
    examples = request.input.example_list.examples
    return {"inputs": np.array([each.SerializeToString() for each in examples], object)}


# From the kind of a record to what a signature is fed with.
_FEEDS: Mapping[str, Callable[[Any], Feeds]] = {
    "predict_log": _tensors,
    "classify_log": _examples,
    "regress_log": _examples,
}


def _run_record(servable: Servable, record: bytes, where: str) -> None:
    try:
        log = prediction_log_pb2.PredictionLog.FromString(record)
    except DecodeError:
        raise InputError(f"{where} is not a PredictionLog.") from None
    kind = log.WhichOneof("log_type")
    if kind not in _FEEDS:
        raise InputError(f"{where} is a {kind}; those that can be run: {', '.join(_FEEDS)}.")
    request = getattr(log, kind).request
    feeds = _FEEDS[kind](request)
    try:
        servable.run(request.model_spec.signature_name, feeds)
    except ServingError as error:
        raise InputError(f"{where} fails: {error}") from error
