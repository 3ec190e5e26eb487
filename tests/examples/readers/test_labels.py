"""Cells to labels and weights."""

import pytest

from bert_tf.examples.readers import labels


def test_number_labels():
    read = labels.number(0.0, 5.0)
    assert [read("0"), read("3.800"), read("5.0")] == [0.0, 3.8, 5.0]
    for cell in ("5.01", "-1", "nan", "inf", "", "high"):
        with pytest.raises(ValueError, match="label"):
            read(cell)
    assert labels.number()("-1e9") == -1e9


def test_any_label_is_not_blank():
    assert labels.any_label("x") == "x"
    with pytest.raises(ValueError, match="empty"):
        labels.any_label(" ")


def test_json_values_as_text():
    assert [labels.as_text(cell) for cell in ("a", 1, 2.5, True, False)] == [
        *("a", "1", "2.5", "true", "false")
    ]
    for cell in (None, [], {}):
        with pytest.raises(ValueError, match="text was wanted"):
            labels.as_text(cell)


def test_numbers_of_json_need_no_quotes():
    assert labels.number()(3) == 3.0
    assert labels.one_of(("0", "1"))(1) == "1"


def test_several_labels():
    read = labels.several(labels.one_of(("a", "b", "c")), separator="|")
    assert read("a | c") == ("a", "c")
    assert read("") == ()
    assert read(["b", "a"]) == ("b", "a")
    with pytest.raises(ValueError, match="label 'd' is unknown; known: a, b, c"):
        read("a|d")
    with pytest.raises(ValueError, match="'a' stands more than once"):
        read("a|b|a")


def test_columns_that_hold_or_do_not():
    assert [labels.holds(cell) for cell in ("1", "0", 1, 0, True, "False", "1.0", " 0 ")] == [
        *(True, False, True, False, True, False, True, False)
    ]
    with pytest.raises(ValueError, match="'yes' is neither 1"):
        labels.holds("yes")


def test_weights():
    assert [labels.weight(cell) for cell in ("2.5", 0, "1e2")] == [2.5, 0.0, 100.0]
    for cell in ("-1", "inf", "heavy", None):
        with pytest.raises(ValueError, match="weight"):
            labels.weight(cell)
