import types

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from serving.models import warmup
from serving.status import Code, ServingError


@pytest.fixture
def model(servable, tmp_path):
    """The tiny model as if it were in a directory of its own; `write(*logs)` adds a warm-up."""
    (tmp_path / "assets.extra").mkdir()

    def write(*logs):
        with tf.io.TFRecordWriter(str(tmp_path / warmup.WARMUP_FILE)) as writer:
            for log in logs:
                writer.write(log.SerializeToString())

    return types.SimpleNamespace(
        path=str(tmp_path), run=servable.run, signature=servable.signature, write=write
    )


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


def test_requests_may_be_repeated(model, monkeypatch):
    model.write(predict_log("", text=["ab"]))
    ran = []
    monkeypatch.setattr(model, "run", lambda *arguments: ran.append(arguments))
    assert warmup.run(model, repeats=3) == 1
    assert len(ran) == 3


def test_examples_have_the_features_of_their_context(model, monkeypatch):
    log = prediction_log_pb2.PredictionLog()
    request = log.multi_inference_log.request
    request.tasks.add().model_spec.signature_name = "serving_default"
    given = request.input.example_list_with_context
    given.context.features.feature["language"].bytes_list.value.append(b"en")
    for text in (b"a", b"b"):
        given.examples.add().features.feature["text"].bytes_list.value.append(text)
    model.write(log)
    ran = []
    monkeypatch.setattr(model, "run", lambda *arguments: ran.append(arguments))
    assert warmup.run(model) == 1
    ((name, feeds, outputs),) = ran
    assert (name, list(outputs)) == ("serving_default", [])
    examples = [tf.train.Example.FromString(each) for each in feeds["inputs"]]
    found = [
        {key: each.bytes_list.value[0] for key, each in example.features.feature.items()}
        for example in examples
    ]
    assert found == [{"language": b"en", "text": b"a"}, {"language": b"en", "text": b"b"}]


@pytest.mark.parametrize("kind", ["classify_log", "regress_log"])
def test_classify_and_regress_are_run(model, kind):
    log = prediction_log_pb2.PredictionLog()
    request = getattr(log, kind).request
    request.input.example_list.examples.add()
    model.write(log)
    with pytest.raises(ServingError, match="record 0 .* fails: input size does not match"):
        warmup.run(model)  # the signature of the model takes something else


def refusal(model):
    with pytest.raises(ServingError) as raised:
        warmup.run(model)
    return raised.value.code, raised.value.message


def test_a_request_that_fails_is_named(model):
    ones = np.ones(2, np.float32)
    model.write(predict_log("", text=["a"]), predict_log("divide", x=ones, y=ones[:0]))
    code, message = refusal(model)
    assert code == Code.INVALID_ARGUMENT
    assert message.startswith(f"Warm-up record 1 of {model.path}") and " fails: " in message


def test_an_output_that_is_not_there_fails(model):
    log = predict_log("", text=["a"])
    log.predict_log.request.output_filter.append("nothing")
    model.write(log)
    assert "output tensor alias not found in signature: nothing" in refusal(model)[1]


def test_other_kinds_of_log_are_refused(model):
    log = prediction_log_pb2.PredictionLog()
    log.session_run_log.request.model_spec.name = "m"
    model.write(log)
    code, message = refusal(model)
    assert code == Code.UNIMPLEMENTED
    assert "Unsupported log_type for warmup: session_run_log" in message


def test_damaged_files_and_records_are_refused(model, tmp_path):
    (tmp_path / warmup.WARMUP_FILE).write_bytes(b"damaged" * 10)
    assert refusal(model)[0] == Code.DATA_LOSS
    with tf.io.TFRecordWriter(str(tmp_path / warmup.WARMUP_FILE)) as writer:
        writer.write(b"\xff\xff")
    assert refusal(model)[0] == Code.INVALID_ARGUMENT


def test_more_than_a_thousand_records_are_refused(model, monkeypatch):
    monkeypatch.setattr(model, "run", lambda *_: None)
    model.write(*[predict_log("", text=["a"])] * 1000)
    assert warmup.run(model) == 1000
    model.write(*[predict_log("", text=["a"])] * 1001)
    code, message = refusal(model)
    assert code == Code.INVALID_ARGUMENT
    assert message.startswith("Number of warmup records exceeds the maximum (1000)")
