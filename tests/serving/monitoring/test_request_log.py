import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2
from tensorflow_serving.config import logging_config_pb2

from serving.models import servable, warmup
from serving.monitoring import prediction_logs, request_log
from serving.monitoring.metrics import Metrics
from serving.monitoring.request_log import RequestLogs
from serving.status import Code, ServingError


def config(prefix, rate=1.0, kind="tfrecord"):
    result = logging_config_pb2.LoggingConfig()
    result.log_collector_config.type = kind
    result.log_collector_config.filename_prefix = str(prefix)
    result.sampling_config.sampling_rate = rate
    return result


def record(text):
    target = prediction_logs.Target("m", 7, "serving_default")
    feeds = {"text": np.array([text], object)}
    return lambda: prediction_logs.predict(target, feeds, {"length": np.array([len(text)])})


def records(path):
    for each in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        yield prediction_log_pb2.PredictionLog.FromString(each)


@pytest.fixture
def logs():
    made = RequestLogs(Metrics())
    yield made
    made.close()


def count(logs, status):
    return logs._metrics.request_log_count.value("m", status)


def test_requests_are_logged_with_their_answers(tmp_path, logs):
    logs.configure({"m": [config(tmp_path / "log")]})
    logs.log("m", record(b"first"))
    logs.log("another", record(b"of a model without a log"))
    logs.log("m", record(b"second"))
    logs.close()
    (path,) = tmp_path.glob("log-*.tfrecord")
    assert list(tmp_path.iterdir()) == [path]
    first, second = records(path)
    assert tf.make_ndarray(first.predict_log.request.inputs["text"]).tolist() == [b"first"]
    assert tf.make_ndarray(second.predict_log.response.outputs["length"]).tolist() == [6]
    assert first.log_metadata.model_spec.version.value == 7
    assert first.log_metadata.model_spec.name == "m"
    assert first.log_metadata.timestamp_secs > 1_700_000_000
    assert count(logs, "OK") == 2


def test_a_log_warms_the_next_version_up(tmp_path, logs, base_path):
    logs.configure({"m": [config(tmp_path / "log")]})
    logs.log("m", record(b"a text that a client sent"))
    logs.close()
    version = tmp_path / "9"
    (version / "assets.extra").mkdir(parents=True)
    for each in (base_path / "7").iterdir():
        (version / each.name).symlink_to(each)
    (path,) = tmp_path.glob("log-*.tfrecord")
    path.rename(version / "assets.extra" / "tf_serving_warmup_requests")
    assert warmup.run(servable.Servable("m", 9, str(version))) == 1


def test_a_file_has_no_more_records_than_a_warm_up_reads(tmp_path, logs, monkeypatch):
    monkeypatch.setattr(request_log, "_MAX_RECORDS", 2)
    logs.configure({"m": [config(tmp_path / "log")]})
    for text in (b"1", b"2", b"3"):
        logs.log("m", record(text))
    logs.close()
    assert sorted(len(list(records(path))) for path in tmp_path.iterdir()) == [1, 2]
    assert request_log._MAX_RECORDS == 2


def test_a_request_never_waits_for_the_log(tmp_path, logs, monkeypatch):
    monkeypatch.setattr(request_log, "_MAX_WAITING", 2)
    logs.configure({"m": [config(tmp_path / "log")]})
    may_go_on, is_busy = threading.Event(), threading.Event()

    def slow():
        is_busy.set()
        assert may_go_on.wait(30)
        return record(b"slow")()

    logs.log("m", slow)
    assert is_busy.wait(30)
    for _ in range(5):
        logs.log("m", record(b"next"))
    assert count(logs, "RESOURCE_EXHAUSTED") == 3  # two fit
    may_go_on.set()
    logs.close()
    assert count(logs, "OK") == 3


def test_a_request_that_cannot_be_logged_is_counted(tmp_path, logs):
    logs.configure({"m": [config(tmp_path / "log")]})
    logs.log("m", lambda: 1 / 0)
    logs.log("m", record(b"next"))
    logs.close()
    assert (count(logs, "INTERNAL"), count(logs, "OK")) == (1, 1)


def test_the_sampling_rate_is_a_share(tmp_path, logs):
    logs.configure({"m": [config(tmp_path / "log", rate=0.0)]})
    logs.log("m", record(b"not in the sample"))
    logs.configure({"m": [config(tmp_path / "log", rate=1.0)]})  # the other log ends
    logs.log("m", record(b"in the sample"))
    logs.close()
    (path,) = tmp_path.iterdir()
    assert len(list(records(path))) == 1


def test_what_is_logged_may_change_while_serving(tmp_path, logs):
    kept = config(tmp_path / "kept")
    logs.configure({"m": [kept, config(tmp_path / "left")]})
    logs.log("m", record(b"1"))
    logs.configure({"m": [kept]})
    assert [path.name[:4] for path in tmp_path.glob("*.tfrecord")] == ["left"]
    logs.log("m", record(b"2"))
    logs.close()
    (path,) = tmp_path.glob("kept*.tfrecord")
    assert len(list(records(path))) == 2


@pytest.mark.parametrize(
    ("prefix", "rate", "kind", "code", "message"),
    [
        ("log", 1.0, "kafka", Code.NOT_FOUND, "Cannot find LogCollector::Factory for type: kafka"),
        ("log", 1.5, "tfrecord", Code.INVALID_ARGUMENT, "sampling_rate of model m is 1.5"),
        ("no/such/log", 1.0, "tfrecord", Code.INVALID_ARGUMENT, "filename_prefix '.*no/such/log'"),
    ],
)
def test_a_wrong_configuration_changes_nothing(tmp_path, logs, prefix, rate, kind, code, message):
    logs.configure({"m": [config(tmp_path / "kept")]})
    with pytest.raises(ServingError, match=message) as caught:
        logs.configure({"m": [config(tmp_path / prefix, rate, kind)]})
    assert caught.value.code == code
    logs.log("m", record(b"still logged"))
    logs.close()
    assert [path.name[:4] for path in tmp_path.iterdir()] == ["kept"]
