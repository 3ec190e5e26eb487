"""Differences of answers."""

import numpy as np
import pytest

from serving.parity.comparison import Comparison


def strings(*values):
    return np.array([value.encode() for value in values], object)


def test_numbers_differ_by_their_largest_absolute_difference():
    comparison = Comparison(tolerance=0.01, num_shown=1)
    comparison.add(
        0, {"x": np.array([[1.0, 2.0], [3, 4]])}, {"x": np.array([[1.0, 2.0], [3, 4.5]])}
    )
    comparison.add(1, {"x": np.array([[1.0, 2.0]])}, {"x": np.array([[1.25, 2.0]])})
    (output,) = comparison.outputs.values()
    assert (output.largest, output.rows, output.identical, output.is_text) == (0.5, 3, 1, False)
    (first,) = output.first
    assert (first.record, first.row, first.recorded, first.found) == (0, 1, "4", "4.5")
    assert not comparison.is_same(1.0)


@pytest.mark.parametrize(
    ("recorded", "found", "largest"),
    [
        (np.nan, np.nan, 0.0),
        (np.inf, np.inf, 0.0),
        (np.inf, -np.inf, np.inf),
        (np.nan, 1.0, np.inf),
        (1, 3, 2.0),
        (True, False, 1.0),
        (np.uint64(2**63), np.uint64(2**63), 0.0),
    ],
)
def test_values_that_are_no_plain_numbers(recorded, found, largest):
    comparison = Comparison(tolerance=1e-5, num_shown=5)
    comparison.add(0, {"x": np.array([recorded])}, {"x": np.array([found])})
    assert comparison.outputs["x"].largest == largest
    assert comparison.is_same(1.0) == (largest == 0)


def test_a_difference_within_the_tolerance_is_the_same():
    comparison = Comparison(tolerance=0.5, num_shown=5)
    comparison.add(0, {"x": np.float32([1.0])}, {"x": np.float32([1.5])})
    assert comparison.is_same(1.0)
    assert comparison.outputs["x"].first == []


def test_strings_are_the_same_or_not():
    comparison = Comparison(tolerance=9.0, num_shown=5)
    comparison.add(
        4, {"label": strings("a", "b", "c", "d")}, {"label": strings("a", "x", "c", "d")}
    )
    output = comparison.outputs["label"]
    assert (output.identical_share, output.largest, output.is_text) == (0.75, 0.0, True)
    (first,) = output.first
    assert (first.record, first.row, first.recorded, first.found) == (4, 1, "'b'", "'x'")
    assert comparison.is_same(0.75) and not comparison.is_same(0.76)


def test_what_cannot_be_compared_is_a_problem():
    comparison = Comparison(tolerance=9.0, num_shown=5)
    comparison.add(
        0, {"x": np.zeros(2), "gone": np.zeros(2)}, {"x": np.zeros(3), "new": np.zeros(2)}
    )
    comparison.add(1, {"x": np.zeros(1)}, {"x": strings("a")})
    comparison.fail(2, "INTERNAL: why")
    assert comparison.problems == [
        "record 0: output gone is not answered",
        "record 0: output new is not recorded",
        "record 0: output x has shape [3]; recorded was [2]",
        "record 1: output x is of type object; recorded was float64",
        "record 2: INTERNAL: why",
    ]
    assert not comparison.is_same(0.0)


def test_an_output_without_a_batch_dimension_is_one_row():
    comparison = Comparison(tolerance=0.0, num_shown=5)
    comparison.add(0, {"x": np.array(2.0)}, {"x": np.array(2.0)})
    assert (comparison.outputs["x"].rows, comparison.is_same(1.0)) == (1, True)
