"""Warm-up requests: a server runs them before it reports that a version is available."""

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    input_pb2,
    model_pb2,
    predict_pb2,
    prediction_log_pb2,
    regression_pb2,
)

from export.kinds import module
from export.kinds.module import Feeds, ServingModule, Signature

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")

_BATCH_SIZES = (1, 8)


def write(
    path: str, served: ServingModule, signatures: Mapping[str, Signature], model_name: str
) -> None:
    """Writes the warm-up file: every signature, each in the most common batch sizes.

    Args:
      path: the version's directory.
      signatures: of the module `served`, by name.
    """
    file = os.path.join(path, WARMUP_FILE)
    os.makedirs(os.path.dirname(file))
    with tf.io.TFRecordWriter(file) as writer:
        for size in _BATCH_SIZES:
            rows = served.warm_up_rows(size)
            for name, signature in signatures.items():
                spec = model_pb2.ModelSpec(name=model_name, signature_name=name)
                log = _LOGS[signature.method](spec, signature.feeds(rows))
                writer.write(log.SerializeToString())


def _predict(spec: model_pb2.ModelSpec, feeds: Feeds) -> prediction_log_pb2.PredictionLog:
    request = predict_pb2.PredictRequest(model_spec=spec)
    for name, value in feeds.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    log = prediction_log_pb2.PredictLog(request=request)
    return prediction_log_pb2.PredictionLog(predict_log=log)


def _classify(spec: model_pb2.ModelSpec, feeds: Feeds) -> prediction_log_pb2.PredictionLog:
    request = classification_pb2.ClassificationRequest(model_spec=spec, input=_examples(feeds))
    log = prediction_log_pb2.ClassifyLog(request=request)
    return prediction_log_pb2.PredictionLog(classify_log=log)


def _regress(spec: model_pb2.ModelSpec, feeds: Feeds) -> prediction_log_pb2.PredictionLog:
    request = regression_pb2.RegressionRequest(model_spec=spec, input=_examples(feeds))
    log = prediction_log_pb2.RegressLog(request=request)
    return prediction_log_pb2.PredictionLog(regress_log=log)


def _examples(feeds: Feeds) -> input_pb2.Input:
    """The one feed of these methods: serialized examples."""
    ((serialized),) = feeds.values()
    examples = map(tf.train.Example.FromString, serialized)
    return input_pb2.Input(example_list=input_pb2.ExampleList(examples=examples))


_LOGS: Mapping[str, Any] = {
    module.PREDICT: _predict,
    module.CLASSIFY: _classify,
    module.REGRESS: _regress,
}
