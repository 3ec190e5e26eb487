"""Which models are served, from TensorFlow Serving's ModelServerConfig or from flags."""

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from bert_tf.errors import InputError
from serving.models import policies
from serving.options import ModelFlags
from serving.status import Code, ServingError, invalid

_PLATFORM = "tensorflow"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """A model to serve.

    Attributes:
      base_path: whose sub-directories are versions; absolute unless a flag gave it.
      labels: from names that clients may give instead of a version to versions.
      logging: LoggingConfig of its requests, or None.
    """

    name: str
    base_path: str
    policy: policies.Policy = policies.Latest()
    labels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    logging: Any = None


def of_flags(options: ModelFlags) -> list[ModelConfig]:
    """The models that the flags name, at the start of a server.

    Raises:
      InputError: --model_config_file cannot be read, or is refused.
    """
    if options.model_config_file:
        return read(options.model_config_file)
    return [ModelConfig(options.model_name, options.model_base_path or "")]


def read(path: str) -> list[ModelConfig]:
    """Reads a ModelServerConfig in text format.

    Raises:
      InputError: the file cannot be read or parsed, or its models are refused.
    """
    what = f"--model_config_file={path}"
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{what} cannot be read: {reason}.") from None
    message = model_server_config_pb2.ModelServerConfig()
    try:
        text_format.Parse(text, message)
        if message.WhichOneof("config") == "custom_model_config":
            raise invalid("Only ModelConfigList is currently supported")
        return of_messages(message.model_config_list.config)
    except text_format.ParseError as error:
        raise InputError(
            f"{what}: Error parsing text-format {message.DESCRIPTOR.full_name}: {_located(error)}"
        ) from None
    except ServingError as error:
        raise InputError(f"{what}: {error.message}") from None


def _located(error: text_format.ParseError) -> str:
    """What is wrong, after its line and column where they are known."""
    text = str(error)
    line = error.GetLine()
    return text if line is None or text.startswith(f"{line}:") else f"{line}: {text}"


def of_messages(messages: Iterable[Any]) -> list[ModelConfig]:
    """The models of ModelConfig messages.

    Raises:
      ServingError: INVALID_ARGUMENT, in TensorFlow Serving's words where it has some.
    """
    configs = [_model(each) for each in messages]
    _require_unique([config.name for config in configs])
    return configs


def _require_unique(names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise invalid(f"Illegal to list model {name} multiple times in config list")


def _model(message: Any) -> ModelConfig:
    """One model of a ModelConfigList."""
    if not message.name:
        raise invalid("Expected every model of the config list to have a name")
    _check_platform(message)
    if _URI.match(message.base_path):
        raise ServingError(
            Code.UNIMPLEMENTED,
            f"Model {message.name} has base_path={message.base_path}; only paths of this machine "
            "can be read. Mount the bucket as a folder, or copy the versions.",
        )
    if not os.path.isabs(message.base_path):
        raise invalid(
            f"Expected model {message.name} to have an absolute path or URI; got "
            f"base_path()={message.base_path}"
        )
    return ModelConfig(
        message.name,
        message.base_path,
        _policy(message),
        dict(message.version_labels),
        message.logging_config if message.HasField("logging_config") else None,
    )


def _check_platform(message: Any) -> None:
    fields = "ModelServerConfig::model_type (deprecated) {} ModelServerConfig::model_platform"
    if message.model_type and message.model_platform:
        both = fields.format("and")
        raise invalid(f"Illegal setting both {both}, model name is {message.name}")
    if message.model_type not in (0, model_server_config_pb2.TENSORFLOW):
        raise invalid(f"ModelServerConfig::model_type choice {message.model_type} not supported.")
    if not (message.model_type or message.model_platform):
        neither = fields.format("nor")
        raise invalid(f"Illegal setting neither {neither}, model name is {message.name}")
    if message.model_platform not in ("", _PLATFORM):
        raise invalid(
            f"Model {message.name} requests unsupported platform {message.model_platform}"
        )


def _policy(message: Any) -> policies.Policy:
    policy = message.model_version_policy
    match policy.WhichOneof("policy_choice"):
        case "all":
            return policies.All()
        case "specific":
            return policies.Specific(frozenset(policy.specific.versions))
    return policies.Latest(max(policy.latest.num_versions, 1))
