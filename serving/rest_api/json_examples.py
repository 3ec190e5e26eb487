"""tf.Examples of a classify or regress request, as bytes.

They are written in protobuf's wire format by hand, so that the process that reads large bodies
needs no TensorFlow.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from serving.rest_api.json_text import echo
from serving.rest_api.json_values import base64_bytes, checked_text, is_base64, type_name
from serving.status import ServingError, invalid

# Tags of protobuf fields that have a length: field number << 3 | 2.
_FIRST, _SECOND, _THIRD = b"\x0a", b"\x12", b"\x1a"
# Fields of tf.train.Feature by the kind of their values, as messages call it.
_TAGS = {"bytes": _FIRST, "float": _SECOND, "int64": _THIRD}


def read(document: Mapping[str, Any], max_text_bytes: int) -> list[bytes]:
    """Reads the examples of a request.

    Args:
      max_text_bytes: of one string.

    Returns:
      Serialized tf.Examples; each has the features of the request's `context` as well.

    Raises:
      ServingError: INVALID_ARGUMENT.
    """
    context = b""
    if "context" in document:
        context = _example(document["context"], max_text_bytes)
    if "examples" not in document:
        raise _format_error(
            document, "When method is classify, key 'examples' is expected and was not found"
        )
    examples = document["examples"]
    if not isinstance(examples, list):
        raise _format_error(document, "Expecting 'examples' value to be an list/array")
    if not examples:
        raise _format_error(document, "'examples' value is an empty array")
    # One message behind another is their union, and a feature of the later one counts.
    return [context + _example(example, max_text_bytes) for example in examples]


def _format_error(document: Mapping[str, Any], message: str) -> ServingError:
    return invalid(f"JSON Value: {echo(document)} {message}")


def _example(value: Any, max_text_bytes: int) -> bytes:
    if not isinstance(value, dict):
        raise invalid(f"Example must be JSON object but got JSON {type_name(value)}")
    features = []
    for name, content in value.items():
        items = content if isinstance(content, list) else [content]
        key = _sized(_FIRST, name.encode("utf-8", "surrogateescape"))
        feature = _sized(_SECOND, _feature(name, items, max_text_bytes))
        features.append(_sized(_FIRST, key + feature))
    return _sized(_FIRST, b"".join(features))


def _feature(name: str, items: list[Any], max_text_bytes: int) -> bytes:
    """A tf.train.Feature; nothing at all without values."""
    kind = ""
    values = []
    for item in items:
        found = _kind(name, item)
        if kind not in ("", found):
            raise invalid(f"Unexpected element type in feature: {name} expecting type: {kind}")
        kind = found
        if kind == "bytes":
            is_text = isinstance(item, str)
            text = item.encode("utf-8", "surrogateescape") if is_text else base64_bytes(item)
            item = checked_text(text, name, max_text_bytes)
        elif kind == "int64" and item >= 2**63:
            raise invalid(f"Feature: {name} has uint64_t element. Only int64_t is supported.")
        values.append(item)
    return _sized(_TAGS[kind], _LISTS[kind](values)) if kind else b""


def _kind(name: str, value: Any) -> str:
    if isinstance(value, bool | int):
        return "int64"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str) or is_base64(value):
        return "bytes"
    raise invalid(f"Feature: {name} has element with unexpected JSON type: {type_name(value)}")


def _bytes_list(values: Iterable[bytes]) -> bytes:
    return b"".join(_sized(_FIRST, value) for value in values)


def _float_list(values: list[float]) -> bytes:
    return _sized(_FIRST, b"".join(map(_float, values)))


def _float(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # beyond the range of float32
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _int64_list(values: Iterable[int]) -> bytes:
    return _sized(_FIRST, b"".join(_varint(value % 2**64) for value in values))


_LISTS: dict[str, Callable[[list[Any]], bytes]] = {
    "bytes": _bytes_list,
    "float": _float_list,
    "int64": _int64_list,
}


def _sized(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """An unsigned integer, seven bits to a byte, the lowest first."""
    if value < 128:
        return bytes((value,))
    groups = bytearray()
    while value >= 128:
        groups.append(value % 128 + 128)
        value //= 128
    groups.append(value)
    return bytes(groups)
