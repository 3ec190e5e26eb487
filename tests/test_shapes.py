"""The check names the tensor, the axis, what was wanted and what was found."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features, shapes


def test_what_fits_comes_back():
    x = np.zeros((2, 3, 5))
    shapes.check("hidden", x, "B T H", H=5)


def test_sizes_left_open_pass():
    shapes.check("x", np.zeros((2, 3)), "B T", T=None)
    shapes.check("x", tf.TensorSpec([None, 3]), "B T", B=7, T=3)


@pytest.mark.parametrize(
    ("shape", "spec", "sizes", "message"),
    [
        ((2, 3), "B T H", {}, r"hidden: want \[B T H\] \(rank 3\), got shape \(2, 3\)"),
        ((2, 3, 5), "B T H", {"H": 7}, r"hidden: axis H \(hidden\) must be 7, got 5 in shape \(2,"),
        ((2, 3, 5), "B T T", {}, r"axis T \(tokens\) must be 3, got 5 .*\[B T T\]"),
        ((None, 3, 5), "B T H", {"T": 2}, r"axis T \(tokens\) must be 2, got 3"),
    ],
)
def test_what_does_not_fit_is_refused(shape, spec, sizes, message):
    with pytest.raises(ValueError, match=message):
        shapes.check("hidden", tf.TensorSpec(shape), spec, **sizes)


def test_every_axis_of_a_feature_has_a_letter():
    rows = [value for value in vars(features).values() if isinstance(value, features.Feature)]
    assert rows
    assert [row for row in rows if not set(row.axes.split()) <= shapes.AXES.keys()] == []
