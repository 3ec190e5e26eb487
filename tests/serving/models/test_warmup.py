import types

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from bert_tf.errors import InputError
from serving.models import warmup


@pytest.fixture
def model(servable, tmp_path):
    """The tiny model as if it were in a directory of its own; `write(*logs)` adds a warm-up."""
    (tmp_path / "assets.extra").mkdir()

    def write(*logs):
        with tf.io.TFRecordWriter(str(tmp_path / warmup.WARMUP_FILE)) as writer:
            for log in logs:
                writer.write(log.SerializeToString())

    return types.SimpleNamespace(path=str(tmp_path), run=servable.run, write=write)


def predict_log(signature_name, **feeds):
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request
    request.model_spec.signature_name = signature_name
    for name, value in feeds.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return log


def test_every_request_is_run(model):
    assert warmup.run(model) == 0
    floats = np.ones(2, np.float32)
    model.write(predict_log("", text=["ab"]), predict_log("divide", x=floats, y=floats))
    assert warmup.run(model) == 2


def test_a_request_that_fails_is_named(model):
    ones = np.ones(2, np.float32)
    model.write(predict_log("", text=["a"]), predict_log("divide", x=ones, y=ones[:0]))
    with pytest.raises(InputError, match="record 1 fails: INVALID_ARGUMENT"):
        warmup.run(model)


def test_a_request_that_does_not_fit_the_signature_is_named(model):
    model.write(predict_log("", words=["a"]))
    with pytest.raises(InputError, match="record 0 fails: .*text"):
        warmup.run(model)


def test_other_kinds_of_log_are_refused(model):
    log = prediction_log_pb2.PredictionLog()
    log.session_run_log.request.model_spec.name = "m"
    model.write(log)
    with pytest.raises(InputError, match="is a session_run_log; those that can be run: predict_l"):
        warmup.run(model)


def test_a_damaged_file_is_an_input_error(model, tmp_path):
    (tmp_path / warmup.WARMUP_FILE).write_bytes(b"damaged" * 10)
    with pytest.raises(InputError, match="damaged"):
        warmup.run(model)
