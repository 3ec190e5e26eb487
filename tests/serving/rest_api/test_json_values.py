import pytest

from serving.rest_api import json_values
from serving.status import ServingError


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "Null"),
        (True, "True"),
        (False, "False"),
        (1, "Number"),
        (1.5, "Number"),
        ("a", "String"),
        ([], "Array"),
        ({}, "Object"),
    ],
)
def test_names_of_types(value, name):
    assert json_values.type_name(value) == name


@pytest.mark.parametrize("text", ["YWI=", "YWI", "Y W\nI=\t="])
def test_base64_may_lack_padding_and_have_white_space(text):
    assert json_values.base64_bytes({"b64": text}) == b"ab"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"b64": "?"}, "Unable to base64 decode"),
        ({"b64": "YWJ"[:1]}, "Unable to base64 decode"),
        ({"b64": "é"}, "Unable to base64 decode"),
        ({"b64": 1}, "not formatted correctly for base64 data"),
        ({"b64": "YWI=", "a": 1}, "not formatted correctly for base64 data"),
        ({}, "JSON Value: {} not formatted correctly for base64 data"),
    ],
)
def test_what_stands_for_no_bytes(value, message):
    with pytest.raises(ServingError) as caught:
        json_values.base64_bytes(value)
    assert message in caught.value.message


def test_texts_have_a_limit():
    assert json_values.checked_text(b"abc", "x", 3) == b"abc"
    with pytest.raises(ServingError, match="A text of x has 4 bytes, more than the limit of 3; "):
        json_values.checked_text(b"abcd", "x", 3)
