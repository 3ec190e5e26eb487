"""JSON text to Python values as TensorFlow Serving's parser reads it, and back for messages."""

import json
import math
import re
from typing import Any

import orjson

from serving.status import invalid

# If a key occurs twice, the first one counts; orjson keeps the last.
_ONCE = (b'"signature_name"', b'"instances"', b'"inputs"')
# A string, or the token Inf, which Python's decoder knows only as Infinity.
_STRING_OR_INF = re.compile(r'("(?:[^"\\]|\\.)*")|\bInf\b', re.DOTALL)
_ECHO_CHARS = 256


def parse(body: bytes) -> dict[str, Any]:
    """Decodes the body of a request.

    NaN, Infinity and Inf are numbers, what follows the closing brace is ignored, and bytes that
    are not UTF-8 become surrogates, which `str.encode("utf-8", "surrogateescape")` turns back.

    Returns:
      The top-level object.

    Raises:
      ServingError: INVALID_ARGUMENT; not JSON, or not an object.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    if any(body.count(key) > 1 for key in _ONCE):
        value = _parse_leniently(body)
    else:
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:
            value = _parse_leniently(body)
    if not isinstance(value, dict):
        raise invalid(f"JSON Value: {echo(value)} Is not object")
    return value


def _parse_leniently(body: bytes) -> Any:
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    text = _STRING_OR_INF.sub(lambda match: match[1] or "Infinity", text).lstrip(" \t\r\n")
    if not text:
        raise invalid("JSON Parse error: The document is empty")
    try:
        return _DECODER.raw_decode(text)[0]
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise invalid(f"JSON Parse error: {error}") from None


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"Number too big to be stored in double: {text[:40]}")
    return value


def _int(text: str) -> int | float:
    value = int(text)
    return value if -(2**63) <= value < 2**64 else _float(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=lambda pairs: dict(reversed(pairs)), parse_float=_float, parse_int=_int
)


def echo(value: Any) -> str:
    """The start of a value's JSON text, for an error message."""
    text = ""
    try:
        for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
            text += part[:_ECHO_CHARS]
            if len(text) >= _ECHO_CHARS:
                break
    except RecursionError:
        text += "..."
    return text[:_ECHO_CHARS].encode("utf-8", "replace").decode()


def error_body(message: str) -> bytes:
    """The body of an error answer: one key, pretty-printed."""
    text = message.encode("utf-8", "replace").decode()
    return f'{{\n    "error": {json.dumps(text, ensure_ascii=False)}\n}}'.encode()
