"""Configuration in protobuf's text format, where the stubs lack the message."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)

from bert_tf.errors import InputError

_PACKAGE = "tensorflow.serving"
_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _FIELD.TYPE_BOOL,
    "int64": _FIELD.TYPE_INT64,
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
}


def message_classes(messages: Mapping[str, Mapping[str, tuple[int, str]]]) -> dict[str, Any]:
    """Makes classes of messages of the package `tensorflow.serving`.

    Args:
      messages: by message name, its fields: from the name to the number and the type, which is
        `bool`, `int64`, `string`, `bytes`, another name of `messages`, or one of
        google.protobuf's wrappers, such as `Int64Value`; `repeated` may stand before it.

    Returns:
      The classes, by message name.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name="configuration.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field_name, (number, kind) in fields.items():
            _add_field(message, field_name, number, kind, messages.keys())
    # A pool of its own: stubs that know these messages some day do not collide with them.
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in messages
    }


def _add_field(message: Any, name: str, number: int, kind: str, own: Any) -> None:
    label, _, kind = kind.rpartition(" ")
    field = message.field.add(
        name=name,
        number=number,
        label=_FIELD.LABEL_REPEATED if label == "repeated" else _FIELD.LABEL_OPTIONAL,
    )
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        package = _PACKAGE if kind in own else "google.protobuf"
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".{package}.{kind}"


def parse_file(path: str, message: Any, what: str) -> Any:
    """Fills a message from a file.

    Args:
      what: the file in messages, such as `--batching_parameters_file=F`.

    Returns:
      `message`.

    Raises:
      InputError: the file cannot be read, or is not text of this message.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{what} cannot be read: {error}") from error
    try:
        return text_format.Parse(text, message)
    except text_format.ParseError as error:
        raise InputError(
            f"{what}: Invalid protobuf file: '{path}': {error}. Wanted: "
            f"{message.DESCRIPTOR.name} in protobuf's text format."
        ) from error
