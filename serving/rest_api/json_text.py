"""JSON text to Python values as TensorFlow Serving's parser reads it, and back for messages.

`parse_quickly` knows what nearly every request is: JSON by the book, no key twice in an object.
`parse` also knows what else RapidJSON takes, in several times the time.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any

import orjson

from serving.status import ServingError, invalid

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = " \t\r\n"
# RapidJSON's reasons, by what orjson says of texts that RapidJSON does not take either.
_COMMA_IN_ARRAY = "Missing a comma or ] after an array element."
_COMMA_IN_OBJECT = "Missing a comma or } after an object member."
_NAME, _COLON = (
    "Missing a name for object member.",
    "Missing a colon after a name of object member.",
)
_VALUE, _SURROGATES = "Invalid value.", "The surrogate pair in string is invalid."
_ESCAPE_DIGIT = "Incorrect hex digit after \\u escape in string."
_ESCAPE_CHAR = "Invalid escape character in string."
_CONTROL, _TOO_BIG = "Invalid encoding in string.", "Number too big to be stored in double."
_REASONS = {
    "unexpected character, expected ',' or ']'": _COMMA_IN_ARRAY,
    "unexpected character, expected ',' or '}'": _COMMA_IN_OBJECT,
    "unexpected character, expected a string key": _NAME,
    "unexpected character, expected ':' after key": _COLON,
    "unexpected character, expected a JSON value": _VALUE,
    "invalid literal, expected 'null'": _VALUE,
    "invalid literal, expected 'true'": _VALUE,
    "invalid literal, expected 'false'": _VALUE,
    "no digit after sign": _VALUE,
    "no digit after decimal point": "Miss fraction part in number.",
    "no digit after exponent sign": "Miss exponent in number.",
    "unexpected control character in string": _CONTROL,
    "no low surrogate in string": _SURROGATES,
    "invalid low surrogate in string": _SURROGATES,
    "invalid high surrogate in string": _SURROGATES,
    "number is infinity when parsed as double": _TOO_BIG,
    "depth limit exceeded": "Values are nested too deeply.",
}
# The same, by the beginning of what Python's decoder says.
_PYTHON_REASONS = {
    "Expecting value": _VALUE,
    "Expecting property name": _NAME,
    "Expecting ':' delimiter": _COLON,
    "Unterminated string": "Missing a closing quotation mark in string.",
    "Invalid control character": _CONTROL,
    "Invalid \\uXXXX escape": _ESCAPE_DIGIT,
    "Invalid \\escape": _ESCAPE_CHAR,
    "Illegal trailing comma before the end of object": _NAME,
    "Illegal trailing comma before the end of array": _VALUE,
}
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_STRINGS = re.compile(_STRING, re.DOTALL)
# Tokens that RapidJSON knows and Python's decoder does not.
_OTHER_NUMBER = re.compile(r"-NaN|\bInf\b")
_STRING_OR_OTHER_NUMBER = re.compile(f"{_STRING}|{_OTHER_NUMBER.pattern}", re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Escapes in their order; a surrogate without its other half is a group.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)", re.DOTALL
)
# Numbers that may be beyond double range, or beyond 64 bits and so no integers.
_EXTREME_NUMBER = re.compile(r"\d{19}|[eE]\+?\d{3}")
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_INT64_DIGITS = 20
_CONTEXT_CHARS = 2**20
_ECHO_CHARS = 256


def parse_quickly(body: bytes) -> dict[str, Any] | None:
    """Decodes what is plain JSON: an object in which no key occurs twice in an object.

    Returns:
      The object, or None for anything else; `parse` says what it is.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) and _has_unique_keys(body, value) else None


def parse(body: bytes) -> dict[str, Any]:
    """Decodes the body of a request.

    NaN, Infinity and Inf are numbers, the first of equal keys counts, what follows the closing
    brace is ignored, and bytes that are not UTF-8 become surrogates, which
    `str.encode("utf-8", "surrogateescape")` turns back.

    Returns:
      The top-level object.

    Raises:
      ServingError: INVALID_ARGUMENT; not JSON, or not an object.
    """
    value: Any
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        value = _parse_leniently(body, error)
    else:
        if isinstance(value, dict) and not _has_unique_keys(body, value):
            value = _parse_by_python(body)
    if not isinstance(value, dict):
        raise invalid(f"JSON Value: {echo(value)} Is not object")
    return value


def _has_unique_keys(body: bytes, value: dict[str, Any]) -> bool:
    """Whether `orjson`, which keeps the last of equal keys, has dropped none.

    Every member and every colon in a string is a colon of the text; a dropped member is one too
    many. Counting them is far quicker than a decoder that tells about each key.
    """
    count = body.count(b":")
    if count == len(value) + sum(map(_num_members, value.values())):
        return True  # there are no others, whatever is in the strings
    return not _ESCAPED_COLON.search(body) and count == _num_colons(value)


def _num_members(value: Any) -> int:
    """Of the objects in a list."""
    if type(value) is not list or not value or type(value[0]) is not dict:
        return 0
    return sum(len(item) for item in value if type(item) is dict)


def _num_colons(value: Any) -> int:
    """Of the JSON text of a value, if none of its colons is escaped."""
    total, pending = 0, [value]
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind is str:
            total += value.count(":")
        elif kind is dict:
            total += len(value) + sum(key.count(":") for key in value)
            pending.extend(value.values())
        elif kind is list:
            pending.extend(value)
    return total


