"""Answers as JSON: predictions in row and column form, classes, and numbers of a regression.

Answers are generators of text, each part of which takes about a millisecond to make at most, so
that an event loop can do something else in between.
"""

import base64
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import orjson

from serving.models.servable import TensorSpec
from serving.rest_api.json_reading import COLUMN, FLOATS, INTEGERS
from serving.status import invalid

_WRITABLE = (*INTEGERS, *FLOATS, "bool", "string")
_VALUES_AT_ONCE = 2**14


def prediction(
    form: str, tensors: Mapping[str, np.ndarray], outputs: Mapping[str, TensorSpec]
) -> Iterator[bytes]:
    """Writes the answer to a predict request.

    Args:
      form: `ROW` or `COLUMN`, that of the request.
      tensors: by output name.

    Yields:
      JSON; parts of one document.

    Raises:
      ServingError: INVALID_ARGUMENT, before the first part; a type that JSON cannot take, or, in
        row form, outputs that are not one value per row.
    """
    if not tensors:
        raise invalid("Cannot convert empty tensor map to JSON")
    if form == COLUMN:
        leaves = _leaves(tensors, outputs)
        return _joined(b'{\n    "outputs": ', _columns(leaves, tensors), b"\n}")
    size = _num_rows(tensors)
    leaves = _leaves(tensors, outputs)
    width = sum(array.size for array in tensors.values()) // max(size, 1)
    rows = _rows if width <= _VALUES_AT_ONCE else _wide_rows
    return _joined(b'{\n    "predictions": [', rows(leaves, tensors, size), b"]\n}")


