"""Files of PredictionLogs, against TensorFlow's own reader and writer."""

import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from bert_tf.errors import InputError
from serving.client import messages
from serving.parity import records


def log(text):
    made = messages.new("PredictionLog")
    made.predict_log.request.model_spec.name = text
    return made


def test_what_is_written_is_read_by_tensorflow(tmp_path):
    path = str(tmp_path / "logs")
    records.write(path, [log("a"), log("b" * 1000)])
    read = [
        prediction_log_pb2.PredictionLog.FromString(record.numpy())
        for record in tf.data.TFRecordDataset(path)
    ]
    assert [each.predict_log.request.model_spec.name for each in read] == ["a", "b" * 1000]


def test_what_tensorflow_writes_is_read(tmp_path):
    path = str(tmp_path / "logs")
    made = prediction_log_pb2.PredictionLog()
    made.regress_log.request.model_spec.name = "m"
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(made.SerializeToString())
    (found,) = records.read(path)
    kind, part = records.parts(found)
    assert (kind, part.request.model_spec.name, part.HasField("response")) == (
        "regress_log",
        "m",
        0,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "damaged at byte"),
        (lambda data: data[:5], "not a TFRecord file, or damaged at byte 0"),
        (lambda data: data[:20] + b"x" + data[21:], "damaged at byte"),
        (lambda data: b'{"a": 1}\n' * 3, "not a TFRecord file"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, change, message):
    path = tmp_path / "logs"
    records.write(str(path), [log("abcdefgh")])
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=message):
        list(records.read(str(path)))


@pytest.mark.parametrize("record", [b"\xff\xff", b""])
def test_other_records_are_refused(tmp_path, record):
    path = str(tmp_path / "logs")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(record)
    with pytest.raises(InputError, match="record 0, is not a PredictionLog"):
        list(records.read(path))
