"""Values of tensors as an answer has them."""

import numpy as np
import pytest

from serving.client import grpc_requests


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.float32([0.1, 1 / 3, 9e6, -1e-30]), [0.1, 0.33333334, 9000000.0, -1e-30]),
        (np.float32([[0.1], [np.inf]]), [[0.10000000149011612], [float("inf")]]),
        (np.float64([0.1]), [0.1]),
        (np.int32([[1], [2]]), [[1], [2]]),
        (np.float32(0.5), 0.5),
        (np.zeros((2, 0), np.float32), [[], []]),
    ],
)
def test_numbers_have_the_digits_of_their_type(values, expected):
    found = grpc_requests.as_values(np.asarray(values), "x")
    assert found == expected


def test_strings_are_decoded_unless_they_are_bytes():
    values = np.array([["é".encode(), b"\xff"]], object)
    assert grpc_requests.as_values(values, "x") == [["é", b"\xff"]]
    assert grpc_requests.as_values(values, "x_bytes") == [["é".encode(), b"\xff"]]
