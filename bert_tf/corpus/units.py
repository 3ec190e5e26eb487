"""Text files to units of raw text, cut between documents and not yet parsed.

One process cuts for all that parse, so it searches for a boundary from the end of a block and does
not look at each line. Where a file is cut depends only on its decompressed content.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from bert_tf.corpus import inputs, wikipedia
from bert_tf.errors import InputError

UNIT_BYTES = 2**20
# About twelve times the longest novel; more text without a boundary has no document marks.
MAX_DOCUMENT_BYTES = 64 * 2**20

_READ_BYTES = 2**20
# First bytes of files that are not UTF-8 text, and what to do about it.
_FOREIGN_STARTS = {
    b"\x1f\x8b": ("compressed with gzip twice", "Decompress it once."),
    b"BZh": ("compressed with bzip2 twice", "Decompress it once."),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd twice", "Decompress it once."),
    b"\xfd7zXZ": ("compressed with xz", "Decompress it with `unxz`."),
    b"PK\x03\x04": ("a zip archive", "Unpack it."),
    b"\xff\xfe": ("UTF-16", "Convert it with `iconv -f UTF-16 -t UTF-8`."),
    b"\xfe\xff": ("UTF-16", "Convert it with `iconv -f UTF-16 -t UTF-8`."),
}
# Half the bytes of English in UTF-16 without a mark are 0; UTF-8 text has almost none.
_MANY_ZEROS = 0.2


class Unit(NamedTuple):
    """Whole documents of one file, raw; can be pickled.

    Attributes:
      format: sentences, text, jsonl, wikipedia or wikiextractor.
      number: its number in the file, from 0.
      first: the line of the decompressed file in which it starts, from 1.
      data: bytes; of wikipedia a list of (title, wikitext, line).
      num_bytes: its decompressed bytes; of wikipedia those of the wikitext.
      position: bytes of the file on disk that have been read by then, for the progress.
    """

    path: str
    format: str
    number: int
    first: int
    data: Any
    num_bytes: int
    position: int = 0


def read_units(
    path: str,
    input_format: str,
    unit_bytes: int = UNIT_BYTES,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
) -> Iterator[Unit]:
    """Yields a file's text in units: as many whole documents as fit into `unit_bytes`, or one.

    Holds one unit in memory, however long the file is.

    Args:
      path: a file that `inputs.find` has listed.
      input_format: as `inputs.resolve_format` returns it.
      max_document_bytes: a longer document is an error.

    Raises:
      InputError: the file is compressed twice, cut short or damaged, is not UTF-8 text by its first
        bytes, or continues for `max_document_bytes` without the end of a document.
    """
    with inputs.open_text(path) as stream:
        if input_format == "wikipedia":
            units = _units_of_pages(path, stream, unit_bytes)
        elif input_format == "text":
            units = _whole(path, stream, max_document_bytes)
        else:
            units = _cut(path, stream, input_format, unit_bytes, max_document_bytes)
        for unit in units:
            yield unit._replace(position=inputs.position(stream))


def _check_start(path: str, start: bytes) -> None:
    """Refuses what is not plain text."""
    for mark, (kind, way_out) in _FOREIGN_STARTS.items():
        if start.startswith(mark):
            raise InputError(f"{path} is {kind}; plain UTF-8 text was wanted. {way_out}")
    sample = start[:4096]
    if sample.count(b"\0") > _MANY_ZEROS * len(sample):
        raise InputError(
            f"{path} is not UTF-8 text: {sample.count(0)} of its first {len(sample)} bytes are 0. "
            "If it is UTF-16, convert it, e.g. with `iconv -f UTF-16LE -t UTF-8`."
        )


# ---------------------------------------------------------------- lines that end documents

# White space of UTF-8 within a line.
_SPACE = (
    rb"(?:[ \t\r\x0b\x0c\x1c-\x1f]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80)"
)


class _Cut(NamedTuple):
    """Where documents of a format end. Every boundary begins with a line end.

    Attributes:
      usual: common boundaries, which are searched for first because that is fast.
      pattern: of all boundaries.
      too_long: what is missing in a document beyond the limit, for the message.
    """

    usual: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    too_long: str

    def last(self, data: bytes, limit: int) -> int:
        """The end of the last boundary in `data[:limit]`; 0: there is none."""
        end = 0
        for mark in self.usual:
            start = data.rfind(mark, end, limit)
            end = start + len(mark) if start >= 0 else end
        if not end:
            for match in self.pattern.finditer(data, 0, limit):
                end = match.end()
        return end

    def first(self, data: bytes, start: int) -> int:
        """The end of the first boundary that begins at or after `start`; 0: there is none."""
        match = self.pattern.search(data, start)
        return match.end() if match else 0


_CUTS = {
    "sentences": _Cut(
        (b"\n\n", b"\n\r\n"),
        re.compile(rb"\n" + _SPACE + rb"*\n"),
        "a blank line. One sentence per line and a blank line between documents were wanted.",
    ),
    "jsonl": _Cut((b"\n",), re.compile(rb"\n"), "a line end. A JSON object per line was wanted."),
    "wikiextractor": _Cut(
        (b"\n</doc>",),
        re.compile(rb"\n</doc>"),
        "a line </doc>. The output of WikiExtractor was wanted.",
    ),
}


def _cut(
    path: str, stream: BinaryIO, input_format: str, unit_bytes: int, max_document_bytes: int
) -> Iterator[Unit]:
    cut = _CUTS[input_format]
    buffer, number, line = stream.read(unit_bytes), 0, 1
    _check_start(path, buffer)
    while buffer:
        if len(buffer) < unit_bytes:
            end = len(buffer)  # that of the file
        else:
            end = cut.last(buffer, unit_bytes)
        if not end:
            buffer, end = _read_one(stream, buffer, unit_bytes, cut, max_document_bytes)
        if not end:
            raise _too_long(path, line, buffer, cut, max_document_bytes)
        data = buffer[:end]
        yield Unit(path, input_format, number, line, _without_mark(data, number), end)
        number, line = number + 1, line + data.count(b"\n")
        buffer = buffer[end:]
        if len(buffer) < unit_bytes:
            buffer += stream.read(unit_bytes - len(buffer))


def _read_one(
    stream: BinaryIO, buffer: bytes, unit_bytes: int, cut: _Cut, max_document_bytes: int
) -> tuple[bytes, int]:
    """Reads until the first boundary, which is not in `buffer[:unit_bytes]`.

    Returns:
      The buffer and the end of the document in it; 0: it is longer than `max_document_bytes`.
    """
    start = max(0, buffer.rfind(b"\n", 0, unit_bytes))
    while not (end := cut.first(buffer, start)) and len(buffer) <= max_document_bytes:
        newline = buffer.rfind(b"\n", start)
        start = newline if newline >= 0 else len(buffer)
        block = stream.read(_READ_BYTES)
        if not block:
            return buffer, len(buffer)
        buffer += block
    return buffer, end if end <= max_document_bytes else 0


def _too_long(
    path: str, line: int, buffer: bytes, cut: _Cut, max_document_bytes: int
) -> InputError:
    blank = buffer[: len(buffer) - len(buffer.lstrip())]
    return InputError(
        f"{path}: the document that starts in line {line + blank.count(10)} continues for more "
        f"than {max_document_bytes} bytes without {cut.too_long}"
    )


def _without_mark(data: bytes, number: int) -> bytes:
    return data if number else data.removeprefix(inputs.BYTE_ORDER_MARK)


# ---------------------------------------------------------------- other formats


def _whole(path: str, stream: BinaryIO, max_document_bytes: int) -> Iterator[Unit]:
    data = stream.read(max_document_bytes + 1)
    _check_start(path, data)
    if len(data) > max_document_bytes:
        raise InputError(
            f"{path} has more than {max_document_bytes} bytes. In the format text a file is one "
            "document; split it into several files, or use another --input_format: sentences "
            "(blank lines between documents) or jsonl (a document per line)."
        )
    if data:
        yield Unit(path, "text", 0, 1, _without_mark(data, 0), len(data))


def _units_of_pages(path: str, stream: BinaryIO, unit_bytes: int) -> Iterator[Unit]:
    held: list[wikipedia.Article] = []
    size = number = 0
    for page in wikipedia.pages(stream, path):
        num_bytes = len(page[1].encode("utf-8"))
        if held and size + num_bytes > unit_bytes:
            yield Unit(path, "wikipedia", number, held[0][2], held, size)
            held, size, number = [], 0, number + 1
        held.append(page)
        size += num_bytes
    if held:
        yield Unit(path, "wikipedia", number, held[0][2], held, size)
