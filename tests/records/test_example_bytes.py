"""The bytes are those of protobuf."""

import numpy as np
import tensorflow as tf

from bert_tf.records import example_bytes


def test_bytes_are_those_of_protobufs_deterministic_serialization():
    ids = np.array([[0, 1, 127, 128], [16383, 16384, 2**31 - 1, -1]], np.int64)
    values = {"weights": np.array([0.5, -2.0], np.float32), "input_ids": ids, "none": ids[:0]}
    wanted = tf.train.Example()
    wanted.features.feature["input_ids"].int64_list.value.extend(ids.ravel().tolist())
    wanted.features.feature["weights"].float_list.value.extend([0.5, -2.0])
    wanted.features.feature["none"].int64_list.SetInParent()
    found = example_bytes.encode(values)
    assert found == wanted.SerializeToString(deterministic=True)
