"""Units of raw text to documents: the formats that create_pretraining_data.py reads.

One process cuts files into units (`units.read_units`); any process can parse them.
"""

import bisect
import functools
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from bert_tf.corpus import wikipedia
from bert_tf.corpus.sentences import Splitter
from bert_tf.corpus.units import Unit
from bert_tf.errors import InputError

# The text has another encoding if this many lines are not UTF-8, and no more lines are UTF-8
# beyond ASCII.
_MANY_INVALID_LINES = 20
_MAX_INVALID_SHARE = 0.1
# ASCII that is white space to str.strip but not to bytes.strip.
_SEPARATORS = (b"\x1c", b"\x1d", b"\x1e", b"\x1f")
_SURROGATE = re.compile("[\ud800-\udfff]")

_Span = tuple[int, int]  # start and end, in characters


class Document(NamedTuple):
    """One document.

    Attributes:
      sentences: without white space around them, none empty; bytes are UTF-8, of the format
        sentences. A record without text is a document without sentences.
      spans: for each sentence, ascending offsets into it that do not overlap; None: the format has
        none.
      source: `file:line` of its first sentence; of wikipedia `file:page 'Title'`.
      num_bytes: its size in the file, without blank lines around it.
      num_invalid_lines: lines that are not UTF-8; their invalid bytes became U+FFFD, which
        tokenizers drop.
      num_dropped_spans: spans that cross the end of a sentence or overlap another.
      num_dropped_paragraphs: those of wikipedia with unreadable markup.
    """

    sentences: Sequence[str | bytes]
    spans: list[list[_Span]] | None
    source: str
    num_bytes: int
    num_invalid_lines: int = 0
    num_dropped_spans: int = 0
    num_dropped_paragraphs: int = 0


def documents(unit: Unit, *, text_field: str = "text", language: str = "en") -> Iterator[Document]:
    """Yields the documents of a unit in order.

    A unit with many lines that are not UTF-8 is an error. Many means at least 20, and at least as
    many as the lines with valid characters beyond ASCII; or more than a tenth of all lines (in a
    unit after the first one, only if these are at least 20: the last unit may have few lines).

    Args:
      text_field: the field of a JSON line with the text: running text, in which line ends separate
        paragraphs, or a list of sentences. An additional field "spans" lists [start, end]
        character offsets into the text (for a list of sentences, one such list each).
      language: of running text; a code of `sentences.LANGUAGES`.

    Raises:
      InputError: the text is not UTF-8, not of the unit's format, or the language is unknown.
    """
    if unit.format == "sentences":
        return _from_lines(unit)
    splitter = _splitter(language)
    if unit.format == "jsonl":
        return _from_json_lines(unit, text_field, splitter)
    parse = {"text": _from_text, "wikipedia": _from_pages, "wikiextractor": _from_elements}
    return parse[unit.format](unit, splitter)


@functools.cache
def _splitter(language: str) -> Splitter:
    return Splitter(language)


# ---------------------------------------------------------------- sentences


def _from_lines(unit: Unit) -> Iterator[Document]:
    raw = unit.data.split(b"\n")
    lines, invalid = _stripped(unit, raw)
    for first, end in _runs(lines):
        num_bytes = sum(map(len, raw[first:end])) + end - first - (end == len(raw))
        yield Document(
            lines[first:end],
            None,
            f"{unit.path}:{unit.first + first}",
            num_bytes,
            bisect.bisect_left(invalid, end) - bisect.bisect_left(invalid, first),
        )


