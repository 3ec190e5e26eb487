"""What the four kinds of client share: the same calls give the same answers."""

import inspect
import math
import time

import numpy as np
import pytest

from serving.client import Answer, Retry, ServingError, Settings
from serving.client.asynchronous import AsyncClient
from serving.client.blocking import Client
from serving.status import Code
from tests.reference import snippets

KINDS = ["rest", "grpc", "async rest", "async grpc"]
every_kind = pytest.mark.parametrize("kind", KINDS)
QUICK = Retry(first_seconds=0.01, max_seconds=0.01)


def test_both_classes_have_the_same_methods_with_the_same_keywords():
    def methods(client):
        return {
            name: [str(parameter) for parameter in inspect.signature(each).parameters.values()]
            for name, each in vars(client).items()
            if inspect.isfunction(each) and not name.startswith("_")
        }

    blocking = methods(Client)
    assert blocking.pop("exchange")  # for the other commands only
    assert blocking == methods(AsyncClient)
    assert blocking.keys() == {
        *("predict", "classify", "regress", "metadata", "status", "wait_until_ready", "close")
    }


@every_kind
def test_predict_answers_row_by_row(ask, kind):
    answers = ask(kind, "predict", ["one", "four"])
    assert answers == [
        {"length": 3, "upper": "ONE", "labels": ["a", "b"], "probabilities": [0.25, 0.75]},
        {"length": 4, "upper": "FOUR", "labels": ["a", "b"], "probabilities": [0.5, 0.5]},
    ]
    assert isinstance(answers[0], Answer)
    assert answers[0].ranked() == [("b", 0.75), ("a", 0.25)]
    assert answers[0].ranked(["no", "yes"]) == [("yes", 0.75), ("no", 0.25)]


@every_kind
def test_predict_takes_columns_and_chooses_outputs(ask, endpoint, kind):
    inputs = {"x": np.array([[0.5, math.nan], [1, -math.inf]]), "ids": [1, 2]}
    first, second = ask(kind, "predict", inputs, signature="pair", outputs=["y", "raw_bytes"])
    assert (first["raw_bytes"], second) == (
        b"\xff\1",
        {"y": [1, -math.inf], "raw_bytes": b"\xff\2"},
    )
    assert first["y"][0] == 0.5 and math.isnan(first["y"][1])
    name, given = endpoint.requests[-1]
    assert name == "predict"
    if "grpc" in kind:
        assert given["outputs"] == ["y", "raw_bytes"]


@every_kind
def test_an_output_that_has_no_rows_is_refused_unless_it_is_left_out(ask, kind):
    inputs = {"x": [[0.5], [1.0]], "ids": [1, 2]}
    with pytest.raises(ServingError, match="Output all has no rows for 2 rows of input"):
        ask(kind, "predict", inputs, signature="pair")
    with pytest.raises(ServingError, match="(?s)INVALID_ARGUMENT.*none"):
        ask(kind, "predict", inputs, signature="pair", outputs=["y", "none"])


@every_kind
def test_an_only_output_has_its_name(ask, kind):
    assert ask(kind, "predict", ["é"], signature="upper") == [{"upper": "é"}]


@every_kind
def test_bytes_that_are_not_utf_8_arrive_as_they_are(ask, endpoint, kind):
    answer, other = ask(kind, "predict", [b"a\xff", "\udcff"], outputs=["length"])
    assert (answer, other) == ({"length": 2}, {"length": 1})


@every_kind
def test_large_inputs_are_sent_in_batches_several_at_once(ask, endpoint, kind):
    endpoint.seconds = 0.05
    texts = ["x" * number for number in range(1, 12)]
    settings = Settings(batch_size=2, concurrency=3)
    answers = ask(kind, "predict", texts, settings=settings)
    assert [answer["length"] for answer in answers] == list(range(1, 12))
    names = [name for name, _ in endpoint.requests]
    assert names.count("predict") == 6
    assert 1 < endpoint.most <= 3


@every_kind
def test_no_rows_have_no_answers_and_send_nothing(ask, endpoint, kind):
    assert ask(kind, "predict", []) == []
    assert endpoint.requests == []


@every_kind
def test_version_label_and_signature_are_named(ask, endpoint, kind):
    ask(kind, "predict", ["a"], version=7, signature="upper")
    ask(kind, "predict", ["a"], label="stable/1")
    given = [given for name, given in endpoint.requests if name == "predict"]
    if "grpc" in kind:
        assert [given[0]["spec"].version.value, given[0]["spec"].signature_name] == [7, "upper"]
        assert given[1]["spec"].version_label == "stable/1"
    else:
        assert given[0]["path"] == "/v1/models/m/versions/7:predict"
        assert given[1]["path"] == "/v1/models/m/labels/stable%2F1:predict"
        assert given[0]["body"]["signature_name"] == "upper"
    with pytest.raises(ServingError, match="Version 7 and label 'stable' were given"):
        ask(kind, "predict", ["a"], version=7, label="stable")


