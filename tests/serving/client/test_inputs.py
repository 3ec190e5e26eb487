"""What clients are given."""

import numpy as np
import pytest

from serving.client import inputs
from serving.status import ServingError


def test_texts_and_columns_become_arrays_with_a_row_each():
    assert inputs.arrays(["a", b"b"])[inputs.ONLY].tolist() == ["a", b"b"]
    found = inputs.arrays({"x": np.ones((2, 3), np.float32), "text": ("a", "b"), "n": [1, 2]})
    assert {name: array.shape for name, array in found.items()} == {
        "x": (2, 3),
        "text": (2,),
        "n": (2,),
    }
    assert found["x"].dtype == np.float32 and found["text"].dtype == object
    nested = inputs.arrays({"choices": [["a", "b"], ["c", ""]]})["choices"]
    assert nested.shape == (2, 2)
    assert inputs.arrays(np.array(["long" * 9, "a"]))[inputs.ONLY].dtype == object


def test_batches_have_at_most_so_many_rows():
    feeds = inputs.arrays({"x": [[1], [2], [3]], "y": ["a", "b", "c"]})
    found = [
        {name: array.tolist() for name, array in each.items()} for each in inputs.batches(feeds, 2)
    ]
    assert found == [{"x": [[1], [2]], "y": ["a", "b"]}, {"x": [[3]], "y": ["c"]}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a text", "A list of texts was wanted, not a text: 'a text'"),
        ({"x": [1], "y": [1, 2]}, "unequal numbers of rows: {'x': 1, 'y': 2}"),
        ({"x": [[1], [2, 3]]}, "Input x has rows of unequal shape"),
        ({"x": [["a"], ["b", "c"]]}, "Input x has a list among its texts"),
        ({"x": ["a", 1]}, "Input x has a int among its texts: 1"),
        ({"x": 1}, "Input x has no rows"),
        ({"x": [1j]}, "values of type complex128"),
        ({"x": np.array(["2020-01-01"], "M8[D]")}, "which is no type of a tensor"),
    ],
)
def test_what_cannot_be_sent_is_refused(given, message):
    with pytest.raises(ServingError) as caught:
        inputs.arrays(given)
    assert message in caught.value.message
