import numpy as np
import pytest

from bert_tf.errors import InputError
from export.served import measure

BATCH = {"input_mask": np.array([[1, 1, 0], [1, 0, 0]], np.int32)}


def found(want, got, activation="softmax", name="logits"):
    want, got = np.array(want, np.float32), np.array(got, np.float32)
    return measure.agreement(lambda _: {name: want}, lambda _: {name: got}, [BATCH], activation)


def test_labels_that_are_kept():
    want, got = [[3, 1, 2], [0, 5, 4]], [[2.5, 1, 2], [0, 4, 4.5]]
    assert found(want, got) == measure.Agreement(1.0, 2, 1)


def test_several_labels_are_compared_one_by_one():
    assert found([[3, -1, 2], [-1, 5, 4]], [[3, 1, 2], [-1, 5, -4]], "sigmoid") == (
        measure.Agreement(8.0, 6, 4)
    )


def test_numbers_and_vectors_have_no_labels():
    assert found([[3], [1]], [[3], [1.5]], "linear") == measure.Agreement(0.5, 0, 0)
    assert found([[3], [1]], [[3], [1.5]], name="pooled_output") == measure.Agreement(0.5, 0, 0)


def test_padding_is_not_compared():
    want = np.zeros([2, 3, 2], np.float32)
    want[..., 1] = 1
    got = want.copy()
    got[0, 2], got[1, 1:] = 9, 9  # padding
    got[0, 1] = [3, 1]
    assert found(want, got) == measure.Agreement(3.0, 3, 2)


def test_the_report():
    text = measure.text(measure.Agreement(0.0123, 800, 796), measure.Speed(12.34, 156.7))
    assert text == (
        "largest difference from the model 0.012; 99.5 % of 800 labels kept; "
        "12.3 ms of CPU for a row alone, 157 rows per CPU second at 32"
    )


def test_rows_of_a_file(tmp_path):
    path = tmp_path / "texts.tsv"
    path.write_text("one\ttwo\n\nthree\tfour\n")
    assert measure.read_rows(str(path), 2) == [("one", "two"), ("three", "four")]
    with pytest.raises(InputError, match="text 1 has 2 columns, and the model takes 1"):
        measure.read_rows(str(path), 1)
    path.write_text("\n")
    with pytest.raises(InputError, match="no line with text"):
        measure.read_rows(str(path), 1)


def test_every_row_is_answered_by_itself_and_in_batches():
    sizes = []
    measured = measure.speed(lambda rows: sizes.append(len(rows)), [str(n) for n in range(40)])
    assert sizes.count(1) == 20 * 4 and sizes.count(32) == sizes.count(8) == 4
    assert measured.alone_ms >= 0 and measured.rows_per_second > 0
