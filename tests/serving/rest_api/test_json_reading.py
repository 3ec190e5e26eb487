import numpy as np
import pytest

from serving.rest_api import json_reading
from serving.status import ServingError


def read(document, **inputs):
    return json_reading.read(document, inputs, 2**20)


def test_rows_gain_a_batch_dimension():
    document = {"instances": [[[1, 2, 3], [4, 5, 6]]] * 5}
    form, tensors = read(document, x="int32")
    assert form == json_reading.ROW
    assert tensors["x"].dtype == np.int32
    assert tensors["x"].shape == (5, 2, 3)
    np.testing.assert_array_equal(tensors["x"][4], [[1, 2, 3], [4, 5, 6]])


def test_a_column_may_be_a_scalar():
    form, tensors = read({"inputs": "a"}, text="string")
    assert form == json_reading.COLUMN
    assert tensors["text"].shape == ()
    assert tensors["text"][()] == b"a"


def test_numbers_of_a_float_overflow_to_infinity_and_small_integers_wrap():
    _, tensors = read({"inputs": [1e300, 3]}, x="float")
    np.testing.assert_array_equal(tensors["x"], np.array([np.inf, 3], np.float32))
    _, tensors = read({"inputs": [257, -1]}, x="uint8")
    np.testing.assert_array_equal(tensors["x"], np.array([1, 255], np.uint8))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("uint32", -1), ("uint32", 2**32), ("uint64", -1), ("int64", 2**63), ("bool", 1)],
)
def test_values_out_of_a_type_are_refused(dtype, value):
    with pytest.raises(ServingError, match=f"Type: Number is not of expected type: {dtype}"):
        read({"inputs": [value]}, x=dtype)


NUMBERS = {
    "int8": [-128, 127],
    "uint8": [0, 255],
    "int16": [-5, 5],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**64 - 1],
    "float": [1, -2.5],
    "double": [1e300, 2**64 - 1],
    "bool": [True, False],
    "string": ["a", "é"],
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_both_ways_of_reading_give_the_same(dtype):
    first, second = NUMBERS[dtype]
    grid = [[first, second], [second, first], [first, first]]
    for document in (
        {"inputs": grid},
        {"inputs": {"x": grid, "unknown": 1}},
        {"inputs": [[], []]},
        {"instances": grid},
        {"instances": [{"x": row} for row in grid]},
        {"instances": [first, second]},
        {"instances": [[[]], [[]]]},
    ):
        form, quick = json_reading.read_quickly(document, {"x": dtype}, 100)
        other, slow = json_reading._read_by_value(document, {"x": dtype}, 100)
        assert other == form
        assert quick["x"].dtype == slow["x"].dtype
        np.testing.assert_array_equal(quick["x"], slow["x"], strict=True)


@pytest.mark.parametrize(
    ("document", "dtype"),
    [
        ({"instances": [1, True]}, "int32"),
        ({"instances": [1, 2.0]}, "int32"),
        ({"instances": [2**31]}, "int32"),
        ({"instances": [2**31]}, "int8"),
        ({"instances": [-1]}, "uint32"),
        ({"instances": [-1]}, "uint64"),
        ({"instances": [2**64]}, "uint64"),
        ({"instances": [[1], [1, 2]]}, "float"),
        ({"instances": [[1], 1]}, "float"),
        ({"instances": [1, None]}, "float"),
        ({"instances": [1, "a"]}, "string"),
        ({"instances": ["a" * 101]}, "string"),
        ({"instances": [{"b64": "YQ=="}]}, "string"),
        ({"instances": [{"x": 1}, {"x": 1, "y": 2}]}, "float"),
        ({"instances": [{"x": 1}, 1]}, "float"),
        ({"instances": []}, "float"),
        ({"instances": None, "inputs": [1]}, "float"),
        ({"instances": {"x": 1}}, "float"),
        ({"inputs": 1}, "float"),
        ({"inputs": {"y": [1]}}, "float"),
        ({"inputs": [1]}, "half"),
        ({}, "float"),
    ],
)
def test_what_is_not_read_quickly(document, dtype):
    assert json_reading.read_quickly(document, {"x": dtype}, 100) is None


def test_the_name_of_a_signature_can_be_written_whatever_its_bytes_are():
    assert json_reading.signature_name({"signature_name": "a\udcff"}) == "a?"
    with pytest.raises(ServingError, match="'signature_name' key must be a string value."):
        json_reading.signature_name({"signature_name": None})


def test_deep_lists_are_refused_before_numpy_and_the_stack_are():
    deep = []
    for _ in range(900):
        deep = [deep]
    for document in ({"inputs": deep}, {"instances": [deep]}):
        with pytest.raises(ServingError, match=r"\[\[\[.* has more than 63 dimensions"):
            read(document, x="float")


def test_a_type_that_json_cannot_give_is_refused_without_values_too():
    with pytest.raises(ServingError, match=r"UNIMPLEMENTED: .* \[\] to type: half"):
        read({"inputs": []}, x="half")


def test_a_text_beyond_the_limit_is_refused():
    message = "A text of x has 3 bytes, more than the limit of 2; .* --rest_api_max_text_bytes"
    for value in ("aé", {"b64": "AAAA"}):
        with pytest.raises(ServingError, match=message):
            json_reading.read({"inputs": [value]}, {"x": "string"}, 2)
    assert json_reading.read({"inputs": ["é"]}, {"x": "string"}, 2)[1]["x"] == "é".encode()
