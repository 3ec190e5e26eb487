"""TensorProto to NumPy and back, against TensorFlow's own C++ and Python code."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from serving.grpc_api import tensors
from serving.status import Code, ServingError

NUMBERS = [-3.5, 0.0, 1.25, 100.0, 7.0, 2.0]
TYPES = [
    *(tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.complex64, tf.complex128),
    *(tf.bool, tf.int8, tf.int16, tf.int32, tf.int64),
    *(tf.uint8, tf.uint16, tf.uint32, tf.uint64),
]


def sample(dtype, shape=(2, 3)):
    count = int(np.prod(shape))
    values = np.resize(np.array(NUMBERS), count)
    return (
        (np.abs(values) if dtype.is_unsigned else values)
        .astype(dtype.as_numpy_dtype)
        .reshape(shape)
    )


def by_tensorflow(proto):
    """The tensor that TensorFlow's C++ code makes of a message."""
    dtype = tf.as_dtype(proto.dtype)
    return tf.io.parse_tensor(proto.SerializeToString(), dtype).numpy()


@pytest.mark.parametrize("as_content", [False, True])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
def test_numbers_are_written_as_tensorflow_reads_them(dtype, as_content):
    array = sample(dtype)
    proto = tensors.write(array, as_content)
    assert bool(proto.tensor_content) == as_content
    for reader in (by_tensorflow, lambda proto: tensors.read("x", proto)):
        got = reader(proto)
        assert got.dtype == array.dtype
        np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
def test_numbers_of_a_client_are_read(dtype):
    array = sample(dtype)
    got = tensors.read("x", tf.make_tensor_proto(array))
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("dtype", [tf.float32, tf.complex64, tf.bool, tf.int64])
def test_many_numbers_go_another_way_and_are_the_same(dtype):
    array = sample(dtype, (40, 1000))
    np.testing.assert_array_equal(tensors.read("x", tensors.write(array, False)), array)


def test_strings_both_ways():
    array = np.array([[b"a", b"\xff\x00", b""]] * 2, object)
    proto = tensors.write(array, False)
    assert list(proto.string_val) == [b"a", b"\xff\x00", b""] * 2
    assert tensors.read("x", proto).tolist() == array.tolist()
    assert tensors.read("x", tf.make_tensor_proto(array)).tolist() == array.tolist()


def test_strings_as_contents_are_those_of_tensorflow():
    array = np.array([b"a" * 200, b"", b"\xff"], object)
    proto = tensors.write(array, True)
    assert not proto.string_val
    assert by_tensorflow(proto).tolist() == array.tolist()
    assert tensors.read("x", proto).tolist() == array.tolist()


@pytest.mark.parametrize("shape", [[], [1], [0, 3], [2, 0]])
def test_scalars_and_empty_tensors(shape):
    array = np.zeros(shape, np.float32)
    for as_content in (False, True):
        assert tensors.read("x", tensors.write(array, as_content)).shape == tuple(shape)


def proto(dtype, shape, **values):
    message = tensor_pb2.TensorProto(dtype=dtype, **values)
    for size in shape:
        message.tensor_shape.dim.add(size=size)
    return message


FLOAT, INT8, STRING = types_pb2.DT_FLOAT, types_pb2.DT_INT8, types_pb2.DT_STRING


@pytest.mark.parametrize(
    "message",
    [
        proto(FLOAT, [2, 2], float_val=[1, 2]),  # the last one stands for the rest
        proto(FLOAT, [3]),  # zeros
        proto(FLOAT, [2], float_val=[1, 2, 3]),  # one too many
        proto(FLOAT, [2], double_val=[1, 2]),  # the field of another type
        proto(INT8, [2], int_val=[127, 300]),  # wraps around
        proto(STRING, [3], string_val=[b"a", b"b"]),
        proto(STRING, [2]),
        proto(types_pb2.DT_BFLOAT16, [2]),
        proto(types_pb2.DT_COMPLEX64, [2], scomplex_val=[1, 2]),
    ],
    ids=str,
)
def test_incomplete_values_are_read_as_tensorflow_reads_them(message):
    got = tensors.read("x", message)
    assert got.tolist() == by_tensorflow(message).tolist()


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (proto(0, [1]), "values of DT_INVALID cannot be sent"),
        (proto(types_pb2.DT_RESOURCE, [1]), "values of DT_RESOURCE cannot be sent"),
        (proto(types_pb2.DT_VARIANT, []), "values of DT_VARIANT cannot be sent"),
        (proto(types_pb2.DT_FLOAT_REF, []), "values of DT_FLOAT_REF cannot be sent"),
        (proto(12345, [1]), "values of type 12345 cannot be sent"),
        (proto(FLOAT, [-1]), "the shape [-1] has a negative size"),
        (proto(FLOAT, [0, -5]), "the shape [0,-5] has a negative size"),
        (proto(FLOAT, [1] * 100), "it has 100 dimensions; at most 32 are taken"),
        (proto(FLOAT, [2**40], float_val=[1]), "and too many miss"),
        (proto(FLOAT, [2**62, 2**62]), "and too many miss"),
        (proto(FLOAT, [0, 2**62]), "is too large"),
        (proto(STRING, [10**6], string_val=[b"x" * 10**5]), "and too many miss"),
        (proto(FLOAT, [2], tensor_content=b"\0" * 7), "has 7 bytes; the shape wants 2 values"),
        (proto(FLOAT, [2**62], tensor_content=b"\0" * 8), "has 8 bytes; the shape wants"),
        (proto(FLOAT, [0], tensor_content=b"\0"), "has 1 bytes; the shape wants 0 values"),
        (proto(STRING, [5], tensor_content=b"\1a"), "has 2 bytes for 5 strings"),
        (proto(STRING, [2], tensor_content=b"\1\5a"), "do not add up"),
        (proto(STRING, [2], tensor_content=b"\xff" * 100), "do not add up"),
    ],
)
def test_what_does_not_fit_is_an_invalid_argument(message, why):
    with pytest.raises(ServingError) as raised:
        tensors.read("x", message)
    assert raised.value.code == Code.INVALID_ARGUMENT
    assert raised.value.message.startswith("tensor parsing error: x (")
    assert why in raised.value.message


def test_an_unknown_rank_is_refused():
    message = proto(FLOAT, [], float_val=[1])
    message.tensor_shape.unknown_rank = True
    with pytest.raises(ServingError, match="its shape is unknown"):
        tensors.read("x", message)
