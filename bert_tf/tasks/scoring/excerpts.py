"""Texts and passages, cut to what a table of a report can show.

A cut never falls into a character as people see it, such as a letter with its accents, a flag or
an emoji of several code points.
"""

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_tf.tasks.evaluation import Part

_MAX_CHARACTERS = 400  # of a text
_MARGIN = 100  # characters of a passage before and behind what is marked
_MAX_MARKED = 200  # characters of what is marked; the middle of more is left out
_MAX_WORD = 20  # characters within which a passage is rather cut between words
_MAX_CODE_POINTS = 40  # of a character as people see it; longer ones are made to annoy
_GAP = " ... "
_JOINER = "\u200d"


class Mark(NamedTuple):
    """A marked part of a passage; `mark` as in `Part`, `end` the index behind it."""

    start: int
    end: int
    mark: str


def short(text: str) -> str:
    """A text that fits into a table."""
    if len(text) <= _MAX_CHARACTERS:
        return _writable(text)
    return f"{_writable(text[: boundary(text, _MAX_CHARACTERS)].rstrip())} ..."


def around(text: str, marks: Sequence[Mark]) -> tuple[Part, ...]:
    """What of a passage is around the marks, or its beginning where there are none.

    Args:
      marks: within the text, in order, not overlapping.
    """
    kept = [(0, boundary(text, _MAX_CHARACTERS))]
    if marks:
        kept = list(_merged(text, [each for mark in marks for each in _shown(text, mark)]))
    parts = [Part(_GAP.lstrip(), joins=True)] if kept[0][0] > 0 else []
    for number, (start, end) in enumerate(kept):
        if number:
            parts.append(Part(_GAP, joins=True))
        parts += _marked(text, start, end, marks)
    return (*parts, Part(_GAP.rstrip(), joins=True)) if kept[-1][1] < len(text) else tuple(parts)


def _shown(text: str, mark: Mark) -> Iterator[tuple[int, int]]:
    """The parts of the passage that show a mark: [start, end) of each."""
    start, end = _between_words(text, mark.start, -1), _between_words(text, mark.end, +1)
    if mark.end - mark.start <= _MAX_MARKED:
        yield start, end
    else:
        yield start, boundary(text, mark.start + _MAX_MARKED // 2)
        yield boundary(text, mark.end - _MAX_MARKED // 2), end


def _between_words(text: str, position: int, direction: int) -> int:
    """A place for a cut, a margin before (direction -1) or behind (+1) a position."""
    if direction < 0:
        if (cut := position - _MARGIN) <= 0:
            return 0
        spaces = (i + 1 for i in range(cut, cut + _MAX_WORD) if text[i].isspace())
    else:
        if (cut := position + _MARGIN) >= len(text):
            return len(text)
        spaces = (i for i in range(cut, cut - _MAX_WORD, -1) if text[i].isspace())
    return next(spaces, boundary(text, cut))


def _merged(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges in order; those with next to nothing between them are one."""
    start, end = ranges[0]
    for next_start, next_end in ranges[1:]:
        if next_start > end + len(_GAP):
            yield start, end
            start = next_start
        end = max(end, next_end)
    yield start, end


def _marked(text: str, start: int, end: int, marks: Sequence[Mark]) -> Iterator[Part]:
    """The characters from `start` to before `end`, with those of the marks that lie there."""
    inside = [
        Mark(max(each.start, start), min(each.end, end), each.mark)
        for each in marks
        if each.start < end and each.end > start
    ]
    edges = [start, *itertools.chain.from_iterable(each[:2] for each in inside), end]
    names = ["", *itertools.chain.from_iterable((each.mark, "") for each in inside)]
    for (left, right), name in zip(itertools.pairwise(edges), names, strict=True):
        if left < right:
            yield Part(_writable(text[left:right]), name, joins=True)


def boundary(text: str, position: int) -> int:
    """The last position up to the given one at which a character begins, as people see it.

    Close enough to the grapheme clusters of Unicode (UAX 29) to cut a text for people.
    """
    last = min(position, len(text))
    for cut in range(last, max(0, last - _MAX_CODE_POINTS), -1):
        if cut == len(text) or not _continues(text, cut):
            return cut
    return last if last > _MAX_CODE_POINTS else 0


def _continues(text: str, index: int) -> bool:
    """Whether the code point belongs to the character of the one before it."""
    before, here = text[index - 1], text[index]
    is_extension = (
        unicodedata.category(here).startswith("M")
        or here == _JOINER
        or "\U0001f3fb" <= here <= "\U0001f3ff"  # colours of skin
        or "\U000e0020" <= here <= "\U000e007f"  # tags of flags such as Scotland's
    )
    is_flag = _is_regional(before) and _is_regional(here)
    return is_extension or before == _JOINER or is_flag


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _writable(text: str) -> str:
    """The text as UTF-8 can have it: JSON files may hold half a surrogate pair, pages may not."""
    return text.encode("utf-8", "replace").decode("utf-8")
