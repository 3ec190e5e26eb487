"""Weights that are put into a SavedModel once it is written."""

import os

import numpy as np
import pytest
import tensorflow as tf

from export.images import saved_model as saved_models
from export.served import constants


def saved(path, arrays):
    """A SavedModel whose function gives the sums of arrays, with zeros in their place."""
    given = constants.Constants()

    def sums(number):
        found = {str(i): tf.reduce_sum(given.zeros_for(x)) for i, x in enumerate(arrays)}
        return {name: tf.cast(x, tf.float32) + number for name, x in found.items()}

    module = tf.Module()
    spec = tf.TensorSpec([], tf.float32, name="number")
    module.sums = tf.function(sums, input_signature=[spec], autograph=False)
    tf.saved_model.save(module, path, signatures=module.sums)
    return given


def test_the_arrays_are_in_the_file_and_nowhere_else(tmp_path):
    import ml_dtypes

    rng = np.random.default_rng(7)
    large = rng.normal(size=(101, 307)).astype(np.float32)
    small = np.array([3.0], np.float32)
    halves = np.arange(12, dtype=np.float32).astype(ml_dtypes.bfloat16).reshape(3, 4)
    ints = np.arange(6, dtype=np.int8).reshape(2, 3)
    given = saved(str(tmp_path), (large[:, 5:9], large, small, halves, ints))
    file = str(tmp_path / saved_models.FILE)
    zeros = saved_models.read(str(tmp_path))
    assert os.path.getsize(file) < large.nbytes / 4
    before = zeros.SerializeToString(deterministic=True)
    given.write(zeros, file)
    assert zeros.SerializeToString(deterministic=True) == before
    with open(file, "rb") as opened:
        assert opened.read().count(large.tobytes()) == 1
    answer = tf.saved_model.load(str(tmp_path)).signatures["serving_default"](tf.constant(0.5))
    wanted = (large[:, 5:9].sum(), large.sum(), 3.0, 66.0, 15.0)
    for name, want in enumerate(wanted):
        np.testing.assert_allclose(answer[str(name)], want + 0.5, rtol=1e-4)
    assert "saved_model.pb.tmp" not in os.listdir(tmp_path)


def test_an_array_of_another_size_is_refused(tmp_path):
    given = saved(str(tmp_path), [np.zeros((2, 3), np.float32)])
    given._arrays[0] = np.zeros((3, 2), np.float32)
    with pytest.raises(
        ValueError, match=r"is float32 \[2, 3\], and its weights are float32 \[3, 2"
    ):
        given.write(saved_models.read(str(tmp_path)), str(tmp_path / saved_models.FILE))
