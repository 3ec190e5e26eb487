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


def test_long_answers_are_written_in_parts():
    wide = np.arange(50_000, dtype=np.float32).reshape(2, 25_000)
    cube = np.arange(60_000, dtype=np.int32).reshape(2, 100, 300)
    many = np.arange(40_000, dtype=np.int32)
    texts = np.array([b"a%d" % index for index in range(40_000)], object)
    for form, tensors in (
        (ROW, {"wide": wide, "cube": cube}),
        (COLUMN, {"wide": wide, "cube": cube}),
        (ROW, {"many": many, "texts": texts}),
        (ROW, {"texts": texts}),
        (COLUMN, {"texts": texts}),
    ):
        dtypes = {"wide": "float", "texts": "string"}
        outputs = {name: types.SimpleNamespace(dtype=dtypes.get(name, "int32")) for name in tensors}
        parts = list(json_writing.prediction(form, tensors, outputs))
        assert len(parts) > 2
        (answer,) = json.loads(b"".join(parts)).values()
        plain = {
            name: [text.decode() for text in array] if name == "texts" else array.tolist()
            for name, array in tensors.items()
        }
        if form == ROW:
            plain_rows = [
                dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)
            ]
            assert answer == (plain["texts"] if len(plain) == 1 else plain_rows)
        else:
            assert answer == (plain["texts"] if len(plain) == 1 else plain)


def test_names_and_empty_dimensions():
    text = write(ROW, **{"100%": np.zeros((2, 0), np.float32), 'a"b': np.zeros((2, 0, 3))})
    assert json.loads(text)["predictions"] == [{"100%": [], 'a"b': []}] * 2
    text = write(ROW, x=np.zeros((2, 2, 0), np.float32))
    assert json.loads(text)["predictions"] == [[[], []]] * 2


def test_bytes_are_objects_in_both_forms_at_any_rank():
    packed = np.array([[b"\xff\x00"], [b"a"]], object)
    objects = [{"b64": "/wA="}], [{"b64": "YQ=="}]
    assert json.loads(write(ROW, x_bytes=packed))["predictions"] == list(objects)
    assert json.loads(write(ROW, x_bytes=packed[:, 0]))["predictions"] == [*objects[0], *objects[1]]
    assert json.loads(write(COLUMN, x_bytes=packed[0, 0:1].reshape(())))["outputs"] == objects[0][0]


def test_classes_have_labels_and_scores_or_one_of_them():
    labels = np.array([[b"a", b"b"]] * 3, object)
    scores = np.array([[0.1, 0.9], [1, 0], [np.nan, np.inf]], np.float32)

    def results(labels, scores):
        return json.loads(b"".join(json_writing.classes(labels, scores)))["results"]

    assert results(labels, scores)[:2] == [[["a", 0.1], ["b", 0.9]], [["a", 1.0], ["b", 0.0]]]
    assert results(None, scores)[0] == [["", 0.1], ["", 0.9]]
    assert results(labels, None)[2] == [["a", 0.0], ["b", 0.0]]
    many = np.tile(scores[:2], (10_000, 1))
    assert len(results(None, many)) == 20_000


def test_numbers_of_a_regression():
    text = b"".join(json_writing.numbers(np.array([0.5, 2, -np.inf], np.float32)))
    assert json.loads(text) == {"results": [0.5, 2.0, float("-inf")]}
