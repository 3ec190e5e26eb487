"""Runs the warm-up requests that a SavedModel carries, so that no client waits for the first."""

import os

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from bert_tf.errors import InputError
from serving.status import ServingError

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
_MAX_RECORDS = 1000  # TensorFlow Serving loads no model with more


def run(servable):
    """Runs every warm-up request of a servable.

    Returns:
      int, requests run; 0 where the model carries none.

    Raises:
      InputError: a record is damaged or fails, as it would on TensorFlow Serving; a missing
        operation shows here and not in a client's request.
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


def _run_record(servable, record, where):
    try:
        log = prediction_log_pb2.PredictionLog.FromString(record)
    except DecodeError:
        raise InputError(f"{where} is no PredictionLog.") from None
    if log.WhichOneof("log_type") != "predict_log":
        raise InputError(f"{where} is a {log.WhichOneof('log_type')}; only predict_log is run.")
    request = log.predict_log.request
    feeds = {name: tf.make_ndarray(tensor) for name, tensor in request.inputs.items()}
    try:
        servable.predict(request.model_spec.signature_name, feeds)
    except ServingError as error:
        raise InputError(f"{where} fails: {error}") from error
