"""The bytes of a `tf.train.Example`, without TensorFlow.

They are those that protobuf's deterministic serialization gives: features sorted by name, numbers
packed. For many pre-training examples at once there is `build.encode`.
"""

import functools
from collections.abc import Iterable, Mapping

import numpy as np

# Tags of protobuf fields that hold bytes or messages: field number * 8 + 2.
_FIRST, _SECOND, _THIRD = 0x0A, 0x12, 0x1A
_FLOAT_LIST, _INT64_LIST = _SECOND, _THIRD


def encode(values: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of an example.

    Args:
      values: from the name of a feature to its values, which are flattened: floats become float32,
        integers int64.
    """
    return _field(_FIRST, b"".join(_feature(name, values[name]) for name in sorted(values)))


def _feature(name: str, values: np.ndarray) -> bytes:
    """An entry of the map of features."""
    if values.dtype.kind == "f":
        tag, data = _FLOAT_LIST, values.astype("<f4").tobytes()
    else:
        tag, data = _INT64_LIST, _integers(values.ravel().tolist())
    a_list = _field(_FIRST, data) if data else b""
    return _field(_FIRST, _field(_FIRST, name.encode()) + _field(_SECOND, _field(tag, a_list)))


def _field(tag: int, data: bytes) -> bytes:
    return bytes([tag]) + _integer(len(data)) + data


def _integers(values: Iterable[int]) -> bytes:
    return b"".join(map(_integer, values))


@functools.lru_cache(maxsize=2**17)
def _integer(value: int) -> bytes:
    """A number in protobuf's variable length: seven bits per byte, the lowest ones first."""
    value &= 2**64 - 1  # of a negative one, its 64 bits
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
