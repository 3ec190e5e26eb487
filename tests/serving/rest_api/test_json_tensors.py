import json
import types

import numpy as np
import pytest

from serving.rest_api import json_tensors
from serving.status import ServingError


def specs(**dtypes):
    return {name: types.SimpleNamespace(dtype=dtype) for name, dtype in dtypes.items()}


def test_rows_gain_a_batch_dimension():
    document = {"instances": [[[1, 2, 3], [4, 5, 6]]] * 5}
    form, tensors = json_tensors.read(document, specs(x="int32"))
    assert form == json_tensors.ROW
    assert tensors["x"].dtype == np.int32
    assert tensors["x"].shape == (5, 2, 3)
    np.testing.assert_array_equal(tensors["x"][4], [[1, 2, 3], [4, 5, 6]])


def test_a_column_may_be_a_scalar():
    form, tensors = json_tensors.read({"inputs": "a"}, specs(text="string"))
    assert form == json_tensors.COLUMN
    assert tensors["text"].shape == ()
    assert tensors["text"][()] == b"a"


def test_numbers_of_a_float_overflow_to_infinity_and_small_integers_wrap():
    _, tensors = json_tensors.read({"inputs": [1e300, 3]}, specs(x="float"))
    np.testing.assert_array_equal(tensors["x"], np.array([np.inf, 3], np.float32))
    _, tensors = json_tensors.read({"inputs": [257, -1]}, specs(x="uint8"))
    np.testing.assert_array_equal(tensors["x"], np.array([1, 255], np.uint8))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("uint32", -1), ("uint32", 2**32), ("uint64", -1), ("int64", 2**63), ("bool", 1)],
)
def test_values_out_of_a_type_are_refused(dtype, value):
    with pytest.raises(ServingError, match=f"Type: Number is not of expected type: {dtype}"):
        json_tensors.read({"inputs": [value]}, specs(x=dtype))


def write(form, **tensors):
    names = {
        np.dtype(np.float32): "float",
        np.dtype(np.float64): "double",
        np.dtype(object): "string",
    }
    outputs = {
        name: types.SimpleNamespace(dtype=names.get(array.dtype, array.dtype.name))
        for name, array in tensors.items()
    }
    return json_tensors.write(form, tensors, outputs)


def test_floats_have_their_shortest_text_and_a_point():
    text = write(json_tensors.COLUMN, x=np.array([1 / 3, 2, 9e6, 0.1], np.float32))
    assert b"[0.33333334,2.0,9000000.0,0.1]" in text
    text = write(json_tensors.COLUMN, x=np.array([1 / 3, np.nan], np.float32))
    assert b"[0.33333334,NaN]" in text


def test_rows_of_several_outputs_are_objects():
    text = write(
        json_tensors.ROW,
        count=np.arange(2),
        name=np.array([b"a", b"\xc3\xa9"], object),
        grid=np.arange(12, dtype=np.float32).reshape(2, 2, 3)[:, :, ::2],
    )
    assert json.loads(text) == {
        "predictions": [
            {"count": 0, "name": "a", "grid": [[0.0, 2.0], [3.0, 5.0]]},
            {"count": 1, "name": "é", "grid": [[6.0, 8.0], [9.0, 11.0]]},
        ]
    }


def test_every_row_has_its_probabilities_with_their_labels():
    text = write(
        json_tensors.ROW,
        labels=np.array([[b"no", b"yes"], [b"no", b"yes"]], object),
        probabilities=np.array([[0.75, 0.25], [0.5, 0.5]], np.float32),
    )
    assert json.loads(text)["predictions"] == [
        {"labels": ["no", "yes"], "probabilities": [0.75, 0.25]},
        {"labels": ["no", "yes"], "probabilities": [0.5, 0.5]},
    ]


def test_an_empty_batch_is_an_empty_list():
    empty = np.zeros((0, 3), np.float32)
    assert json.loads(write(json_tensors.ROW, x=empty)) == {"predictions": []}
    assert json.loads(write(json_tensors.ROW, x=empty, y=empty)) == {"predictions": []}
    assert json.loads(write(json_tensors.COLUMN, x=empty)) == {"outputs": []}


def test_outputs_of_unequal_batch_size_are_refused():
    with pytest.raises(ServingError, match="y has inconsistent batch size: 3 expecting: 2"):
        write(json_tensors.ROW, x=np.zeros(2), y=np.zeros(3))
