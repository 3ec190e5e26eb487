import numpy as np
import pytest

from bert_tf.checkpoints.formats import rows

ONE = np.arange(15).reshape(3, 5)
THREE = [ONE, ONE + 100, ONE + 200]


@pytest.mark.parametrize(
    ("row", "arrays", "joined"),
    [
        (rows.same("a", "x"), [ONE], ONE),
        (rows.transposed("a", "x"), [ONE], ONE.T),
        (rows.side_by_side("abc", "x"), THREE, np.hstack(THREE)),
        (rows.transposed_side_by_side("abc", "x"), THREE, np.hstack([a.T for a in THREE])),
        (rows.side_by_side("ab", "x"), [np.arange(3), np.arange(3)], [0, 1, 2, 0, 1, 2]),
    ],
)
def test_both_ways(row, arrays, joined):
    found = row.join(arrays)
    np.testing.assert_array_equal(found, joined)
    back = row.split(found)
    assert len(back) == len(row.names) == len(arrays)
    for array, wanted in zip(back, arrays, strict=True):
        np.testing.assert_array_equal(array, wanted)
