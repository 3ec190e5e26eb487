"""TensorProto to NumPy and back, by the rules of TensorFlow's C++ code.

`tf.make_ndarray` and `tf.make_tensor_proto` know no string contents, take single values through
Python, and allocate whatever a shape asks for.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from serving.status import ServingError, invalid

_MAX_DIMS = 32  # of arrays; NumPy has 64 since 2.0
# A few bytes may ask for a tensor of any size, because a value stands for all that follow it.
_MAX_FILLED_BYTES = 64 * 2**20
_CHUNK = 2**14  # values that are taken out of a message at once; other threads run in between
_FEW = 64  # values that are faster taken out of a message one by one


@dataclasses.dataclass(frozen=True)
class _Type:
    """How values of a type lie in a TensorProto.

    Attributes:
      field: with the single values.
      dtype: of the array; None: strings.
      stored: NumPy type of the values of the field.
      packed: whether the field's bytes on the wire are those of an array of `stored`.
    """

    field: str
    dtype: np.dtype | None
    stored: np.dtype
    packed: bool = False

    @property
    def per_value(self) -> int:
        """Entries of the field for a value: two for complex numbers."""
        return 2 if self.dtype is not None and self.dtype.kind == "c" else 1

    @property
    def is_bits(self) -> bool:
        """Whether the field has the bits of a number, as integers."""
        return self.field == "half_val"


def _type(field: str, dtype: Any, stored: Any = None, packed: bool = False) -> _Type:
    return _Type(field, np.dtype(dtype), np.dtype(stored or dtype), packed)


_STRING = _Type("string_val", None, np.dtype(object))
_TYPES: dict[int, _Type] = {
    types_pb2.DT_FLOAT: _type("float_val", np.float32, packed=True),
    types_pb2.DT_DOUBLE: _type("double_val", np.float64, packed=True),
    types_pb2.DT_COMPLEX64: _type("scomplex_val", np.complex64, np.float32, packed=True),
    types_pb2.DT_COMPLEX128: _type("dcomplex_val", np.complex128, np.float64, packed=True),
    types_pb2.DT_BOOL: _type("bool_val", np.bool_, packed=True),
    types_pb2.DT_INT8: _type("int_val", np.int8, np.int32),
    types_pb2.DT_INT16: _type("int_val", np.int16, np.int32),
    types_pb2.DT_INT32: _type("int_val", np.int32),
    types_pb2.DT_UINT8: _type("int_val", np.uint8, np.int32),
    types_pb2.DT_UINT16: _type("int_val", np.uint16, np.int32),
    types_pb2.DT_INT64: _type("int64_val", np.int64),
    types_pb2.DT_UINT32: _type("uint32_val", np.uint32),
    types_pb2.DT_UINT64: _type("uint64_val", np.uint64),
    types_pb2.DT_HALF: _type("half_val", np.float16, np.int32),
    types_pb2.DT_BFLOAT16: _type("half_val", tf.bfloat16.as_numpy_dtype, np.int32),
    types_pb2.DT_STRING: _STRING,
}
_LENGTH_DELIMITED = 2  # protobuf's wire type of packed fields


def read(name: str, proto: tensor_pb2.TensorProto) -> np.ndarray:
    """The array of a message.

    Values may be in `tensor_content` or in the field of their type. There, the last value stands
    for all that are missing, zero if there is none, and those too many are ignored.

    Args:
      name: of the input, for messages.

    Returns:
      The array; strings are bytes in an array of objects. It may be read-only.

    Raises:
      ServingError: INVALID_ARGUMENT; the type is unknown, or shape and values do not fit.
    """
    kind = _TYPES.get(proto.dtype)
    if kind is None:
        raise _refused(name, f"values of {_dtype_text(proto.dtype)} cannot be sent")
    shape = _shape(name, proto)
    count = math.prod(shape)
    if content := proto.tensor_content:  # asked for once: each time it is copied
        values = _from_content(name, kind, count, content)
    else:
        values = _filled(name, kind, count, _from_field(kind, count, proto))
    try:
        return values.reshape(shape)
    except ValueError:  # such as [0, 2 ** 62]
        raise _refused(name, f"the shape {_text(shape)} is too large") from None


def _refused(name: str, why: str) -> ServingError:
    return invalid(f"tensor parsing error: {name} ({why})")


def _dtype_text(number: int) -> str:
    known = types_pb2.DataType.DESCRIPTOR.values_by_number.get(number)
    return known.name if known else f"type {number}"


def _text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _shape(name: str, proto: tensor_pb2.TensorProto) -> tuple[int, ...]:
    shape = proto.tensor_shape
    if shape.unknown_rank:
        raise _refused(name, "its shape is unknown")
    sizes = tuple(dim.size for dim in shape.dim)
    if len(sizes) > _MAX_DIMS:
        raise _refused(name, f"it has {len(sizes)} dimensions; at most {_MAX_DIMS} are taken")
    if any(size < 0 for size in sizes):
        raise _refused(name, f"the shape {_text(sizes)} has a negative size")
    return sizes


def _from_content(name: str, kind: _Type, count: int, content: bytes) -> np.ndarray:
    if kind.dtype is None:
        return _string_content(name, count, content)
    if len(content) != count * kind.dtype.itemsize:
        raise _refused(
            name,
            f"tensor_content has {len(content)} bytes; the shape wants {count} values of "
            f"{kind.dtype.itemsize} bytes",
        )
    return np.frombuffer(content, kind.dtype)


def _string_content(name: str, count: int, content: bytes) -> np.ndarray:
    """Strings as TensorFlow packs them: all lengths as varints, then all bytes."""
    if count > len(content):
        raise _refused(name, f"tensor_content has {len(content)} bytes for {count} strings")
    lengths, position = [], 0
    for _ in range(count):
        length, position = _read_varint(content, position)
        lengths.append(length)
    if sum(lengths) != len(content) - position or position > len(content):
        raise _refused(name, "the lengths of the strings in tensor_content do not add up")
    values = np.empty(count, object)
    for index, length in enumerate(lengths):
        values[index] = content[position : position + length]
        position += length
    return values


def _read_varint(content: bytes, position: int) -> tuple[int, int]:
    """Returns (number, next position), which is behind the end if there is no number."""
    number = shift = 0
    while shift < 64:
        byte = content[position] if position < len(content) else 0
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return number, position
    return 0, len(content) + 1


def _from_field(kind: _Type, count: int, proto: tensor_pb2.TensorProto) -> np.ndarray:
    """The values that the field of the type has, no more than are wanted."""
    field = getattr(proto, kind.field)
    entries = min(len(field), count * kind.per_value)
    entries -= entries % kind.per_value
    if kind.packed and entries > _FEW:
        stored = _packed(kind, proto)[:entries]
    else:
        stored = np.empty(entries, kind.stored)
        for start in range(0, entries, _CHUNK):
            stored[start : start + _CHUNK] = field[start : min(start + _CHUNK, entries)]
    if kind.dtype is None:
        return stored
    return stored.astype(np.uint16).view(kind.dtype) if kind.is_bits else _cast(stored, kind.dtype)


def _cast(stored: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Small integers wrap around, as in C++; complex numbers lie there as pairs."""
    return stored.view(dtype) if dtype.kind == "c" else stored.astype(dtype, copy=False)


