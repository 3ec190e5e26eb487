"""Tensors as messages, against TensorFlow's own conversions."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from serving.client import messages, tensor_messages
from serving.status import ServingError

TYPES = [
    *(np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64, np.bool_),
]
STRINGS = np.array([["a", b"\xff"], ["é", ""]], object)


def written(array, dtype=None):
    """What TensorFlow reads of a message that is written here."""
    message = messages.new("TensorProto")
    tensor_messages.write(array, message, dtype)
    return tf.make_ndarray(tensor_pb2.TensorProto.FromString(message.SerializeToString()))


def read(tensor):
    """What is read here of a message of TensorFlow."""
    return tensor_messages.read(messages.kind("TensorProto").FromString(tensor.SerializeToString()))


def in_fields(array):
    """A tensor in fields of its type, as TensorFlow Serving answers; from tensors of one number."""
    made = tf.make_tensor_proto(array)
    tensor = tensor_pb2.TensorProto(dtype=made.dtype, tensor_shape=made.tensor_shape)
    for number in array.flat:
        single = tf.make_tensor_proto(number, array.dtype)
        single.ClearField("tensor_shape")
        tensor.MergeFrom(single)
    return tensor


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_go_there_and_back(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    found = written(array)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, array)
    assert not in_fields(array).tensor_content
    for tensor in (tf.make_tensor_proto(array), in_fields(array)):
        back = read(tensor)
        assert back.dtype == dtype
        np.testing.assert_array_equal(back, array)


def test_strings_are_bytes():
    expected = [[b"a", b"\xff"], ["é".encode(), b""]]
    assert written(STRINGS).tolist() == expected
    assert read(tf.make_tensor_proto(expected)).tolist() == expected
    with pytest.raises(ServingError, match="not valid Unicode"):
        written(np.array(["\ud800"], object))


def test_bfloat16_is_widened_and_rounded_to_even():
    values = np.float32([1.0, 1.00390625, 1.01171875, -3.0e38])
    expected = tf.cast(values, tf.bfloat16)
    cast = tensor_messages.cast(values, "DT_BFLOAT16", "x")
    np.testing.assert_array_equal(written(cast, "DT_BFLOAT16"), expected.numpy())
    np.testing.assert_array_equal(
        read(tf.make_tensor_proto(expected.numpy())), tf.cast(expected, tf.float32).numpy()
    )


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 1)])
def test_shapes_of_all_kinds(shape):
    array = np.full(shape, 2.5, np.float32)
    assert written(array).shape == shape
    assert read(tf.make_tensor_proto(array)).shape == shape


def test_values_that_are_left_out_are_the_last_one():
    tensor = tf.make_tensor_proto(np.float32([1, 2, 2, 2]))
    tensor.ClearField("tensor_content")
    tensor.float_val.extend([1, 2])
    assert read(tensor).tolist() == tf.make_ndarray(tensor).tolist() == [1, 2, 2, 2]
    tensor.ClearField("float_val")
    tensor.float_val.extend([1] * 5)
    with pytest.raises(ServingError, match=r"shape \[4\] has 5 values"):
        read(tensor)


def test_values_are_cast_to_the_signature_but_not_to_another_kind():
    assert tensor_messages.cast(np.array([1, 2]), "DT_INT32", "x").dtype == np.int32
    assert tensor_messages.cast(np.array([1, 2]), "DT_FLOAT", "x").dtype == np.float32
    for values, dtype in (([0.5], "DT_INT32"), (["a"], "DT_FLOAT"), ([1], "DT_BOOL")):
        with pytest.raises(ServingError, match=f"Input x is of type {dtype}; .* was given"):
            array = np.array(values, object if isinstance(values[0], str) else None)
            tensor_messages.cast(array, dtype, "Input x")


def test_other_types_are_refused():
    with pytest.raises(ServingError, match="no tensor of type complex64"):
        written(np.complex64([1]))
    with pytest.raises(ServingError, match="DT_COMPLEX64 are not supported"):
        read(tf.make_tensor_proto(np.complex64([1])))
