import os

import numpy as np

from serving.rest_api import flat_tensors


def test_tensors_come_back():
    texts = [b"a" * (index % 300) for index in range(9000)]
    tensors = {
        "text": np.array([texts[:4500], texts[4500:]], object),
        "scalar": np.array(b"one", object),
        "ids": np.arange(6, dtype=np.int32).reshape(2, 3),
        "truth": np.array([True, False]),
        "none": np.zeros((2, 0), np.float32),
        "no_text": np.empty((0, 3), object),
        "x": np.array([1.5, np.nan]),
    }
    file = os.memfd_create("test")
    entries = flat_tensors.write(tensors, file)
    reader = flat_tensors.Reader(entries, file)
    os.close(file)
    assert len(list(reader)) >= 2  # pauses
    assert list(reader.tensors) == list(tensors)
    for name, tensor in tensors.items():
        assert reader.tensors[name].dtype == tensor.dtype
        np.testing.assert_array_equal(reader.tensors[name], tensor)


def test_a_file_of_nothing():
    file = os.memfd_create("test")
    reader = flat_tensors.Reader(flat_tensors.write({"x": np.zeros(0)}, file), file)
    os.close(file)
    assert list(reader) == []
    assert reader.tensors["x"].shape == (0,)