def _packed(kind: _Type, proto: tensor_pb2.TensorProto) -> np.ndarray:
    """All values of a field by way of their bytes on the wire, which are those of the array."""
    alone = tensor_pb2.TensorProto()
    getattr(alone, kind.field).MergeFrom(getattr(proto, kind.field))
    wire = alone.SerializeToString()
    _, start = _read_varint(wire, 0)
    _, start = _read_varint(wire, start)
    return np.frombuffer(wire, kind.stored, offset=start)


def _filled(name: str, kind: _Type, count: int, values: np.ndarray) -> np.ndarray:
    missing = count - len(values)
    if not missing:
        return values
    zero = b"" if kind.dtype is None else np.zeros(1, kind.dtype)[0]
    last = values[-1] if len(values) else zero
    size = len(last) + 32 if kind.dtype is None else kind.dtype.itemsize
    if missing * size > _MAX_FILLED_BYTES:
        raise _refused(
            name, f"its shape wants {count} values, but it has {len(values)}, and too many miss"
        )
    filled = np.empty(count, kind.dtype or object)
    filled[: len(values)] = values
    filled[len(values) :] = last
    return filled


def write(
    array: np.ndarray, as_content: bool, into: tensor_pb2.TensorProto | None = None
) -> tensor_pb2.TensorProto:
    """The message of an array.

    Args:
      as_content: whether values are in `tensor_content`, else in the field of their type.
      into: an empty message to write it into, and to return; None: a new one.

    Raises:
      ServingError: INVALID_ARGUMENT; the type cannot be sent.
    """
    array = np.asarray(array)
    number = tf.as_dtype(array.dtype).as_datatype_enum
    kind = _TYPES.get(number)
    if kind is None:
        raise invalid(f"Values of {_dtype_text(number)} cannot be sent.")
    proto = tensor_pb2.TensorProto() if into is None else into
    proto.dtype = number
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if as_content:
        proto.tensor_content = b"".join(_content(kind, array))
    else:
        _to_field(kind, array.reshape(-1), proto)
    return proto


def _content(kind: _Type, array: np.ndarray) -> Iterator[bytes]:
    if kind.dtype is None:
        strings = array.reshape(-1).tolist()
        yield from (_write_varint(len(each)) for each in strings)
        yield from strings
    else:
        yield array.tobytes()


def _to_field(kind: _Type, values: np.ndarray, proto: tensor_pb2.TensorProto) -> None:
    if kind.packed:
        wire = values.tobytes()
        if wire:
            number = tensor_pb2.TensorProto.DESCRIPTOR.fields_by_name[kind.field].number
            tag = _write_varint(number << 3 | _LENGTH_DELIMITED)
            proto.MergeFromString(tag + _write_varint(len(wire)) + wire)
    elif kind.is_bits:
        proto.half_val.extend(values.view(np.uint16).tolist())
    else:
        getattr(proto, kind.field).extend(values.tolist())


def _write_varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
