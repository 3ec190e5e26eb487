import numpy as np
import pytest

from bert_tf.library import texts


class Series:
    """A column of a table, as pandas has them."""

    dtype, index = object, (0, 1)

    def tolist(self):
        return ["a", "b"]


@pytest.mark.parametrize(
    ("x", "first", "second", "is_one"),
    [
        ("a", ["a"], None, True),
        (["a"], ["a"], None, False),
        (np.array(["a", "b"]), ["a", "b"], None, False),
        (np.array([b"a", "b"], object), [b"a", "b"], None, False),
        (Series(), ["a", "b"], None, False),
        (("a", "b"), ["a"], ["b"], True),
        ((["a", "b"], ["c", "d"]), ["a", "b"], ["c", "d"], False),
    ],
)
def test_what_texts_may_be(x, first, second, is_one):
    assert texts.are_plain(x)
    assert texts.read(x) == texts.Given(first, second, is_one)


@pytest.mark.parametrize("x", [{"input_word_ids": 0}, 3, np.zeros((2, 3), np.int32), None, ()])
def test_what_are_no_texts(x):
    assert not texts.are_plain(x)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ([], ValueError, "texts: the list is empty"),
        (["a", None], TypeError, r"texts\[1\] is None \(NoneType\); a string was wanted"),
        ([("a", "b")], TypeError, "Pairs of texts are given as"),
        (("a", "b", "c"), TypeError, "A tuple of 3"),
        ((["a"], ["b", "c"]), ValueError, "a list of 1 as first and a list of 2 as second"),
        (("a", ["b"]), ValueError, "one string as first and a list of 1 as second"),
        ((["a"], [float("nan")]), TypeError, r"second texts\[0\] is nan"),
    ],
)
def test_wrong_texts(x, error, message):
    with pytest.raises(error, match=message):
        texts.read(x)
