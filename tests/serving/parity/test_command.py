"""Answers recorded from one server and compared with those of another."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from serving.client import inputs, messages, tensor_messages
from serving.parity import command, records
from serving.parity.options import Parity
from serving.status import Code

APIS = ("rest_url", "grpc_url")


def predict_log(columns, signature=""):
    log = messages.new("PredictionLog")
    request = log.predict_log.request
    request.model_spec.name, request.model_spec.signature_name = "m", signature
    for name, array in inputs.arrays(columns).items():
        tensor_messages.write(array, request.inputs[name])
    return log


@pytest.fixture
def requests(tmp_path):
    """A file with a request of each kind, without answers."""
    numbers = {"x": np.float32([[0.5, 1], [2, 3]]), "ids": np.int32([1, 2])}
    logs = [
        predict_log({"text": ["a", "bc"]}),
        predict_log({"text": ["d"]}, "upper"),
        predict_log(numbers, "pair"),
        messages.new("PredictionLog"),
        messages.new("PredictionLog"),
        messages.new("PredictionLog"),
    ]
    logs[0].predict_log.request.output_filter.extend(["labels", "probabilities"])
    classify, regress = logs[3].classify_log.request, logs[4].regress_log.request
    classify.model_spec.name = regress.model_spec.name = "m"
    feature = classify.input.example_list.examples.add().features.feature["text"]
    feature.bytes_list.value.append("é".encode())
    feature = regress.input.example_list.examples.add().features.feature["x"]
    feature.float_list.value.append(3.0)
    logs[5].multi_inference_log.request.SetInParent()
    path = tmp_path / "requests"
    records.write(str(path), logs)
    return str(path)


@pytest.mark.parametrize("first", APIS)
@pytest.mark.parametrize("second", APIS)
def test_answers_over_both_apis_are_the_same(endpoint, requests, capsys, tmp_path, first, second):
    recorded = str(tmp_path / "recorded")
    command.main(Parity(requests=requests, record=recorded, url=getattr(endpoint, first)))
    printed = capsys.readouterr().out
    assert "Other kinds of requests are left out: 1." in printed
    assert f"Recorded: 5 requests with their answers, in {recorded}." in printed
    logs = [records.parts(log)[1] for log in records.read(recorded)]
    assert sorted(logs[0].response.outputs) == ["labels", "probabilities"]
    shares = tensor_messages.read(logs[0].response.outputs["probabilities"])
    assert shares.dtype == np.float32 and shares.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert logs[3].response.result.classifications[0].classes[1].label == "é"
    command.main(Parity(requests=recorded, url=getattr(endpoint, second), tolerance=0.0))
    printed = capsys.readouterr().out
    assert "probabilities  2 of 2 rows identical, largest difference 0\n" in printed
    assert printed.endswith("The same, with a tolerance of 0.\n")


@pytest.mark.parametrize("api", APIS)
def test_a_difference_ends_with_status_1_and_is_shown(endpoint, requests, capsys, tmp_path, api):
    recorded = str(tmp_path / "recorded")
    flags = {"url": getattr(endpoint, api)}
    command.main(Parity(requests=requests, record=recorded, **flags))
    endpoint.offset = 0.125
    with pytest.raises(SystemExit) as stop:
        command.main(Parity(requests=recorded, **flags))
    assert stop.value.code == 1
    printed = capsys.readouterr().out
    assert "probabilities  1 of 2 rows identical, largest difference 0.125\n" in printed
    assert "probabilities, record 0, row 0: 0.25 was recorded, 0.375 answered" in printed
    assert printed.endswith("Different, with a tolerance of 1e-05.\n")
    command.main(Parity(requests=recorded, tolerance=0.2, **flags))
    endpoint.failures = [Code.OK] * (api == "rest_url") + [Code.INTERNAL]
    with pytest.raises(SystemExit):
        command.main(Parity(requests=recorded, tolerance=0.2, **flags))
    assert "record 0: INTERNAL: INTERNAL on purpose" in capsys.readouterr().out


def test_rows_of_a_file_are_recorded(endpoint, tmp_path, capsys):
    path, recorded = tmp_path / "rows.txt", str(tmp_path / "recorded")
    path.write_bytes(b"one\nfour\n\nfive\n")
    flags = {"model_name": "m", "url": endpoint.grpc_url}
    command.main(Parity(input_file=str(path), record=recorded, batch_size=2, **flags))
    command.main(Parity(requests=recorded, **flags))
    assert "upper          4 of 4 rows identical\n" in capsys.readouterr().out


def test_requests_that_fail_are_not_recorded(endpoint, requests, tmp_path, capsys):
    flags = {"requests": requests, "record": str(tmp_path / "recorded"), "url": endpoint.grpc_url}
    endpoint.failures = [Code.UNIMPLEMENTED]
    command.main(Parity(**flags))
    output = capsys.readouterr()
    assert "Recorded: 4 requests" in output.out
    assert output.err == "Record 0 is left out: UNIMPLEMENTED: UNIMPLEMENTED on purpose\n"


def test_requests_without_answers_have_nothing_to_compare_with(endpoint, requests):
    with pytest.raises(InputError, match="requests without answers.*give --record, and its --url"):
        command.main(Parity(requests=requests, url=endpoint.rest_url))


def test_no_server_is_no_difference(requests, tmp_path):
    flags = {"requests": requests, "record": str(tmp_path / "recorded")}
    with pytest.raises(InputError, match="127.0.0.1:9"):
        command.main(Parity(**flags, url="grpc://127.0.0.1:9"))


def test_a_saved_model_is_asked_in_this_process(base_path, tmp_path, capsys):
    logs = [predict_log({"text": ["aé", "b"]}), predict_log({"x": [2.0], "y": [4.0]}, "divide")]
    for name in ("x", "y"):
        tensor = logs[1].predict_log.request.inputs[name]
        tensor.Clear()
        tensor_messages.write(np.float32([4.0]), tensor)
    path, recorded = str(tmp_path / "requests"), str(tmp_path / "recorded")
    records.write(path, logs)
    flags = {"saved_model": str(base_path / "7")}
    command.main(Parity(requests=path, record=recorded, **flags))
    text, divide = (records.parts(log)[1].response.outputs for log in records.read(recorded))
    assert tensor_messages.read(text["length"]).tolist() == [3, 1]  # bytes of UTF-8
    assert tensor_messages.read(divide["quotient"]).tolist() == [1.0]
    command.main(Parity(requests=recorded, **flags))
    assert capsys.readouterr().out.endswith("The same, with a tolerance of 1e-05.\n")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "Give --requests or --input_file, and not both"),
        ({"input_file": "a"}, "--input_file has no answers to compare with"),
        ({"input_file": "a", "record": "b"}, "--model_name is missing"),
        ({"requests": __file__, "tolerance": -1.0}, "must be at least 0"),
        ({"requests": __file__, "min_identical": 2.0}, "--min_identical=2 must be from 0 to 1"),
    ],
)
def test_wrong_flags_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Parity(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"requests": "none"}, "--requests=none does not exist"),
        ({"requests": __file__, "saved_model": "none"}, "--saved_model=none holds no saved_model"),
        ({"requests": __file__, "record": __file__}, "is --requests too; give another name"),
        ({"requests": __file__}, "not a TFRecord file, or damaged at byte 0"),
    ],
)
def test_files_are_looked_at_before_anything_is_sent(wrong, message):
    with pytest.raises(InputError, match=message):
        command.main(Parity(**wrong))
