import json
import types

import numpy as np
import pytest

from serving.rest_api import json_writing
from serving.rest_api.json_reading import COLUMN, ROW
from serving.status import ServingError


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
    return b"".join(json_writing.prediction(form, tensors, outputs))


def test_floats_have_their_shortest_text_and_a_point():
    text = write(COLUMN, x=np.array([1 / 3, 2, 9e6, 0.1], np.float32))
    assert b"[0.33333334,2.0,9000000.0,0.1]" in text
    text = write(COLUMN, x=np.array([1 / 3, np.nan], np.float32))
    assert b"[0.33333334,NaN]" in text


def test_rows_of_several_outputs_are_objects():
    text = write(
        ROW,
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
        ROW,
        labels=np.array([[b"no", b"yes"], [b"no", b"yes"]], object),
        probabilities=np.array([[0.75, 0.25], [0.5, 0.5]], np.float32),
    )
    assert json.loads(text)["predictions"] == [
        {"labels": ["no", "yes"], "probabilities": [0.75, 0.25]},
        {"labels": ["no", "yes"], "probabilities": [0.5, 0.5]},
    ]


def test_an_empty_batch_is_an_empty_list():
    empty = np.zeros((0, 3), np.float32)
    assert json.loads(write(ROW, x=empty)) == {"predictions": []}
    assert json.loads(write(ROW, x=empty, y=empty)) == {"predictions": []}
    assert json.loads(write(COLUMN, x=empty)) == {"outputs": []}


def test_outputs_of_unequal_batch_size_are_refused():
    with pytest.raises(ServingError, match="y has inconsistent batch size: 3 expecting: 2"):
        write(ROW, x=np.zeros(2), y=np.zeros(3))