def classes(labels: np.ndarray | None, scores: np.ndarray | None) -> Iterator[bytes]:
    """Writes the answer to a classify request.

    Args:
      labels: bytes [n, num_classes]; None: every label is empty.
      scores: float32 [n, num_classes]; None: every score is 0.

    Yields:
      JSON; parts of one document.
    """
    n, width = next(array.shape for array in (labels, scores) if array is not None)
    step = max(1, _VALUES_AT_ONCE // max(width, 1))

    def rows() -> Iterator[bytes]:
        for first in range(0, n, step):
            chunk = slice(first, first + step)
            size = min(step, n - first)
            names, values = [b'""'] * (size * width), [b"0.0"] * (size * width)
            if labels is not None:
                names = _row_texts(labels[chunk].ravel(), _decode)
            if scores is not None:
                values = _row_texts(scores[chunk].ravel(), None)
            pairs = [b"[%b, %b]" % pair for pair in zip(names, values, strict=True)]
            lines = (pairs[row * width : (row + 1) * width] for row in range(size))
            text = b",\n        ".join(b"[%b]" % b", ".join(line) for line in lines)
            yield b",\n        " + text if first else b"\n        " + text

    return _joined(b'{\n    "results": [', rows(), b"\n    ]\n}")


def numbers(values: np.ndarray) -> Iterator[bytes]:
    """Writes the answer to a regress request.

    Args:
      values: float32 [n].

    Yields:
      JSON; parts of one document.
    """
    return _joined(b'{\n    "results": ', _nested(values, None), b"\n}")


def _joined(start: bytes, middle: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """Adds what comes first and last to the parts, without a part of its own for each."""
    before = start + next(middle, b"")
    for part in middle:
        yield before
        before = part
    yield before + end


# What is made of each value before it is written; None: nothing, it is a number or a truth value.
_Leaf = Callable[[Any], Any] | None


def _leaves(
    tensors: Mapping[str, np.ndarray], outputs: Mapping[str, TensorSpec]
) -> dict[str, _Leaf]:
    leaves: dict[str, _Leaf] = {}
    for name in tensors:
        dtype = outputs[name].dtype
        if dtype not in _WRITABLE:
            raise invalid(f"Failed to write JSON value for tensor type: {dtype}")
        leaves[name] = None
        if dtype == "string":
            leaves[name] = _base64_object if name.endswith("_bytes") else _decode
    return leaves


def _num_rows(tensors: Mapping[str, np.ndarray]) -> int:
    """The common batch size."""
    size = None
    for name, array in tensors.items():
        if array.ndim == 0:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if size is not None and size != array.shape[0]:
            raise invalid(
                f"Tensor name: {name} has inconsistent batch size: {array.shape[0]} "
                f"expecting: {size}"
            )
        size = array.shape[0]
    return size or 0


def _rows(
    leaves: dict[str, _Leaf], tensors: Mapping[str, np.ndarray], size: int
) -> Iterator[bytes]:
    """Rows of few values, many in each part."""
    width = max(1, sum(array.size for array in tensors.values()) // max(size, 1))
    step = max(1, _VALUES_AT_ONCE // width)
    template = _template(leaves)
    for first in range(0, size, step):
        chunk = slice(first, first + step)
        columns = [_row_texts(tensors[name][chunk], leaf) for name, leaf in leaves.items()]
        rows = zip(*columns, strict=True)
        text = b",\n        ".join([template % row for row in rows])
        yield b",\n        " + text if first else b"\n        " + text
    if size:
        yield b"\n    "


def _wide_rows(
    leaves: dict[str, _Leaf], tensors: Mapping[str, np.ndarray], size: int
) -> Iterator[bytes]:
    """Rows of which each takes several parts."""
    for row in range(size):
        yield b",\n        " if row else b"\n        "
        yield from _columns(leaves, {name: tensors[name][row, ...] for name in leaves})
    if size:
        yield b"\n    "


def _columns(leaves: dict[str, _Leaf], tensors: Mapping[str, np.ndarray]) -> Iterator[bytes]:
    """An object of tensors by name; a single one has no name."""
    if len(leaves) == 1:
        ((name, leaf),) = leaves.items()
        yield from _nested(tensors[name], leaf)
        return
    separator = b"{"
    for name, leaf in leaves.items():
        yield separator + b"\n        " + _key(name)
        yield from _nested(tensors[name], leaf)
        separator = b","
    yield b"\n    }"


def _template(names: Collection[str]) -> bytes:
    """What the texts of a row are put into; a single one has no name."""
    if len(names) == 1:
        return b"%b"
    members = (_key(name).replace(b"%", b"%%") + b"%b" for name in names)
    return b"{\n            " + b",\n            ".join(members) + b"\n        }"


def _key(name: str) -> bytes:
    return orjson.dumps(name) + b": "


def _row_texts(array: np.ndarray, leaf: _Leaf) -> list[bytes]:
    """The text of each element of an array's first axis."""
    if leaf is None and array.size:
        # One text is made and cut: far quicker than a text for each row.
        rank = array.ndim
        opening, closing = b"[" * (rank - 1), b"]" * (rank - 1)
        texts = _text(array, None)[rank:-rank].split(closing + b"," + opening)
        return texts if rank == 1 else [opening + text + closing for text in texts]
    if leaf is not None and array.ndim == 1:
        return [orjson.dumps(leaf(value)) for value in array.tolist()]
    return [_text(row, leaf) for row in array]


def _nested(array: np.ndarray, leaf: _Leaf) -> Iterator[bytes]:
    """The text of an array in parts of few values."""
    if array.size <= _VALUES_AT_ONCE:
        yield _text(array, leaf)
        return
    rows = max(1, _VALUES_AT_ONCE * len(array) // array.size)
    separator = b"["
    for first in range(0, len(array), rows):
        if rows > 1 or array.ndim == 1:
            yield separator + _text(array[first : first + rows], leaf)[1:-1]
        else:
            yield separator
            yield from _nested(array[first], leaf)
        separator = b","
    yield b"]"


def _text(array: np.ndarray, leaf: _Leaf) -> bytes:
    """The text of an array; floats have the shortest one that gives them back."""
    if leaf is not None:
        return orjson.dumps(_map(array.tolist(), array.ndim, leaf))
    if array.ndim == 0:
        return _text(array[None], None)[1:-1]
    text = orjson.dumps(np.ascontiguousarray(array), option=orjson.OPT_SERIALIZE_NUMPY)
    if b"null" in text:  # what orjson makes of NaN and infinite numbers
        numbers = _map(array, array.ndim, _number)
        return orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)
    return text


def _map(values: Any, depth: int, function: Callable[[Any], Any]) -> Any:
    """Nested lists of `function` of each value."""
    if depth == 0:
        return function(values)
    if depth == 1:
        return [function(value) for value in values]
    return [_map(part, depth - 1, function) for part in values]


def _number(value: np.floating) -> Any:
    if np.isfinite(value):
        return value
    return orjson.Fragment("NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity")


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _base64_object(value: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(value).decode()}
