"""JSON too large for the memory: one object of an array, or one line, at a time."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from bert_tf.errors import InputError

_CHUNK = 2**20
_BETWEEN_OBJECTS = re.compile(r"[\s,]*")


def objects(stream: BinaryIO, path: str, key: str) -> Iterator[tuple[str, Any]]:
    """Yields the objects of an array that a JSON object has under a key.

    The memory holds one of them at a time, and the mebibyte that is read next.

    Args:
      path: of the file, for messages.
      key: its first occurrence counts, which must be in the first mebibyte.

    Yields:
      Where an object is, for messages, and the object.

    Raises:
      InputError: the file is not UTF-8, has no such key, is not JSON, or is cut short.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    text = _decoded(decoder, stream, _CHUNK, path)
    start = re.search(rf'"{key}"\s*:\s*\[', text)
    if not start:
        raise InputError(
            f"{path} is in another layout: a JSON object with an array {key!r} was wanted, and it "
            f"begins with {text[:60]!r}."
        )
    position, number = start.end(), 0
    while True:
        position = _next_object(text, position)
        if text.startswith("]", position):
            return
        where = f"{path}: {key}[{number}]"
        try:
            value, position = json.JSONDecoder().raw_decode(text, position)
        except json.JSONDecodeError as error:
            # Twice as much each time: a long object is not parsed from its start too often.
            more = _decoded(decoder, stream, max(_CHUNK, len(text) - position), path)
            if not more:
                raise InputError(
                    f"{where} is not JSON, or the file is cut short: {error.msg}. Copy it again."
                ) from None
            text, position = text[position:] + more, 0
            continue
        yield where, value
        number += 1


def _next_object(text: str, position: int) -> int:
    between = _BETWEEN_OBJECTS.match(text, position)
    return between.end() if between else position


def _decoded(decoder: codecs.IncrementalDecoder, stream: BinaryIO, size: int, path: str) -> str:
    """The text of the next `size` bytes; "" at the end."""
    data = stream.read(size)
    try:
        return decoder.decode(data, final=not data)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error.reason}. Save it as UTF-8.") from None


def lines(stream: BinaryIO, path: str) -> Iterator[tuple[str, Any]]:
    """Yields where each line is that is not blank, for messages, and its value.

    Args:
      path: of the file, for messages.

    Raises:
      InputError: a line is not JSON in UTF-8.
    """
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            yield where, json.loads(line.removeprefix(codecs.BOM_UTF8))
        except ValueError as error:
            raise InputError(
                f"{where}: this is not JSON: {error}. Each line must be one object of the layout."
            ) from None
