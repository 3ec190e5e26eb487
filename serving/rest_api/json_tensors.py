"""JSON to tensors and back, in TensorFlow Serving's row and column forms.

Row form: `{"instances": [row, ...]}` is answered with `{"predictions": [row, ...]}`.
Column form: `{"inputs": tensors}` is answered with `{"outputs": tensors}`.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import orjson

from serving.models.servable import TensorSpec
from serving.rest_api.json_text import echo
from serving.status import Code, ServingError, invalid

ROW = "row"
COLUMN = "column"

# TensorFlow's name of a type -> NumPy type, and the range of integers that JSON may give.
# Small integers are checked as int32 and then wrapped, as TensorFlow Serving does.
_INT32 = (-(2**31), 2**31 - 1)
_INTEGERS: dict[str, tuple[type[np.integer], int, int]] = {
    "int8": (np.int8, *_INT32),
    "int16": (np.int16, *_INT32),
    "int32": (np.int32, *_INT32),
    "uint8": (np.uint8, *_INT32),
    "int64": (np.int64, -(2**63), 2**63 - 1),
    "uint32": (np.uint32, 0, 2**32 - 1),
    "uint64": (np.uint64, 0, 2**64 - 1),
}
_FLOATS: dict[str, type[np.floating]] = {"float": np.float32, "double": np.float64}
# Python types of the JSON values that a type is read from.
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_INTEGERS, (int,)),
    **dict.fromkeys(_FLOATS, (int, float)),
    "bool": (bool,),
}
_WRITABLE = (*_KINDS, "string")

_TYPE_NAMES = {
    type(None): "Null",
    dict: "Object",
    list: "Array",
    str: "String",
    int: "Number",
    float: "Number",
}


def signature_name(document: Mapping[str, Any]) -> str:
    """The signature that a request asks for, `""` for the default one."""
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {echo(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    return name


def read(
    document: Mapping[str, Any], inputs: Mapping[str, TensorSpec]
) -> tuple[str, dict[str, np.ndarray]]:
    """Reads the tensors of a predict request.

    Args:
      document: the request's JSON object.

    Returns:
      (form, tensors): `ROW` or `COLUMN`, and tensors by input name; strings are bytes in an array
      of objects.

    Raises:
      ServingError: INVALID_ARGUMENT, or UNIMPLEMENTED for a type that JSON cannot give.
    """
    if "instances" in document:
        instances = document["instances"]
        if "inputs" in document:
            raise _format_error(
                document,
                "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to "
                "exist ",
            )
        if not isinstance(instances, list):
            raise _format_error(document, "Expecting 'instances' to be an list/array")
        if not instances:
            raise _format_error(document, "No values in 'instances' array")
        return ROW, _read_rows(instances, inputs)
    if "inputs" in document:
        return COLUMN, _read_columns(document["inputs"], inputs)
    raise invalid("Missing 'inputs' or 'instances' key")


def _format_error(document: Mapping[str, Any], message: str) -> ServingError:
    return invalid(f"JSON Value: {echo(document)} {message}")


def _read_rows(instances: list[Any], inputs: Mapping[str, TensorSpec]) -> dict[str, np.ndarray]:
    """Each element is one row; the batch dimension is added in front."""
    if not isinstance(instances[0], dict) and len(inputs) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    columns = {name: _Column(spec) for name, spec in inputs.items()}
    named = _is_named(instances[0])
    for row, element in enumerate(instances):
        if named != _is_named(element):
            wanted, got = ("object", "list") if named else ("value/list", "object")
            raise invalid(f"Expecting {wanted} but got {got} at item {row} of input list")
        if named:
            _add_object(row, element, columns)
        else:
            _add_value(f"{row}", next(iter(columns)), element, columns)
    return {name: column.tensor(len(instances)) for name, column in columns.items()}


def _add_object(row: int, element: dict[str, Any], columns: "dict[str, _Column]") -> None:
    for name, value in element.items():
        _add_value(f"{row} key: {name}", name, value, columns)
    if element.keys() != columns.keys():
        raise invalid(
            f"Failed to process element: {row} of 'instances' list. JSON object: {echo(element)} "
            f"keys must be equal to: {','.join(sorted(columns))}"
        )


def _add_value(where: str, name: str, value: Any, columns: "dict[str, _Column]") -> None:
    try:
        if name not in columns:
            raise invalid(f"JSON object: does not have named input: {name}")
        columns[name].add(value)
    except ServingError as error:
        raise invalid(
            f"Failed to process element: {where} of 'instances' list. Error: {error}"
        ) from None


def _is_named(element: Any) -> bool:
    return isinstance(element, dict) and not _is_base64(element)


class _Column:
    """The values of one input over all rows; every row must have the first one's shape."""

    def __init__(self, spec: TensorSpec) -> None:
        self._dtype = spec.dtype
        self._values: list[Any] = []
        self._shape: tuple[int, ...] | None = None
        self._size = 0

    def add(self, value: Any) -> None:
        shape = _shape(value)
        before = len(self._values)
        _flatten(value, 0, shape, self._dtype, self._values)
        size = len(self._values) - before
        if self._shape is None:
            self._shape, self._size = shape, size
        elif size != self._size:
            raise invalid(f"Expecting tensor size: {self._size} but got: {size}")
        elif shape != self._shape:
            raise invalid(f"Expecting shape {_text(self._shape)} but got: {_text(shape)}")

    def tensor(self, num_rows: int) -> np.ndarray:
        return _tensor(self._values, (num_rows, *(self._shape or ())), self._dtype)


