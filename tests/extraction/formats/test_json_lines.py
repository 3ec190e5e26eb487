"""The released layout, written here as the released code writes it."""

import collections
import gzip
import json

import numpy as np
import pytest

from bert_tf.extraction.formats.json_lines import JsonLines
from tests.extraction.formats import samples


def released(row, names):
    """The object of a line, put together one number at a time."""
    features = []
    for index, of_token in zip(row.row.word_ids, row.vectors, strict=True):
        layers = [
            collections.OrderedDict(index=name, values=[round(float(x), 6) for x in vector])
            for name, vector in zip(names, of_token, strict=True)
        ]
        features.append(collections.OrderedDict(token=samples.TOKENS[index], layers=layers))
    return collections.OrderedDict(linex_index=row.row.number, features=features)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_the_released_layout(is_compressed, tmp_path):
    layout = samples.layout()
    rows = samples.rows(layout)
    lines = JsonLines(layout, is_compressed=is_compressed)
    path = samples.write(lines, tmp_path, [rows[:2], rows[2:]])
    data = gzip.decompress(path.read_bytes()) if is_compressed else path.read_bytes()
    found = [
        json.loads(line, object_pairs_hook=collections.OrderedDict)
        for line in data.decode("utf-8").splitlines()
    ]
    assert found == [released(row, (-1, "embeddings")) for row in rows]


def test_numbers_are_rounded_as_the_released_code_rounds_them():
    """Ties and all magnitudes: `round(float(x), 6)` of each number."""
    rng = np.random.default_rng(5)
    layout = samples.layout(combination="mean")
    for scale in (1e-7, 1e-5, 1e-2, 1.0, 30.0):
        vectors = rng.normal(0, scale, (1, 1, 20_011)).astype(np.float32)
        vectors[..., :7] = np.array([0.5, 1.5, 2.5, -0.5, 0, 1 / 128, 3 / 128]) * 2.0**-13
        (row, *_) = samples.rows(layout)
        row = row._replace(row=row.row._replace(word_ids=[2]), vectors=vectors)
        found = json.loads(JsonLines(layout).encode([row])["rows"])
        values = found["features"][0]["layers"][0]["values"]
        assert values == [round(float(x), 6) for x in vectors[0, 0]]


def test_one_vector_for_each_text(tmp_path):
    layout = samples.layout("mean")
    rows = samples.rows(layout)
    path = samples.write(JsonLines(layout), tmp_path, [rows])
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each.keys() for each in found] == [{"linex_index", "layers"}] * 3
    assert [[layer["index"] for layer in each["layers"]] for each in found] == [
        [-1, "embeddings"]
    ] * 3
    values = [[layer["values"] for layer in each["layers"]] for each in found]
    np.testing.assert_allclose(values, [row.vectors for row in rows], rtol=0, atol=5.1e-7)
