"""What is logged of requests, as the methods log it."""

import asyncio
import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2
from tensorflow_serving.config import logging_config_pb2

from serving.methods import inference, predict
from serving.models.spec import ModelSpec
from serving.monitoring.request_log import RequestLogs
from serving.status import ServingError


def example(x):
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[x]))
    features = tf.train.Features(feature={"x": feature})
    return tf.train.Example(features=features).SerializeToString()


def test_requests_that_were_answered_are_logged_under_their_method(core, tmp_path):
    config = logging_config_pb2.LoggingConfig()
    config.log_collector_config.type = "tfrecord"
    config.log_collector_config.filename_prefix = str(tmp_path / "log")
    config.sampling_config.sampling_rate = 1
    core = dataclasses.replace(core, request_logs=RequestLogs(core.metrics))
    core.request_logs.configure({"tiny": [config]})

    async def ask():
        text = {"text": np.array([b"ab"], object)}
        await predict.predict(core, ModelSpec("tiny"), lambda _: text, outputs=["upper"])
        await inference.classify(core, ModelSpec("tiny", None, None, "classify"), [example(0.25)])
        await inference.regress(core, ModelSpec("tiny", None, None, "regress"), [example(0.5)])
        with pytest.raises(ServingError):
            await predict.predict(core, ModelSpec("tiny"), lambda _: {"text": np.array([1])})

    asyncio.run(ask())
    core.request_logs.close()
    (path,) = tmp_path.iterdir()
    logs = [
        prediction_log_pb2.PredictionLog.FromString(record)
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    ]
    kinds = [log.WhichOneof("log_type") for log in logs]
    assert kinds == ["predict_log", "classify_log", "regress_log"]
    assert list(logs[0].predict_log.request.output_filter) == ["upper"]
    outputs = logs[0].predict_log.response.outputs
    assert tf.make_ndarray(outputs["upper"]).tolist() == [b"AB"]
    assert logs[1].classify_log.request.model_spec.signature_name == "classify"
    assert {log.log_metadata.model_spec.version.value for log in logs} == {7}