def _text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _read_columns(value: Any, inputs: Mapping[str, TensorSpec]) -> dict[str, np.ndarray]:
    """Each tensor has its natural nesting, batch dimension included."""
    if not isinstance(value, dict) or _is_base64(value):
        if len(inputs) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        value = {next(iter(inputs)): value}
    tensors = {}
    for name, spec in inputs.items():
        if name not in value:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
        shape = _shape(value[name])
        values: list[Any] = []
        _flatten(value[name], 0, shape, spec.dtype, values)
        tensors[name] = _tensor(values, shape, spec.dtype)
    return tensors


def _shape(value: Any) -> tuple[int, ...]:
    """Shape by the first element of each level; `_flatten` checks the others."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _flatten(value: Any, level: int, shape: tuple[int, ...], dtype: str, values: list[Any]) -> None:
    """Appends the leaves of `value` to `values`; checks nesting and types."""
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {echo(value)} found at incorrect level: {level + 1} in the JSON DOM."
                f" Expected at level: {len(shape)}"
            )
        values.append(_leaf(value, dtype))
        return
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _flatten(item, level + 1, shape, dtype, values)


def _leaf(value: Any, dtype: str) -> Any:
    kind = type(value)
    if dtype == "string":
        if kind is str:
            return value.encode("utf-8", "surrogateescape")
        if kind is dict:
            return _decode_base64(value)
    elif kind is not dict and dtype not in _KINDS:
        raise ServingError(
            Code.UNIMPLEMENTED, f"Conversion of JSON Value: {echo(value)} to type: {dtype}"
        )
    elif kind in _KINDS.get(dtype, ()) and _is_in_range(value, dtype):
        return value
    name = str(value) if kind is bool else _TYPE_NAMES[kind]
    raise invalid(f"JSON Value: {echo(value)} Type: {name} is not of expected type: {dtype}")


def _is_in_range(value: Any, dtype: str) -> bool:
    if dtype not in _INTEGERS:
        return True
    _, least, most = _INTEGERS[dtype]
    return least <= value <= most


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def _decode_base64(value: dict[str, Any]) -> bytes:
    if not _is_base64(value):
        raise invalid(f"JSON Value: {echo(value)} not formatted correctly for base64 data")
    text = value["b64"].rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


def _tensor(values: list[Any], shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "string":
        array = np.empty(len(values), object)
        array[:] = values
    elif dtype in _FLOATS:
        with np.errstate(over="ignore"):  # values beyond the type's range become infinity
            array = np.array(values, np.float64).astype(_FLOATS[dtype])
    elif dtype in _INTEGERS:
        wide = np.uint64 if dtype == "uint64" else np.int64
        array = np.array(values, wide).astype(_INTEGERS[dtype][0])
    else:
        array = np.array(values, bool)
    return array.reshape(shape)


def write(form: str, tensors: Mapping[str, np.ndarray], outputs: Mapping[str, TensorSpec]) -> bytes:
    """Writes the answer to a predict request.

    Args:
      form: `ROW` or `COLUMN`, that of the request.
      tensors: by output name.

    Returns:
      JSON.

    Raises:
      ServingError: INVALID_ARGUMENT; a type that JSON cannot take, or, in row form, outputs
        that are not one value per row.
    """
    if form == COLUMN:
        columns = {name: _values(name, tensors[name], outputs[name].dtype) for name in tensors}
        return b'{\n    "outputs": ' + _dumps(_unnamed(columns)) + b"\n}"
    size = _num_rows(tensors)
    columns = {name: _values(name, tensors[name], outputs[name].dtype) for name in tensors}
    if len(columns) == 1:
        rows = list(*columns.values())
    else:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = b",\n        ".join(map(_dumps, rows))
    body = b"[\n        " + lines + b"\n    ]" if size else b"[]"
    return b'{\n    "predictions": ' + body + b"\n}"


def _unnamed(columns: dict[str, Any]) -> Any:
    return next(iter(columns.values())) if len(columns) == 1 else columns


def _num_rows(tensors: Mapping[str, np.ndarray]) -> int | None:
    """The common batch size; None without tensors."""
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
    return size


def _values(name: str, array: np.ndarray, dtype: str) -> Any:
    """What orjson writes for an array; iterating over it gives the rows."""
    if dtype not in _WRITABLE:
        raise invalid(f"Failed to write JSON value for tensor type: {dtype}")
    if dtype == "string":
        return _map(array, _base64_object if name.endswith("_bytes") else _decode)
    if dtype in _FLOATS and not np.isfinite(array).all():
        return _map(array, _number)  # orjson would write null
    return np.ascontiguousarray(array) if array.ndim else array[()]


def _map(array: np.ndarray, function: Callable[[Any], Any]) -> Any:
    """Nested lists of `function` of each value."""
    if array.ndim == 0:
        return function(array[()])
    if array.ndim == 1:
        return [function(value) for value in array]
    return [_map(part, function) for part in array]


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _base64_object(value: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(value).decode()}


def _number(value: np.floating) -> Any:
    if np.isfinite(value):
        return value
    return orjson.Fragment("NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity")


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
