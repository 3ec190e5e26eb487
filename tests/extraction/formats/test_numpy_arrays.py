import numpy as np
import pytest

from bert_tf.extraction.formats.numpy_arrays import NumpyArrays
from tests.extraction.formats import samples


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_vector_for_each_token(dtype, tmp_path):
    layout = samples.layout(dtype=dtype)
    rows = samples.rows(layout)
    found = np.load(samples.write(NumpyArrays(layout), tmp_path, [rows[:1], rows[1:]]))
    assert sorted(found) == ["layers", "row_splits", "values", "word_ids"]
    assert found["layers"].tolist() == ["-1", "embeddings"]
    assert found["row_splits"].tolist() == [0, 4, 6, 9]
    assert found["word_ids"].tolist() == [2, 5, 6, 3, 2, 3, 2, 7, 3]
    assert found["values"].dtype == dtype
    np.testing.assert_array_equal(found["values"], np.concatenate([row.vectors for row in rows]))


def test_a_vector_for_each_text(tmp_path):
    layout = samples.layout("max", "concat")
    rows = samples.rows(layout)
    found = np.load(samples.write(NumpyArrays(layout), tmp_path, [rows]))
    assert sorted(found) == ["layers", "values"]
    assert found["values"].shape == (3, 1, samples.N * samples.H)
    np.testing.assert_array_equal(found["values"], np.stack([row.vectors for row in rows]))
