"""Examples are compared with what TensorFlow's own protobuf classes read from the bytes."""

import pytest

from serving.rest_api import json_examples
from serving.status import ServingError


def values(serialized):
    from tensorflow.core.example import example_pb2

    features = example_pb2.Example.FromString(serialized).features.feature
    return {
        name: list(getattr(feature, feature.WhichOneof("kind")).value)
        if feature.WhichOneof("kind")
        else None
        for name, feature in features.items()
    }


def test_features_by_the_kind_of_their_values():
    example = {
        "text": "é" * 100,
        "bytes": [{"b64": "/wA="}, "a"],
        "whole": [1, -1, 2**63 - 1, -(2**63), 300, True],
        "float": [1.0, -0.5, 1e39, float("-inf")],
        "none": [],
    }
    (serialized,) = json_examples.read({"examples": [example]}, 1000)
    assert values(serialized) == {
        "text": [("é" * 100).encode()],
        "bytes": [b"\xff\x00", b"a"],
        "whole": [1, -1, 2**63 - 1, -(2**63), 300, 1],
        "float": [1.0, -0.5, float("inf"), float("-inf")],
        "none": None,
    }


def test_the_context_is_part_of_every_example_which_may_replace_it():
    document = {"context": {"a": 1, "b": "x"}, "examples": [{"c": 2.5}, {"a": 5}]}
    first, second = json_examples.read(document, 1000)
    assert values(first) == {"a": [1], "b": [b"x"], "c": [2.5]}
    assert values(second) == {"a": [5], "b": [b"x"]}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "When method is classify, key 'examples' is expected and was not found"),
        ({"examples": {}}, "Expecting 'examples' value to be an list/array"),
        ({"examples": []}, "'examples' value is an empty array"),
        ({"examples": [5]}, "Example must be JSON object but got JSON Number"),
        ({"examples": [True]}, "Example must be JSON object but got JSON True"),
        ({"examples": [{}], "context": None}, "Example must be JSON object but got JSON Null"),
        ({"examples": [{"f": None}]}, "Feature: f has element with unexpected JSON type: Null"),
        ({"examples": [{"f": [[1]]}]}, "Feature: f has element with unexpected JSON type: Array"),
        ({"examples": [{"f": {}}]}, "Feature: f has element with unexpected JSON type: Object"),
        (
            {"examples": [{"f": [1, 1.5]}]},
            "Unexpected element type in feature: f expecting type: int64",
        ),
        (
            {"examples": [{"f": [1.5, "a"]}]},
            "Unexpected element type in feature: f expecting type: float",
        ),
        (
            {"examples": [{"f": ["a", True]}]},
            "Unexpected element type in feature: f expecting type: bytes",
        ),
        (
            {"examples": [{"f": 2**63}]},
            "Feature: f has uint64_t element. Only int64_t is supported.",
        ),
        ({"examples": [{"f": {"b64": "?"}}]}, "Unable to base64 decode"),
        ({"examples": [{"f": "a" * 11}]}, "A text of f has 11 bytes, more than the limit of 10; "),
    ],
)
def test_refused_examples(document, message):
    with pytest.raises(ServingError) as caught:
        json_examples.read(document, 10)
    assert caught.value.code.name == "INVALID_ARGUMENT"
    assert message in caught.value.message
