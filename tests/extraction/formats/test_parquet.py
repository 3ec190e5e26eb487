import numpy as np
import pytest

from bert_tf.extraction.formats.parquet import Parquet
from tests.extraction.formats import samples

pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_vector_for_each_token(dtype, tmp_path):
    layout = samples.layout(dtype=dtype)
    rows = samples.rows(layout)
    table = pq.read_table(samples.write(Parquet(layout), tmp_path, [rows[:2], rows[2:]]))
    assert table.column_names == ["linex_index", "tokens", "layer_-1", "layer_embeddings"]
    assert table["linex_index"].to_pylist() == [0, 1, 2]
    assert table["tokens"].to_pylist()[0] == ["[CLS]", "a", "##é", "[SEP]"]
    for number, name in enumerate(("layer_-1", "layer_embeddings")):
        for found, row in zip(table[name].to_pylist(), rows, strict=True):
            np.testing.assert_array_equal(np.array(found, dtype), row.vectors[:, number])


def test_a_vector_for_each_text(tmp_path):
    layout = samples.layout("cls", "sum")
    rows = samples.rows(layout)
    table = pq.read_table(samples.write(Parquet(layout), tmp_path, [rows]))
    assert table.column_names == ["linex_index", "layer_sum"]
    found = np.array(table["layer_sum"].to_pylist(), np.float32)
    np.testing.assert_array_equal(found, [row.vectors[0] for row in rows])
