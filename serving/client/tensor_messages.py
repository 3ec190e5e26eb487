"""NumPy arrays as TensorProtos, and back."""

import math
from typing import Any

import numpy as np

from serving.client import messages
from serving.client.inputs import text_bytes
from serving.status import invalid

# The NumPy type of each type of tensor, and the field that holds its values.
_KINDS: dict[str, tuple[Any, str]] = {
    "DT_FLOAT": (np.float32, "float_val"),
    "DT_DOUBLE": (np.float64, "double_val"),
    "DT_HALF": (np.float16, "half_val"),
    "DT_INT8": (np.int8, "int_val"),
    "DT_INT16": (np.int16, "int_val"),
    "DT_INT32": (np.int32, "int_val"),
    "DT_INT64": (np.int64, "int64_val"),
    "DT_UINT8": (np.uint8, "int_val"),
    "DT_UINT16": (np.uint16, "int_val"),
    "DT_UINT32": (np.uint32, "uint32_val"),
    "DT_UINT64": (np.uint64, "uint64_val"),
    "DT_BOOL": (np.bool_, "bool_val"),
    "DT_STRING": (np.object_, "string_val"),
    "DT_BFLOAT16": (np.uint16, "half_val"),  # its bits; NumPy has no such type
}
_NAMES = {np.dtype(kind): name for name, (kind, _) in _KINDS.items() if name != "DT_BFLOAT16"}


def cast(array: np.ndarray, dtype: str, what: str) -> np.ndarray:
    """An array in the type of a signature.

    Args:
      dtype: such as "DT_INT32".
      what: is cast, for the message.

    Raises:
      ServingError: INVALID_ARGUMENT; its values are of another kind.
    """
    kind = np.dtype(_kind(dtype)[0])
    if dtype == "DT_BFLOAT16":
        bits = array.astype(np.float32, casting="same_kind").view(np.uint32)
        return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)  # rounded to even
    try:
        return array.astype(kind, casting="same_kind", copy=False)
    except TypeError:
        raise invalid(f"{what} is of type {dtype}; {array.dtype} was given.") from None


def numpy_type(dtype: str) -> np.dtype:
    """The type of arrays that `read` gives for a type of tensor, such as "DT_INT32".

    Raises:
      ServingError: INVALID_ARGUMENT; it is not supported.
    """
    return np.dtype(np.float32 if dtype == "DT_BFLOAT16" else _kind(dtype)[0])


def write(array: np.ndarray, message: Any, dtype: str | None = None) -> None:
    """Fills a TensorProto with an array, in the type that `cast` gave it or in its own.

    Raises:
      ServingError: INVALID_ARGUMENT; there is no such tensor.
    """
    name = dtype or _NAMES.get(array.dtype)
    if name is None:
        raise invalid(f"There is no tensor of type {array.dtype}.")
    message.dtype = messages.numbers("DataType")[name]
    for size in array.shape:
        message.tensor_shape.dim.add().size = size
    if name == "DT_STRING":
        message.string_val.extend(map(text_bytes, array.flat))
    else:
        message.tensor_content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def read(message: Any) -> np.ndarray:
    """The array of a TensorProto; strings are bytes in an array of objects.

    bfloat16 is widened to float32. Values that are left out are the last one that is there.

    Raises:
      ServingError: INVALID_ARGUMENT; its type is not supported, or values are missing.
    """
    names = {number: name for name, number in messages.numbers("DataType").items()}
    name = names.get(message.dtype, str(message.dtype))
    kind, field = _kind(name)
    shape = tuple(dim.size for dim in message.tensor_shape.dim)
    values = _values(message, kind, field)
    size = math.prod(shape)
    if 0 < len(values) < size:
        values = np.concatenate([values, np.repeat(values[-1:], size - len(values))])
    if len(values) != size:
        raise invalid(f"A tensor of shape {list(shape)} has {len(values)} values.")
    if name == "DT_BFLOAT16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.reshape(shape)


def _values(message: Any, kind: Any, field: str) -> np.ndarray:
    if kind is np.object_:
        values = np.empty(len(message.string_val), object)
        values[:] = message.string_val[:]
        return values
    if message.tensor_content:
        return np.frombuffer(message.tensor_content, np.dtype(kind).newbyteorder("<"))
    stored = getattr(message, field)
    if field == "half_val":
        return np.fromiter(stored, np.uint16, len(stored)).view(kind)
    return np.fromiter(stored, kind, len(stored))


def _kind(name: str) -> tuple[Any, str]:
    if name not in _KINDS:
        raise invalid(f"Tensors of type {name} are not supported by this client.")
    return _KINDS[name]
