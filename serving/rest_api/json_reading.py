"""Tensors of a predict request, in TensorFlow Serving's row and column forms.

Row form: `{"instances": [row, ...]}` is answered with `{"predictions": [row, ...]}`.
Column form: `{"inputs": tensors}` is answered with `{"outputs": tensors}`.

`read_quickly` takes what is right in every value; `read` also says what is wrong, value by value.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from serving.rest_api.json_text import echo, printable
from serving.rest_api.json_values import base64_bytes, checked_text, is_base64, type_name
from serving.status import Code, ServingError, invalid

ROW = "row"
COLUMN = "column"
Tensors = dict[str, np.ndarray]
DTypes = Mapping[str, str]  # of inputs, by name: TensorFlow's names, such as "float" or "int32"

# TensorFlow's name of a type -> NumPy type, and the range of integers that JSON may give.
# Small integers are checked as int32 and then wrapped, as TensorFlow Serving does.
_INT32 = (-(2**31), 2**31 - 1)
INTEGERS: dict[str, tuple[type[np.integer], int, int]] = {
    "int8": (np.int8, *_INT32),
    "int16": (np.int16, *_INT32),
    "int32": (np.int32, *_INT32),
    "uint8": (np.uint8, *_INT32),
    "int64": (np.int64, -(2**63), 2**63 - 1),
    "uint32": (np.uint32, 0, 2**32 - 1),
    "uint64": (np.uint64, 0, 2**64 - 1),
}
FLOATS: dict[str, type[np.floating]] = {"float": np.float32, "double": np.float64}
# Python types of the JSON values that a type is read from.
_KINDS: dict[str, frozenset[type]] = {
    **dict.fromkeys(INTEGERS, frozenset((int,))),
    **dict.fromkeys(FLOATS, frozenset((int, float))),
    "bool": frozenset((bool,)),
    "string": frozenset((str,)),
}
_MAX_RANK = 63  # NumPy's 64, less the batch dimension


def signature_name(document: Mapping[str, Any]) -> str:
    """The signature that a request asks for, `""` for the default one.

    Raises:
      ServingError: INVALID_ARGUMENT; it is not a string.
    """
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {echo(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    return printable(name)


def read_quickly(
    document: Mapping[str, Any], inputs: DTypes, max_text_bytes: int
) -> tuple[str, Tensors] | None:
    """As `read`, for values without fault; None for others, which take many times longer."""
    form = ROW if "instances" in document else COLUMN
    if form == ROW:
        values = None if "inputs" in document else _columns(document["instances"], inputs)
    else:
        column: Any = document.get("inputs")
        values = column if type(column) is dict else {next(iter(inputs)): column}
    if values is None or not inputs.keys() <= values.keys():
        return None
    tensors = {}
    for name, dtype in inputs.items():
        tensor = _dense(values[name], dtype, max_text_bytes)
        if tensor is None:
            return None
        tensors[name] = tensor
    return form, tensors


def _columns(instances: Any, inputs: DTypes) -> dict[str, list[Any]] | None:
    """Values of each input over all rows; None if a row is not as the inputs want it."""
    if type(instances) is not list or not instances:
        return None
    kinds = set(map(type, instances))
    if dict not in kinds:
        return {next(iter(inputs)): instances} if len(inputs) == 1 else None
    names = inputs.keys()
    if len(kinds) > 1 or any(row.keys() != names for row in instances):
        return None
    return {name: [row[name] for row in instances] for name in names}


def _dense(value: Any, dtype: str, max_text_bytes: int) -> np.ndarray | None:
    """A tensor of nested lists of equal lengths with values of one type, else None."""
    if type(value) is not list or dtype not in _KINDS:
        return None
    shape = [len(value)]
    kinds = set(map(type, value))
    while kinds == {list}:
        sizes = set(map(len, value))
        if len(sizes) > 1 or len(shape) > _MAX_RANK:
            return None
        shape += sizes
        value = list(itertools.chain.from_iterable(value))
        kinds = set(map(type, value))
    if not kinds <= _KINDS[dtype]:
        return None
    try:
        if dtype == "string":
            tensor = string_array([text.encode("utf-8", "surrogateescape") for text in value])
            if max(map(len, tensor), default=0) > max_text_bytes:
                return None
        else:
            tensor = _numbers(value, dtype)
    except OverflowError:  # an integer out of range
        return None
    return tensor.reshape(shape) if len(shape) > 1 else tensor


def _numbers(values: list[Any], dtype: str) -> np.ndarray:
    """A vector of numbers or truth values.

    Raises:
      OverflowError: an integer is out of range.
    """
    if dtype in FLOATS:
        with np.errstate(over="ignore"):  # values beyond the type's range become infinity
            return np.fromiter(values, np.float64, len(values)).astype(FLOATS[dtype], copy=False)
    if dtype == "bool":
        return np.array(values, bool)
    kind, least, most = INTEGERS[dtype]
    wide = np.uint64 if dtype == "uint64" else np.int64
    array = np.fromiter(values, wide, len(values))  # half the time of `np.array`
    if kind not in (np.int64, np.uint64) and array.size:
        if array.min() < least or array.max() > most:
            raise OverflowError
    return array.astype(kind, copy=False)


def string_array(values: list[bytes]) -> np.ndarray:
    """A vector of strings, which are bytes in an array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def read(document: Mapping[str, Any], inputs: DTypes, max_text_bytes: int) -> tuple[str, Tensors]:
    """Reads the tensors of a predict request.

    Args:
      document: the request's JSON object.
      max_text_bytes: of one string.

    Returns:
      (form, tensors): `ROW` or `COLUMN`, and tensors by input name; strings are bytes in an array
      of objects.

    Raises:
      ServingError: INVALID_ARGUMENT, or UNIMPLEMENTED for a type that JSON cannot give.
    """
    quick = read_quickly(document, inputs, max_text_bytes)
    return quick if quick is not None else _read_by_value(document, inputs, max_text_bytes)


