import numpy as np
import tensorflow as tf

from serving.monitoring import prediction_logs

TARGET = prediction_logs.Target("m", 3, "classify")


def example(text):
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))
    return tf.train.Example(features=tf.train.Features(feature={"text": feature}))


def test_a_predict_record_has_what_was_asked_for():
    log = prediction_logs.predict(
        TARGET, {"x": np.array([1.5, 2], np.float32)}, {"y": np.array([3])}, ["y"]
    )
    request = log.predict_log.request
    assert tf.make_ndarray(request.inputs["x"]).tolist() == [1.5, 2]
    assert list(request.output_filter) == ["y"]
    assert request.model_spec.signature_name == "classify"
    assert log.predict_log.response.model_spec.version.value == 3


def test_records_of_examples_have_the_examples():
    examples = [example(b"a"), example(b"b")]
    given = [each.SerializeToString() for each in examples]
    for log, kind in (
        (prediction_logs.classify(TARGET, given), "classify_log"),
        (prediction_logs.regress(TARGET, given), "regress_log"),
    ):
        assert log.WhichOneof("log_type") == kind
        request = getattr(log, kind).request
        assert list(request.input.example_list.examples) == examples
        assert (request.model_spec.name, request.model_spec.version.value) == ("m", 3)
