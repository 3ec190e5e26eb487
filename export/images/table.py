"""The operations that stock TensorFlow Serving images register: a table read from releases.

`benchmarks/export/op_registries.py` makes operations.json.gz from the packages of TensorFlow and
TensorFlow Text that the images are built with.
"""

import base64
import dataclasses
import functools
import gzip
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from bert_tf.errors import InputError

# From attribute to the types, as numbers of TensorFlow's enum, with which a kernel exists.
Kernel = Mapping[str, frozenset[int]]


@dataclasses.dataclass(frozen=True)
class Image:
    """An image, whatever its patch number.

    Attributes:
      name: such as "2.15".
      tensorflow: the version whose operations were read.
      tensorflow_text: the version that the image is built with.
      graph_version: of the graphs that it writes.
    """

    name: str
    tensorflow: str
    tensorflow_text: str
    graph_version: int


@dataclasses.dataclass(frozen=True)
class Attribute:
    """An attribute of an operation.

    Attributes:
      type: such as "int", "type" or "list(shape)".
      default: a serialized AttrValue; None: nodes must have the attribute.
      allowed: numbers of types, or strings; None: all of the type.
      minimum: of an integer, or of the length of a list.
    """

    type: str
    default: bytes | None
    allowed: frozenset[int | str] | None
    minimum: int | None


@dataclasses.dataclass(frozen=True)
class Definition:
    """An operation as an image registers it.

    Attributes:
      inputs: for each argument the attribute that says how many tensors it is; "" for one.
      outputs: the same.
      attributes: by name.
      is_text: whether it is one of TensorFlow Text.
      deprecated: the graph version from which on it is refused, or None.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    is_text: bool
    deprecated: int | None


@functools.cache
def images() -> Mapping[str, Image]:
    """The images of the table by their names, oldest first."""
    return {name: Image(name, **values) for name, values in _content()["images"].items()}


def newest() -> str:
    """The name of the newest image of the table."""
    return list(images())[-1]


def named(name: str) -> str:
    """The name in the table of an image that may be named with its patch number, as 2.15.1.

    Raises:
      InputError: the table does not have it.
    """
    short = ".".join(name.split(".")[:2])
    if short not in images():
        raise InputError(f"--image={name} is not known. Known are {', '.join(images())}.")
    return short


@functools.cache
def definition(operation: str, image: str) -> Definition | None:
    """An operation as an image has it; None if it does not."""
    found = _in_image("operations", operation, image)
    if found is None:
        return None
    return Definition(
        inputs=tuple(found["inputs"]),
        outputs=tuple(found["outputs"]),
        attributes={name: _attribute(each) for name, each in found["attributes"].items()},
        is_text=found.get("is_text", False),
        deprecated=found.get("deprecated"),
    )


@functools.cache
def cpu_kernels(operation: str, image: str) -> tuple[Kernel, ...]:
    """The kernels for CPUs of an operation of TensorFlow itself."""
    found = _in_image("kernels", operation, image) or ()
    return tuple({name: frozenset(types) for name, types in kernel.items()} for kernel in found)


def _attribute(found: Mapping[str, Any]) -> Attribute:
    default, allowed = found.get("default"), found.get("allowed")
    return Attribute(
        type=found["type"],
        default=None if default is None else base64.b64decode(default),
        allowed=None if allowed is None else frozenset(allowed),
        minimum=found.get("minimum"),
    )


def _in_image(what: str, operation: str, image: str) -> Any:
    """What the latest change up to an image says; None if there was none, or if it says so."""
    history = _content()[what].get(operation, {})
    order = list(images())
    changes = [each for each in history if order.index(each) <= order.index(image)]
    return history[changes[-1]] if changes else None


@functools.cache
def _content() -> Mapping[str, Any]:
    packed = resources.files("export.images").joinpath("operations.json.gz").read_bytes()
    return json.loads(gzip.decompress(packed))