def _runs(lines: Sequence[str] | Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of the runs of lines that are not empty."""
    start = 0
    for end in [*(number for number, line in enumerate(lines) if not line), len(lines)]:
        if end > start:
            yield start, end
        start = end + 1


def _stripped(unit: Unit, raw: list[bytes]) -> tuple[list[bytes], list[int]]:
    """Lines without the white space around them, all of them UTF-8.

    Returns:
      The lines, and the numbers of those that were not UTF-8, ascending.
    """
    data = unit.data
    lines = [line.strip() for line in raw]
    if data.isascii() and not any(mark in data for mark in _SEPARATORS):
        return lines, []
    invalid: list[int] = []
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        lines, invalid = _repaired(unit, lines)
    return [_strip_fully(line) for line in lines], invalid


def _strip_fully(line: bytes) -> bytes:
    """Strips white space beyond ASCII too."""
    if line and not (32 < line[0] < 128 and 32 < line[-1] < 128):
        return line.decode("utf-8").strip().encode("utf-8")
    return line


def _repaired(unit: Unit, lines: list[bytes]) -> tuple[list[bytes], list[int]]:
    """Replaces bytes that are not UTF-8 by U+FFFD; returns (lines, numbers of those lines).

    Raises:
      InputError: there are too many of them.
    """
    repaired, invalid, num_beyond_ascii = [], [], 0
    for number, line in enumerate(lines):
        try:
            line.decode("utf-8")
            num_beyond_ascii += not line.isascii()
        except UnicodeDecodeError:
            line = line.decode("utf-8", errors="replace").encode("utf-8")
            invalid.append(number)
        repaired.append(line)
    num_lines = len(lines) - (not lines[-1])
    is_many = len(invalid) >= _MANY_INVALID_LINES
    is_share = len(invalid) > _MAX_INVALID_SHARE * num_lines
    if is_many and len(invalid) >= num_beyond_ascii or is_share and (is_many or not unit.number):
        raise InputError(
            f"{unit.path} is not UTF-8: {len(invalid)} of the {num_lines} lines from line "
            f"{unit.first} on cannot be decoded, and {num_beyond_ascii} with more than ASCII can. "
            "Convert it, e.g. with `iconv -f WINDOWS-1252 -t UTF-8`."
        )
    return repaired, invalid


# ---------------------------------------------------------------- running text


def _decoded(unit: Unit) -> tuple[list[str], int]:
    """The lines of a unit of bytes, and the number of those that were not UTF-8."""
    try:
        return unit.data.decode("utf-8").split("\n"), 0
    except UnicodeDecodeError:
        lines, invalid = _repaired(unit, unit.data.split(b"\n"))
        return [line.decode("utf-8") for line in lines], len(invalid)


def _split(paragraphs: Iterable[str], splitter: Splitter) -> list[str]:
    """The sentences of some paragraphs."""
    return [text[start:end] for text in paragraphs for start, end in splitter.spans(text)]


def _from_text(unit: Unit, splitter: Splitter) -> Iterator[Document]:
    lines, num_invalid = _decoded(unit)
    lines = [line.strip() for line in lines]
    runs = list(_runs(lines))
    if runs:
        paragraphs = [" ".join(lines[start:end]) for start, end in runs]
        source = f"{unit.path}:{unit.first + runs[0][0]}"
        yield Document(_split(paragraphs, splitter), None, source, unit.num_bytes, num_invalid)


def _from_pages(unit: Unit, splitter: Splitter) -> Iterator[Document]:
    for title, text, _ in unit.data:
        source = f"{unit.path}:page {title!r}"
        num_bytes = len(text.encode("utf-8"))
        try:
            passages = wikipedia.passages(text)
        except wikipedia.WikitextError:
            yield Document([], None, source, num_bytes, num_dropped_paragraphs=1)
            continue
        yield Document(
            _split(passages.paragraphs, splitter),
            None,
            source,
            num_bytes,
            num_dropped_paragraphs=passages.num_with_markup + passages.num_torn,
        )


_ELEMENT_START = re.compile(r"<doc\s.*>\s*$")
_TITLE = re.compile(r'\btitle="(.*)"')


def _from_elements(unit: Unit, splitter: Splitter) -> Iterator[Document]:
    lines, num_invalid = _decoded(unit)
    start = None
    for number, line in enumerate(lines):
        if start is None and line.strip():
            if not _ELEMENT_START.match(line):
                raise InputError(
                    f"{unit.path}:{unit.first + number}: {line[:60]!r} is outside of <doc> "
                    "elements; the output of WikiExtractor was wanted, or another --input_format."
                )
            start = number
        elif start is not None and line.startswith("</doc>"):
            yield _element(unit, lines, start, number, num_invalid, splitter)
            start, num_invalid = None, 0
    if start is not None:
        raise InputError(
            f"{unit.path} is cut short: the <doc> of line {unit.first + start} does not end. Copy "
            "it again, or leave it out."
        )


def _element(
    unit: Unit, lines: list[str], start: int, end: int, num_invalid: int, splitter: Splitter
) -> Document:
    """The document of the lines from <doc> to </doc>, without its title."""
    text = [number for number in range(start + 1, end) if lines[number].strip()]
    title = _TITLE.search(lines[start])
    if text and title and _plain(lines[text[0]]) == _plain(title[1]):
        text = text[1:]
    return Document(
        _split([lines[number] for number in text], splitter),
        None,
        f"{unit.path}:{unit.first + (text[0] if text else start)}",
        sum(len(line.encode("utf-8")) + 1 for line in lines[start : end + 1]),
        num_invalid,
    )


def _plain(title: str) -> str:
    return html.unescape(title).strip()


# ---------------------------------------------------------------- JSON lines


def _from_json_lines(unit: Unit, text_field: str, splitter: Splitter) -> Iterator[Document]:
    lines: list[bytes] = unit.data.split(b"\n")
    invalid = frozenset[int]()
    try:
        unit.data.decode("utf-8")
    except UnicodeDecodeError:
        lines, numbers = _repaired(unit, lines)
        invalid = frozenset(numbers)
    for number, line in enumerate(lines):
        if line.strip():
            source = f"{unit.path}:{unit.first + number}"
            text, spans, has_surrogate = _json_record(line, source, text_field)
            sentences, sentence_spans, num_dropped = _located(text, spans, splitter)
            is_invalid = has_surrogate or number in invalid
            num_bytes = len(line) + (number + 1 < len(lines))
            yield Document(
                sentences, sentence_spans, source, num_bytes, int(is_invalid), num_dropped
            )


def _json_record(
    line: bytes, source: str, text_field: str
) -> tuple[str | list[str], list | None, bool]:
    """Returns (text, sorted spans or None, whether half a surrogate pair was in the text).

    Of a list of sentences, the spans are a list each.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}. Each line must be an object.") from None
    if not isinstance(record, dict):
        raise InputError(f"{source} is a JSON {_type(record)}; an object was wanted.")
    if text_field not in record:
        raise InputError(
            f"{source} has no field {text_field!r}, which --text_field names; its fields are "
            f"{', '.join(record) or 'none'}."
        )
    text, spans = record[text_field], record.get("spans")
    is_list = isinstance(text, list)
    texts = text if is_list else [text]
    for each in texts:
        if not isinstance(each, str):
            raise InputError(
                f"{source}: the field {text_field!r} holds a {_type(each)}; a string or a list of "
                "strings was wanted."
            )
    if spans is not None:
        if not isinstance(spans, list) or is_list and len(spans) != len(text):
            raise _wrong_spans(source, spans)
        by_text = [
            _checked_spans(each, len(one), source)
            for each, one in zip(spans if is_list else [spans], texts, strict=True)
        ]
        spans = by_text if is_list else by_text[0]
    repaired = [_SURROGATE.sub("\ufffd", each) for each in texts]
    return (repaired if is_list else repaired[0]), spans, repaired != texts


