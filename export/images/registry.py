"""What an image lacks of an operation as a node uses it: the rules that TensorFlow loads by."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorflow.core.framework import attr_value_pb2, types_pb2

from export.images import table
from export.images.graph import Use
from export.images.table import Attribute, Definition

Values = Mapping[str, Any]  # AttrValues by the names of attributes

# Attributes that say where a node comes from. No result depends on them; images that do not know
# them ignore them.
_NOTES = frozenset(["debug_name", "grad_a", "grad_b", "grad_x", "grad_y"])

# The field of an AttrValue that holds an attribute of a type, where it has another name.
_FIELDS = {"string": "s", "int": "i", "float": "f", "bool": "b"}


def missing(use: Use, producer: int, image: str) -> str | None:
    """The first thing that an image lacks for a use, or None.

    Args:
      producer: the graph version of the TensorFlow that wrote the graph.
      image: a name of the table.

    Returns:
      A noun that "is first in image 2.20" can follow.
    """
    definition = table.definition(use.operation, image)
    if definition is None or (definition.deprecated or producer + 1) <= producer:
        return use.operation
    newest = table.definition(use.operation, table.newest()) or definition
    values = use.values()
    if any(value.placeholder for value in values.values()):
        return None  # the caller of the function says what they are
    problems = (
        *(f"{each} of {use.operation}" for each in _wrong_attributes(definition, newest, values)),
        *(f"{each} of {use.operation}" for each in _wrong_defaults(definition, newest, values)),
    )
    if problems:
        return problems[0]
    if use.num_inputs != sum(_count(name, definition, values) for name in definition.inputs):
        return f"{use.operation} with {use.num_inputs} inputs"
    types = _types(definition, values)
    if _has_kernel(use.operation, table.newest(), types):
        if not _has_kernel(use.operation, image, types):
            return f"a CPU kernel of {use.operation}{_of_types(types)}"
    return None


# Attributes.


def _wrong_attributes(definition: Definition, newest: Definition, values: Values) -> Iterator[str]:
    """Attributes that the image does not know, or whose values it refuses."""
    for name, value in values.items():
        attribute, in_newest = definition.attributes.get(name), newest.attributes.get(name)
        if attribute is None and in_newest:
            # An image ignores an attribute that it does not know, which is right for the default.
            is_default = in_newest.default == value.SerializeToString(deterministic=True)
            if not is_default and name not in _NOTES:
                yield f"attribute {name}={_text(value)}"
        elif attribute is None:
            yield f"attribute {name}={_text(value)}"
        elif not _admits(attribute, value):
            yield f"{name}={_text(value)}"


def _wrong_defaults(definition: Definition, newest: Definition, values: Values) -> Iterator[str]:
    """Attributes that the node leaves out, and the image has no default or another one for."""
    for name, attribute in definition.attributes.items():
        in_newest = newest.attributes.get(name)
        if name in values:
            continue
        if attribute.default is None:
            yield f"a default for attribute {name}"
        elif in_newest and in_newest.default not in (None, attribute.default):
            yield f"today's default for attribute {name}"


def _admits(attribute: Attribute, value: Any) -> bool:
    """Whether a value is of the attribute's type, allowed, and not too small."""
    of_elements = attribute.type.removeprefix("list(").removesuffix(")")
    is_list = of_elements != attribute.type
    field = _FIELDS.get(of_elements, of_elements)
    if value.WhichOneof("value") != ("list" if is_list else field):
        return False
    if is_list:
        elements: list[Any] = list(getattr(value.list, field))
        size = max((len(found) for _, found in value.list.ListFields()), default=0)
    else:
        elements = [getattr(value, field)]
        size = value.i
    is_large_enough = attribute.minimum is None or size >= attribute.minimum
    return is_large_enough and _is_allowed(attribute, elements)


def _is_allowed(attribute: Attribute, elements: Iterable[Any]) -> bool:
    allowed = attribute.allowed
    if allowed is None:
        return True
    return all((x.decode() if isinstance(x, bytes) else x) in allowed for x in elements)


# Inputs and kernels.


def _count(name: str, definition: Definition, values: Values) -> int:
    """The number of tensors of an argument."""
    if not name:
        return 1
    value = _value(name, definition, values)
    return value.i if definition.attributes[name].type == "int" else len(value.list.type)


def _value(name: str, definition: Definition, values: Values) -> Any:
    """The value of an attribute, which a node may leave to its default."""
    if name in values:
        return values[name]
    return attr_value_pb2.AttrValue.FromString(definition.attributes[name].default or b"")


def _types(definition: Definition, values: Values) -> dict[str, frozenset[int]]:
    """The types that the attributes of a node name."""
    found = {}
    for name, attribute in definition.attributes.items():
        value = _value(name, definition, values)
        if attribute.type == "type":
            found[name] = frozenset([value.type])
        elif attribute.type == "list(type)":
            found[name] = frozenset(value.list.type)
    return found


def _has_kernel(operation: str, image: str, types: Mapping[str, frozenset[int]]) -> bool:
    return any(
        all(types.get(name, frozenset()) <= admitted for name, admitted in kernel.items())
        for kernel in table.cpu_kernels(operation, image)
    )


# Words.


def _of_types(types: Mapping[str, frozenset[int]]) -> str:
    shown = [f"{name}={', '.join(map(_type_name, sorted(each)))}" for name, each in types.items()]
    return f" for {'; '.join(shown)}" if shown else ""


def _type_name(number: int) -> str:
    known = types_pb2.DataType.DESCRIPTOR.values_by_number
    name = known[number].name if number in known else str(number)
    return name.removeprefix("DT_").lower()


def _text(value: Any) -> str:
    """A value as messages show it."""
    kind = value.WhichOneof("value")
    if kind == "type":
        return _type_name(value.type)
    if kind == "s":
        return repr(value.s.decode("utf-8", "replace"))
    if kind in ("i", "f", "b"):
        return str(getattr(value, kind))
    return f"({kind or 'nothing'})"
