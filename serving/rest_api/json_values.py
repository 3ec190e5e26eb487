"""Single values of a request's JSON: what they are called, and the bytes that they stand for."""

import base64
import binascii
from typing import Any

from serving.rest_api.json_text import echo
from serving.status import invalid

_TYPE_NAMES = {
    type(None): "Null",
    dict: "Object",
    list: "Array",
    str: "String",
    int: "Number",
    float: "Number",
}


def type_name(value: Any) -> str:
    """RapidJSON's name of a value's type."""
    return str(value) if isinstance(value, bool) else _TYPE_NAMES[type(value)]


def is_base64(value: Any) -> bool:
    """Whether a value is an object that stands for bytes: `{"b64": "..."}`."""
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def base64_bytes(value: dict[str, Any]) -> bytes:
    """The bytes that an object stands for; white space is ignored, padding may be left out.

    Raises:
      ServingError: INVALID_ARGUMENT.
    """
    if not is_base64(value):
        raise invalid(f"JSON Value: {echo(value)} not formatted correctly for base64 data")
    text = "".join(value["b64"].split()).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


def checked_text(text: bytes, name: str, max_text_bytes: int) -> bytes:
    """The text, if it is not too long.

    Args:
      name: of the input or the feature.

    Raises:
      ServingError: INVALID_ARGUMENT.
    """
    if len(text) > max_text_bytes:
        raise invalid(
            f"A text of {name} has {len(text)} bytes, more than the limit of {max_text_bytes}; "
            "shorten it, or start the server with a larger --rest_api_max_text_bytes"
        )
    return text