@every_kind
def test_classify_and_regress_send_examples(ask, kind):
    assert ask(kind, "classify", ["é", "z"]) == [
        [("a", 0.5), ("é", 0.25)],
        [("a", 0.5), ("z", 0.25)],
    ]
    assert ask(kind, "regress", {"x": [1.0, 3.0]}) == [0.5, 1.5]
    settings = Settings(batch_size=1)
    assert ask(kind, "regress", {"x": np.array([1, 4], np.float32)}, settings=settings) == [
        0.5,
        2.0,
    ]


@every_kind
def test_metadata_and_status(ask, endpoint, kind):
    metadata = ask(kind, "metadata")
    assert metadata.version == 7
    signature = metadata.signature()
    assert {name: (each.dtype, each.shape) for name, each in signature.inputs.items()} == {
        "text": ("DT_STRING", (-1,))
    }
    assert signature.outputs["probabilities"].shape == (-1, 2)
    assert metadata.signature("pair").outputs["all"].shape == ()
    with pytest.raises(ServingError, match="no signature none; it has"):
        metadata.signature("none")
    endpoint.state = "LOADING"
    (status,) = ask(kind, "status")
    assert (status.version, status.state, status.code) == (7, "LOADING", Code.OK)


@every_kind
def test_an_overloaded_server_is_asked_again(ask, endpoint, kind):
    ask(kind, "predict", ["a"])
    endpoint.requests.clear()
    endpoint.failures = [Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED]
    assert ask(kind, "regress", {"x": [1.0]}, settings=Settings(retry=QUICK)) == [0.5]
    assert len(endpoint.requests) == 3
    endpoint.failures = [Code.UNAVAILABLE] * 9
    with pytest.raises(ServingError, match="UNAVAILABLE on purpose") as caught:
        ask(kind, "status", settings=Settings(retry=QUICK))
    assert caught.value.code == Code.UNAVAILABLE
    assert len(endpoint.failures) == 5


@every_kind
@pytest.mark.parametrize("code", [Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.INTERNAL])
def test_an_error_that_would_stay_is_not_tried_again(ask, endpoint, kind, code):
    endpoint.failures = [code, code]
    with pytest.raises(ServingError, match="on purpose") as caught:
        ask(kind, "regress", {"x": [1.0]})
    assert caught.value.code == code
    assert len(endpoint.requests) == 1


@every_kind
def test_the_deadline_bounds_batches_attempts_and_pauses_together(ask, endpoint, kind):
    endpoint.seconds = 0.2
    settings = Settings(batch_size=1, concurrency=1)
    start = time.monotonic()
    with pytest.raises(ServingError) as caught:
        ask(kind, "regress", {"x": [1.0] * 50}, settings=settings, timeout_seconds=0.5)
    assert caught.value.code == Code.DEADLINE_EXCEEDED
    assert time.monotonic() - start < 5  # of the 10 that the batches take
    assert len(endpoint.requests) <= 4


@every_kind
def test_waiting_for_a_model_ends_when_it_has_metadata(ask, endpoint, kind):
    endpoint.failures = [Code.NOT_FOUND]
    assert ask(kind, "wait_until_ready") == 7
    assert [name for name, _ in endpoint.requests] == ["metadata", "status", "metadata"]
    endpoint.state = "LOADING"
    with pytest.raises(ServingError, match="m was not ready .*: version 7 is LOADING") as caught:
        ask(kind, "wait_until_ready", timeout_seconds=0.4)
    assert caught.value.code == Code.DEADLINE_EXCEEDED


@every_kind
def test_no_server_is_unavailable(ask, kind):
    settings = Settings(retry=Retry(max_attempts=2, first_seconds=0.01))
    with pytest.raises(ServingError) as caught:
        ask(kind, "predict", ["a"], settings=settings, url="127.0.0.1:9")
    assert caught.value.code == Code.UNAVAILABLE


@every_kind
def test_large_requests_are_compressed_if_that_is_wanted(ask, endpoint, kind):
    settings = Settings(gzip_from_bytes=1000)
    long = "ab" * 1000
    assert ask(kind, "predict", [long], settings=settings, outputs=["length"]) == [{"length": 2000}]
    ask(kind, "predict", ["short"], settings=settings)
    asked = [given for name, given in endpoint.requests if name == "predict"]
    if "grpc" not in kind:  # gRPC unpacks requests before its server sees them
        assert [given["is_packed"] for given in asked] == [True, False]


@every_kind
def test_answers_of_more_than_4_megabytes_arrive(ask, kind):
    (answer,) = ask(kind, "predict", ["x" * 5_000_000], signature="upper")
    assert answer == {"upper": "X" * 5_000_000}


def test_the_programs_of_the_page_run(endpoint, capsys):
    addresses = {"localhost:8501": endpoint.rest_url, "grpc://localhost:8500": endpoint.grpc_url}
    for program in snippets.blocks("docs/clients.md"):
        for shown, here in addresses.items():
            program = program.replace(shown, here)
        exec(program, {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "[('a', 0.5), ('b', 0.5)]"
    assert printed[2].endswith("[('a', 0.5), ('b', 0.5)]")
    assert printed[3] == "100 ['AVAILABLE']"
    assert printed[4].startswith(("INVALID_ARGUMENT ", "FAILED_PRECONDITION "))
