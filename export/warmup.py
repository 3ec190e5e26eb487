"""Warm-up requests: a server runs them before it reports that a version is available."""

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from bert_tf.checkpoints.model_directory import ModelDirectory
from export import verify
from export.module import IDS_SIGNATURE, TEXT_SIGNATURE, text_names

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")

_BATCH_SIZES = (1, 8)
_SENTENCE = "The server runs this text once before it answers."


def write(path: str, directory: ModelDirectory, max_seq_length: int, model_name: str) -> None:
    """Writes the warm-up file: both signatures, each in the most common batch sizes.

    Args:
      path: the version's directory.
      max_seq_length: of the exported graph.
    """
    names = text_names(directory.metadata)
    file = os.path.join(path, WARMUP_FILE)
    os.makedirs(os.path.dirname(file))
    with tf.io.TFRecordWriter(file) as writer:
        for size in _BATCH_SIZES:
            rows = [(" ".join([_SENTENCE] * n),) * len(names) for n in range(1, size + 1)]
            texts = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
            ids = verify.python_inputs(directory, max_seq_length, rows)
            writer.write(_record(model_name, TEXT_SIGNATURE, texts))
            writer.write(_record(model_name, IDS_SIGNATURE, ids))


def _record(model_name: str, signature_name: str, feeds: Mapping[str, Any]) -> bytes:
    """A serialized PredictionLog."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model_name
    request.model_spec.signature_name = signature_name
    for name, value in feeds.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    log = prediction_log_pb2.PredictLog(request=request)
    return prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString()
