"""TensorFlow Serving's protocol buffers, without TensorFlow.

The modules of tensorflow-serving-api import TensorFlow, which takes seconds and hundreds of
megabytes, and a client computes nothing. So their message descriptors are read from their
files, and make classes in a pool of their own. What these write and read is the same bytes.
"""

import ast
import functools
import importlib
import importlib.machinery
import os
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_ROOTS = ("get_model_metadata", "get_model_status", "prediction_log")
_SERVING, _TENSORFLOW = "tensorflow.serving.", "tensorflow."


def new(name: str) -> Any:
    """An empty message, such as that of "PredictRequest"; see `kind`."""
    return kind(name)()


@functools.cache
def kind(name: str) -> Any:
    """The class of a message of tensorflow.serving or of tensorflow, such as "TensorProto"."""
    pool = _pool()
    try:
        descriptor = pool.FindMessageTypeByName(_SERVING + name)
    except KeyError:
        descriptor = pool.FindMessageTypeByName(_TENSORFLOW + name)
    return message_factory.GetMessageClass(descriptor)


@functools.cache
def numbers(name: str) -> dict[str, int]:
    """The numbers of an enumeration of tensorflow, such as "DataType", by name."""
    values = _pool().FindEnumTypeByName(_TENSORFLOW + name).values
    return {value.name: value.number for value in values}


@functools.cache
def _pool() -> Any:
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for root in _ROOTS:
        _add(f"tensorflow_serving/apis/{root}.proto", pool, added)
    return pool


def _add(file: str, pool: Any, added: set[str]) -> None:
    """Adds a file to a pool, after those that it imports."""
    if file in added:
        return
    added.add(file)
    serialized = _serialized(file)
    for imported in descriptor_pb2.FileDescriptorProto.FromString(serialized).dependency:
        _add(imported, pool, added)
    pool.AddSerializedFile(serialized)


def _serialized(file: str) -> bytes:
    """The descriptor of a .proto file, from the Python file that was generated of it."""
    module = file.removesuffix(".proto") + "_pb2"
    if file.startswith("google/"):
        return importlib.import_module(module.replace("/", ".")).DESCRIPTOR.serialized_pb
    with open(_path(f"{module}.py"), encoding="utf-8") as source:
        tree = ast.parse(source.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "AddSerializedFile":
            return ast.literal_eval(node.args[0])
    raise ImportError(f"{module} holds no descriptor of {file}.")


def _path(file: str) -> str:
    # XLA's files are in the root of their repository, and inside TensorFlow once installed.
    candidates = (file, f"tensorflow/compiler/{file}")
    for candidate in candidates:
        package, _, rest = candidate.partition("/")
        path = os.path.join(_folder(package), rest)
        if os.path.isfile(path):
            return path
    raise ImportError(f"The installed TensorFlow has none of {', '.join(candidates)}.")


@functools.cache
def _folder(package: str) -> str:
    """Where a package is installed."""
    # Not importlib.util.find_spec: that tells bert_tf.quiet that TensorFlow is about to be loaded.
    spec = importlib.machinery.PathFinder.find_spec(package)
    return next(iter(spec.submodule_search_locations or ()), "") if spec else ""