def _parse_leniently(body: bytes, error: json.JSONDecodeError) -> Any:
    """What RapidJSON makes of a body that orjson does not take."""
    reason = _certain_reason(error)
    if reason:
        raise _parse_error(reason, error.doc, error.pos) from None
    if error.msg == "unexpected content after document":
        value = parse_quickly(error.doc[: error.pos].encode())
        if value is not None:
            return value
    return _parse_by_python(body)


def _certain_reason(error: json.JSONDecodeError) -> str | None:
    """Why RapidJSON does not take a text either; None: it may, or Python's decoder knows why."""
    doc, start = error.doc, error.pos
    if error.msg == "trailing comma is not allowed":
        return _NAME if doc[start + 1 : start + 256].lstrip(_WHITE_SPACE)[:1] == "}" else _VALUE
    if error.msg == "invalid escaped sequence in string":
        return _ESCAPE_DIGIT if doc[start + 1 : start + 2] == "u" else _ESCAPE_CHAR
    if error.msg == "unexpected end of data" and len(doc) > _CONTEXT_CHARS:
        return _missing_comma(doc[-_CONTEXT_CHARS:])
    reason = _REASONS.get(error.msg)
    is_other_number = reason == _VALUE and doc[start : start + 1] in ("N", "I")
    return None if is_other_number else reason


def _parse_by_python(body: bytes) -> Any:
    text = body.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    if ("Inf" in text or "-NaN" in text) and _OTHER_NUMBER.search(text):
        text = _STRING_OR_OTHER_NUMBER.sub(_known_number, text)
    start = len(text) - len(text.lstrip(_WHITE_SPACE))
    if start == len(text):
        raise invalid("JSON Parse error: The document is empty")
    decoder = _CAREFUL_DECODER if _EXTREME_NUMBER.search(text) else _DECODER
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _parse_error(_python_reason(error), text, error.pos) from None
    except _NumberTooBig as error:
        raise _parse_error(_TOO_BIG, text, text.find(str(error))) from None
    except RecursionError:
        raise _parse_error("Values are nested too deeply.", text, start) from None
    if _SURROGATE.search(text, start, end):
        lone = next((match for match in _ESCAPE.finditer(text, start, end) if match[1]), None)
        if lone:
            raise _parse_error(_SURROGATES, text, lone.start())
    return value


def _known_number(match: re.Match[str]) -> str:
    return {"Inf": "Infinity", "-NaN": "NaN"}.get(match[0], match[0])


def _parse_error(reason: str, text: str, position: int) -> ServingError:
    offset = len(text[:position].encode("utf-8", "surrogateescape"))
    return invalid(f"JSON Parse error: {reason} at offset: {offset}")


def _python_reason(error: json.JSONDecodeError) -> str:
    for start, reason in _PYTHON_REASONS.items():
        if error.msg.startswith(start):
            return reason
    return _missing_comma(error.doc[max(0, error.pos - _CONTEXT_CHARS) : error.pos])


def _missing_comma(text: str) -> str:
    """The reason by the kind of value that a text leaves open."""
    depth = 0
    for char in reversed(_STRINGS.sub("", text)):
        depth += (char in "]}") - (char in "[{")
        if depth < 0:
            return _COMMA_IN_ARRAY if char == "[" else _COMMA_IN_OBJECT
    return _COMMA_IN_ARRAY  # it began before the text


class _NumberTooBig(Exception):
    """A number beyond double range; its text."""


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _NumberTooBig(text)
    return value


def _int(text: str) -> int | float:
    value = int(text) if len(text) <= _INT64_DIGITS else 2**64  # `int` is slow with many digits
    return value if -(2**63) <= value < 2**64 else _float(text)


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        value = {}
        for key, item in pairs:
            value.setdefault(key, item)
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_first_of_each)
_CAREFUL_DECODER = json.JSONDecoder(
    object_pairs_hook=_first_of_each, parse_float=_float, parse_int=_int
)


def echo(value: Any) -> str:
    """The start of a value's JSON text, for an error message: indented, arrays on one line."""
    parts: list[str] = []
    _write(value, 0, parts, _ECHO_CHARS)
    return printable("".join(parts)[:_ECHO_CHARS])


def _write(value: Any, level: int, parts: list[str], room: int) -> int:
    """Appends the text of a value, or as much as there is room for.

    Returns:
      The room that is left; each level takes some, so that recursion ends.
    """
    if isinstance(value, dict | list) and value:
        is_object = isinstance(value, dict)
        items: Iterable[Any] = value.items() if isinstance(value, dict) else enumerate(value)
        indent = "\n" + "    " * (level + 1) if is_object else ""
        separator = "{" if is_object else "["
        for key, item in items:
            if room <= 0:
                return room
            name = f"{_dumps(key[:_ECHO_CHARS])}: " if is_object else ""
            parts.append(separator + indent + name)
            room = _write(item, level + is_object, parts, room - len(parts[-1]))
            separator = "," if is_object else ", "
        parts.append("\n" + "    " * level + "}" if is_object else "]")
    else:
        parts.append(_dumps(value[:_ECHO_CHARS] if isinstance(value, str) else value))
    return room - len(parts[-1])


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def printable(text: str) -> str:
    """A text with question marks for bytes that were not UTF-8; they cannot be written."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def error_body(message: str) -> bytes:
    """The body of an error answer: one key, pretty-printed."""
    return f'{{\n    "error": {_dumps(printable(message))}\n}}'.encode()
