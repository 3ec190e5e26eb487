"""JSON of the REST API, and the errors that its statuses stand for."""

import json
import math

import numpy as np
import pytest

from serving.client import inputs, rest_requests
from serving.client.rest_requests import RestRequests
from serving.models.spec import ModelSpec
from serving.status import Code, ServingError


def body(columns, **spec):
    made = RestRequests().predict(ModelSpec("m", **spec), inputs.arrays(columns), (), None)
    return json.loads(made.body)


def test_inputs_are_columns():
    assert body(["a", b"\xff", "é"]) == {"inputs": ["a", {"b64": "/w=="}, "é"]}
    columns = {"ids": np.int32([[1, 2]]), "x": np.float32([0.1]), "flag": [True]}
    assert body(columns, signature_name="s") == {
        "signature_name": "s",
        "inputs": {"ids": [[1, 2]], "x": [0.1], "flag": [True]},
    }


def test_numbers_that_are_not_finite_are_not_null():
    sent = body({"x": np.array([math.nan, math.inf, 0.5]), "text": ["a", "b", "c"]})
    assert math.isnan(sent["inputs"]["x"][0]) and sent["inputs"]["x"][1:] == [math.inf, 0.5]
    assert sent["inputs"]["text"] == ["a", "b", "c"]


def test_slices_and_half_precision_can_be_sent():
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    assert body({"x": array.T})["inputs"]["x"] == [[0, 3], [1, 4], [2, 5]]


def test_whole_floats_of_examples_stay_floats():
    """TensorFlow Serving makes an int64 feature of 1, which a float feature refuses."""
    features = inputs.arrays({"x": [1.0, 2.5], "text": ["a", "b"]})
    sent = RestRequests().regress(ModelSpec("m"), features).body
    assert b'"x":1.0' in sent


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, Code.INVALID_ARGUMENT),
        (401, Code.UNAUTHENTICATED),
        (403, Code.PERMISSION_DENIED),
        (404, Code.NOT_FOUND),
        (413, Code.INVALID_ARGUMENT),
        (418, Code.INVALID_ARGUMENT),
        (429, Code.RESOURCE_EXHAUSTED),
        (500, Code.INTERNAL),
        (501, Code.UNIMPLEMENTED),
        (502, Code.UNAVAILABLE),
        (503, Code.UNAVAILABLE),
        (504, Code.DEADLINE_EXCEEDED),
        (599, Code.UNKNOWN),
    ],
)
def test_the_code_of_a_status(status, code):
    with pytest.raises(ServingError) as caught:
        rest_requests.checked(status, b'{"error": "why"}', "GET /")
    assert (caught.value.code, caught.value.message) == (code, "why")
    with pytest.raises(ServingError, match=f"GET / was answered with status {status} and not JSON"):
        rest_requests.checked(status, b"<html>", "GET /")


@pytest.mark.parametrize("answer", [b"", b"<html>", b'{"a": 1}', b"[1]", b"null"])
def test_an_answer_that_is_none_is_an_error_of_the_server(answer):
    read = RestRequests().status(ModelSpec("m")).read
    with pytest.raises(ServingError) as caught:
        read(answer)
    assert caught.value.code == Code.INTERNAL


def test_an_answer_may_hold_nan_and_bytes():
    read = RestRequests().predict(ModelSpec("m"), inputs.arrays(["a"]), (), None).read
    found = read(b'{"outputs": {"x": [NaN, -Infinity], "raw_bytes": [{"b64": "/w=="}]}}')
    assert math.isnan(found["x"][0]) and found["x"][1] == -math.inf
    assert found["raw_bytes"] == [b"\xff"]
    assert read(b'{"outputs": [[{"b64": "/w=="}]]}') == {inputs.ONLY: [[b"\xff"]]}