def _read_by_value(
    document: Mapping[str, Any], inputs: DTypes, max_text_bytes: int
) -> tuple[str, Tensors]:
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
        return ROW, _read_rows(instances, inputs, max_text_bytes)
    if "inputs" in document:
        return COLUMN, _read_columns(document["inputs"], inputs, max_text_bytes)
    raise invalid("Missing 'inputs' or 'instances' key")


def _format_error(document: Mapping[str, Any], message: str) -> ServingError:
    return invalid(f"JSON Value: {echo(document)} {message}")


def _read_rows(instances: list[Any], inputs: DTypes, max_text_bytes: int) -> Tensors:
    """Each element is one row; the batch dimension is added in front."""
    if not isinstance(instances[0], dict) and len(inputs) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    columns = {name: _Column(name, dtype, max_text_bytes) for name, dtype in inputs.items()}
    named = _is_named(instances[0])
    for row, element in enumerate(instances):
        if named != _is_named(element):
            wanted, got = ("object", "list") if named else ("value/list", "object")
            raise invalid(f"Expecting {wanted} but got {got} at item {row} of input list")
        if named:
            _add_object(row, element, columns)
        else:
            _add_value(f"{row}", next(iter(columns)), element, columns)
    return {name: column.tensor((len(instances),)) for name, column in columns.items()}


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
    return isinstance(element, dict) and not is_base64(element)


def _read_columns(value: Any, inputs: DTypes, max_text_bytes: int) -> Tensors:
    """Each tensor has its natural nesting, batch dimension included."""
    if not _is_named(value):
        if len(inputs) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        value = {next(iter(inputs)): value}
    tensors = {}
    for name, dtype in inputs.items():
        if name not in value:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
        column = _Column(name, dtype, max_text_bytes)
        column.add(value[name])
        tensors[name] = column.tensor(())
    return tensors


class _Column:
    """The values of one input; each that is added must have the first one's shape."""

    def __init__(self, name: str, dtype: str, max_text_bytes: int) -> None:
        self._name = name
        self._dtype = dtype
        self._max_text_bytes = max_text_bytes
        self._values: list[Any] = []
        self._shape: tuple[int, ...] | None = None
        self._size = 0

    def add(self, value: Any) -> None:
        shape = _shape(value)
        before = len(self._values)
        self._flatten(value, 0, shape)
        size = len(self._values) - before
        if self._shape is None:
            self._shape, self._size = shape, size
        elif size != self._size:
            raise invalid(f"Expecting tensor size: {self._size} but got: {size}")
        elif shape != self._shape:
            raise invalid(f"Expecting shape {_text(self._shape)} but got: {_text(shape)}")

    def tensor(self, batch: tuple[int, ...]) -> np.ndarray:
        if self._dtype not in _KINDS:  # and there are no values, or one would have been refused
            raise _conversion_error([], self._dtype)
        is_string = self._dtype == "string"
        flat = string_array(self._values) if is_string else _numbers(self._values, self._dtype)
        return flat.reshape((*batch, *(self._shape or ())))

    def _flatten(self, value: Any, level: int, shape: tuple[int, ...]) -> None:
        """Appends the leaves of `value`; checks nesting and types."""
        if not isinstance(value, list):
            if level != len(shape):
                raise invalid(
                    f"JSON Value: {echo(value)} found at incorrect level: {level + 1} in the JSON "
                    f"DOM. Expected at level: {len(shape)}"
                )
            self._values.append(self._leaf(value))
            return
        if level >= len(shape):
            raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
        if len(value) != shape[level]:
            raise invalid(
                f"Encountered list at unexpected size: {len(value)} at level: {level} "
                f"expected size: {shape[level]}"
            )
        for item in value:
            self._flatten(item, level + 1, shape)

    def _leaf(self, value: Any) -> Any:
        kind = type(value)
        if self._dtype == "string" and kind in (str, dict):
            text = value.encode("utf-8", "surrogateescape") if kind is str else base64_bytes(value)
            return checked_text(text, self._name, self._max_text_bytes)
        if kind is not dict and self._dtype not in _KINDS:
            raise _conversion_error(value, self._dtype)
        if kind in _KINDS.get(self._dtype, ()) and _is_in_range(value, self._dtype):
            return value
        raise invalid(
            f"JSON Value: {echo(value)} Type: {type_name(value)} is not of expected type: "
            f"{self._dtype}"
        )


def _conversion_error(value: Any, dtype: str) -> ServingError:
    message = f"Conversion of JSON Value: {echo(value)} to type: {dtype}"
    return ServingError(Code.UNIMPLEMENTED, message)


def _shape(value: Any) -> tuple[int, ...]:
    """Shape by the first element of each level; `_Column` checks the others."""
    shape = []
    start = value
    while isinstance(value, list):
        shape.append(len(value))
        if len(shape) > _MAX_RANK:
            raise invalid(f"JSON Value: {echo(start)} has more than {_MAX_RANK} dimensions")
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _is_in_range(value: Any, dtype: str) -> bool:
    if dtype not in INTEGERS:
        return True
    _, least, most = INTEGERS[dtype]
    return least <= value <= most
