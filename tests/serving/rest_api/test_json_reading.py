import numpy as np
import pytest

from serving.rest_api import json_reading
from serving.status import ServingError


def read(document, **inputs):
    """Tensors as `read` gives them, and `read_quickly` if it does."""
    form, tensors = json_reading.read(document, inputs, 2**20)
    return form, tensors


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
