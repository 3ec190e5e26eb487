import numpy as np
import pytest

from bert_tf.checkpoints import variables
from bert_tf.checkpoints.formats.rows import NameTable, Row
from tests.modeling import harness

ONE = np.arange(15).reshape(3, 5)
THREE = [ONE, ONE + 100, ONE + 200]


@pytest.mark.parametrize(
    ("row", "arrays", "joined"),
    [
        (Row(("a",), "x"), [ONE], ONE),
        (Row(("a",), "x", is_transposed=True), [ONE], ONE.T),
        (Row(("a", "b", "c"), "x"), THREE, np.hstack(THREE)),
        (Row(("a", "b", "c"), "x", is_transposed=True), THREE, np.hstack([a.T for a in THREE])),
        (Row(("a", "b"), "x"), [np.arange(3), np.arange(3)], [0, 1, 2, 0, 1, 2]),
        (Row(("a",), "x", reshaped=((3, 5), (15,))), [ONE.ravel()], ONE),
        (
            Row(("a", "b", "c"), "x", reshaped=((3, 5), (5, 3))),
            [array.reshape(5, 3) for array in THREE],
            np.hstack(THREE),
        ),
    ],
)
def test_both_ways(row, arrays, joined):
    array = row.join(arrays)
    np.testing.assert_array_equal(array, joined)
    back = row.split(array)
    assert len(back) == len(row.names) == len(arrays)
    for array, wanted in zip(back, arrays, strict=True):
        np.testing.assert_array_equal(array, wanted)


TABLE = NameTable(
    names={"encoder/embeddings/word": "words", "span": "answer", "classifier/kernel": "weights"},
    layer="block{n}.",
    in_layer={"attention/qkv": "to_{part}", "output_layer_norm": "norm"},
    endings={"kernel": ".w", "bias": ".b", "gamma": ".scale", "beta": ".shift"},
    transposed="(span|classifier)/kernel",
    has_head_axis=True,
)
H, A, D = harness.H, harness.A, harness.D


def test_a_name_table_has_a_row_for_each_variable_that_it_spells():
    rows = {row.path: row for row in TABLE.rows(harness.config(num_hidden_layers=11))}
    assert rows["encoder/embeddings/word"] == Row(("words",), "encoder/embeddings/word")
    assert rows["span/kernel"] == Row(("answer.w",), "span/kernel", is_transposed=True)
    assert rows["span/bias"] == Row(("answer.b",), "span/bias")
    assert rows["classifier/kernel"].names == ("weights",)
    qkv = rows["encoder/layer_10/attention/qkv/kernel"]
    assert qkv.names == ("block10.to_query.w", "block10.to_key.w", "block10.to_value.w")
    assert qkv.reshaped == ((H, H), (H, A, D))
    assert rows["encoder/layer_10/output_layer_norm/beta"].names == ("block10.norm.shift",)
    assert len(rows) == 1 + 2 + 1 + 11 * 4


def test_the_rows_have_the_order_of_our_variables():
    paths = [row.path for row in TABLE.rows(harness.config())]
    assert paths == [path for path in variables.shapes(harness.config()) if path in paths]