def _checked_spans(spans: Any, length: int, source: str) -> list[_Span]:
    """The spans of one text, sorted; if two start together, the longer one comes first."""
    for span in spans if isinstance(spans, list) else [spans]:
        are_ints = isinstance(span, list) and [type(offset) for offset in span] == [int, int]
        if not are_ints or not 0 <= span[0] < span[1] <= length:
            raise _wrong_spans(source, span)
    return sorted(((start, end) for start, end in spans), key=lambda span: (span[0], -span[1]))


def _wrong_spans(source: str, found: Any) -> InputError:
    return InputError(
        f'{source}: the field "spans" holds {json.dumps(found)[:60]}; wanted: [start, end] with '
        "0 <= start < end <= length of the text in characters (for a list of sentences, a list of "
        "these for each)."
    )


def _type(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")


def _located(
    text: str | list[str], spans: list | None, splitter: Splitter
) -> tuple[list[str], list[list[_Span]] | None, int]:
    """Splits a text; returns (sentences, spans of each or None, number of spans dropped)."""
    if isinstance(text, list):
        bounds = [(number, *_stripped_bounds(each)) for number, each in enumerate(text)]
        kept = [(number, start, end) for number, start, end in bounds if start < end]
        sentences = [text[number][start:end] for number, start, end in kept]
        if spans is None:
            return sentences, None, 0
        inside = [_inside(spans[number], start, end) for number, start, end in kept]
        return sentences, inside, sum(map(len, spans)) - sum(map(len, inside))
    offsets: list[_Span] = []
    for paragraph in re.finditer(r"[^\n]+", text):
        at = paragraph.start()
        offsets += [(at + start, at + end) for start, end in splitter.spans(paragraph[0])]
    sentences = [text[start:end] for start, end in offsets]
    if spans is None:
        return sentences, None, 0
    inside = [_inside(spans, start, end) for start, end in offsets]
    return sentences, inside, len(spans) - sum(map(len, inside))


def _stripped_bounds(text: str) -> _Span:
    start = len(text) - len(text.lstrip())
    return start, max(start, len(text.rstrip()))


def _inside(spans: list[_Span], start: int, end: int) -> list[_Span]:
    """The spans in [start, end), relative to start, without those that overlap an earlier one."""
    kept, free_from = [], start
    first = bisect.bisect_left(spans, (start, 0))
    for span_start, span_end in spans[first : bisect.bisect_left(spans, (end, 0))]:
        if free_from <= span_start and span_end <= end:
            kept.append((span_start - start, span_end - start))
            free_from = span_end
    return kept
