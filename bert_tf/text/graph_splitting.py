"""What was read of texts, as a TensorFlow graph: what can be tokenized on its own, and the rest.

`graph_reading` uses it and says why the ids stay the same; its points are referred to here.
"""

import functools
import unicodedata
from typing import NamedTuple

import tensorflow as tf

from bert_tf.text import characters
from bert_tf.text.graph_tables import (
    CodePointTable,
    codepoints_with,
    is_cased,
    is_ignored_by_casing,
    make_table,
    ranges,
)
from bert_tf.text.wordpiece import MAX_WORD_CHARS

# What a character is; without the first three it is a letter.
_DROPPED, _BREAK, _BARRIER, _CASED, _IGNORED = 1, 2, 4, 8, 16
_SIGMA, _SMALL_SIGMA, _FINAL_SIGMA = map(ord, "Σσς")

_DELETED, _CASED_LETTER = "\x7f", "a"
_CASED_LETTERS = "A-Za-z"


class _Chars(NamedTuple):
    """Characters of B texts, one text after the other: int32 [N] each.

    Attributes:
      point: code points.
      flags: what they are.
      row: the text.
    """

    point: tf.Tensor
    flags: tf.Tensor
    row: tf.Tensor

    def has(self, flags: int) -> tf.Tensor:
        """Whether characters have one of some flags, bool [N]."""
        return tf.bitwise.bitwise_and(self.flags, flags) > 0

    def where(self, mask: tf.Tensor) -> "_Chars":
        """Those that a mask [N] chooses."""
        index = tf.where(mask)[:, 0]
        return _Chars(*(tf.gather(x, index) for x in self))

    def ends(self, num_texts: tf.Tensor) -> tf.Tensor:
        """Where the characters of each text end, int32 [B]."""
        return tf.searchsorted(self.row, tf.range(num_texts), side="right")

    def encoded(self, num_texts: tf.Tensor) -> tf.Tensor:
        """The texts, string [B]."""
        splits = tf.pad(self.ends(num_texts), [[1, 0]])
        chars = tf.RaggedTensor.from_row_splits(self.point, splits, validate=False)
        return tf.strings.unicode_encode(chars, "UTF-8")


class _Solid:
    """The characters that casing does not ignore."""

    def __init__(self, chars: _Chars) -> None:
        is_solid = ~chars.has(_IGNORED)
        position = _int32_where(is_solid)
        # None before the first one and behind the last.
        self._position = tf.pad(position, [[1, 1]], constant_values=-1)
        self._row = tf.pad(tf.gather(chars.row, position), [[1, 1]], constant_values=-1)
        is_cased = tf.gather(chars.has(_CASED), position)
        self._is_cased = tf.pad(is_cased, [[1, 1]])
        # For each position: how many there are before it.
        self._num_before = tf.pad(tf.cumsum(tf.cast(is_solid, tf.int32)), [[1, 0]])

    def last_before(self, position: tf.Tensor, row: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Of the last one before positions in texts: its position or -1, and whether it is cased.

        Args:
          position, row: int32 [M].
        """
        return self._at(tf.gather(self._num_before, position), row)

    def first_behind(self, position: tf.Tensor, row: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """The same of the first one behind positions."""
        return self._at(tf.gather(self._num_before, position + 1) + 1, row)

    def _at(self, number: tf.Tensor, row: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        is_there = tf.gather(self._row, number) == row
        position = tf.where(is_there, tf.gather(self._position, number), -1)
        return position, is_there & tf.gather(self._is_cased, number)


class Splitter:
    """Cuts what was read of texts into what can be tokenized and the rest."""

    def __init__(self, limit: int, do_lower_case: bool) -> None:
        self._limit = limit
        self._has_sigma_rule = do_lower_case
        self._table = _flags_table(do_lower_case)

    def split(
        self, texts: tf.Tensor, is_last: tf.Tensor, after_cased: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Cuts texts at the last break at which both sides can be tokenized on their own.

        Args:
          texts: string [B], what was read and not tokenized.
          is_last: bool [B], whether the whole text was read; it is then not cut.
          after_cased: bool [B], see `graph_reading`.

        Returns:
          What can be tokenized and what not, string [B] each; and `after_cased` of the latter.
        """
        num_texts = tf.size(texts)
        chars = self._decoded(texts)
        cut, ends = tf.size(chars.row), chars.ends(num_texts)
        row = tf.range(num_texts)
        last_solid = tf.fill([num_texts], -1)
        solid = None
        if self._has_sigma_rule:
            solid = _Solid(chars)
            chars, waiting = _without_sigmas(chars, solid, is_last, after_cased)
            last_solid, _ = solid.last_before(ends, row)
            cut = tf.tensor_scatter_nd_min(
                tf.fill([num_texts], cut), tf.gather(chars.row, waiting)[:, tf.newaxis], waiting
            )
            cut = tf.gather(cut, chars.row)
        position = tf.range(tf.size(chars.row))
        can_end = chars.has(_BREAK) & (position < cut)
        start = tf.pad(ends, [[1, 0]])[:-1]
        border = tf.math.unsorted_segment_max(
            tf.where(can_end, position + 1, 0), chars.row, num_texts
        )
        border = tf.where(is_last, ends, tf.maximum(border, start))
        is_head = position < tf.gather(border, chars.row)
        is_last_solid = position == tf.gather(last_solid, chars.row)
        rest = chars.where(~is_head)
        rest = _shortened(rest, tf.boolean_mask(is_last_solid, ~is_head), self._limit)
        if solid is not None:
            before, is_cased = solid.last_before(border, row)
            after_cased = tf.where(before < 0, after_cased, is_cased)
        return chars.where(is_head).encoded(num_texts), rest.encoded(num_texts), after_cased

    def _decoded(self, texts: tf.Tensor) -> _Chars:
        """The characters of string [B] without those that can be dropped anywhere."""
        points = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
        row = tf.repeat(tf.range(tf.size(texts)), tf.cast(points.row_lengths(), tf.int32))
        chars = _Chars(points.flat_values, self._table.lookup(points.flat_values), row)
        return chars.where(~chars.has(_DROPPED))


def _without_sigmas(
    chars: _Chars, solid: _Solid, is_last: tf.Tensor, after_cased: tf.Tensor
) -> tuple[_Chars, tf.Tensor]:
    """Replaces capital sigmas by small ones, as `str.lower` does.

    Returns:
      The characters, and the positions of sigmas for which it is not known yet, int32 [K]: at most
      one for each text, its last character that casing does not ignore.
    """
    position = _int32_where(chars.point == _SIGMA)
    row = tf.gather(chars.row, position)
    before, is_cased_before = solid.last_before(position, row)
    is_cased_before |= (before < 0) & tf.gather(after_cased, row)
    behind, is_cased_behind = solid.first_behind(position, row)
    is_known = (behind >= 0) | tf.gather(is_last, row)
    small = tf.where(is_cased_before & ~is_cased_behind, _FINAL_SIGMA, _SMALL_SIGMA)
    small = tf.where(is_known, small, _SIGMA)
    point = tf.tensor_scatter_nd_update(chars.point, position[:, tf.newaxis], small)
    return chars._replace(point=point), tf.boolean_mask(position, ~is_known)


def _shortened(rest: _Chars, is_last_solid: tf.Tensor, limit: int) -> _Chars:
    """The short form of what waits: point 4 of `graph_reading`."""
    is_break, is_barrier = rest.has(_BREAK), rest.has(_BARRIER)
    num_breaks = tf.cumsum(tf.cast(is_break, tf.int32))
    is_letter = tf.cast(~(is_break | is_barrier), tf.int32)
    num_letters = counted_within(is_letter, num_breaks + rest.row)
    num_breaks = counted_within(tf.cast(is_break, tf.int32), rest.row)
    behind = tf.pad(is_barrier & (rest.row == tf.roll(rest.row, 1, axis=0)), [[0, 1]])[1:]
    is_kept = (num_letters <= MAX_WORD_CHARS + 1) | is_last_solid
    return rest.where(is_kept & (num_breaks <= limit) & ~(is_barrier & behind))


def counted_within(numbers: tf.Tensor, segment: tf.Tensor) -> tf.Tensor:
    """The sums of numbers [N] within each segment, up to and including each; segments ascend."""
    total = tf.cumsum(numbers)
    return total - tf.gather(tf.math.segment_min(total - numbers, segment), segment)


def _int32_where(mask: tf.Tensor) -> tf.Tensor:
    """Where a mask [N] is true, int32 [K]."""
    return tf.cast(tf.where(mask)[:, 0], tf.int32)


@functools.cache
def runs(do_lower_case: bool) -> tuple[tuple[str, str], ...]:
    """Patterns of runs, and what becomes of each: point 5 of `graph_reading`."""
    dropped = ranges(_flags_table(do_lower_case).codepoints(_DROPPED))
    blank = ranges(codepoints_with(lambda char: characters.cleaned(char) == " "))
    # The word is [UNK], and casing looks at letters on both sides of what is left as before.
    most = MAX_WORD_CHARS + 1
    return (
        (f"[{dropped}]{{2,}}", _DELETED),
        (f"[{blank}]{{2,}}", " "),
        (f"[{_CASED_LETTERS}]{{{2 * most},}}", _CASED_LETTER * most),
    )


@functools.cache
def _flags_table(do_lower_case: bool) -> CodePointTable:
    return make_table(lambda char: _flags_of(char, do_lower_case))


def _flags_of(char: str, do_lower_case: bool) -> int:
    """What a character is; see `characters.normal_form` for what becomes of it."""
    clean = characters.cleaned(char)
    if not clean:
        return _DROPPED
    if clean != char or char == " ":
        return _BREAK
    if not do_lower_case:
        return _BREAK if characters.is_punctuation(char) else 0
    casing = _CASED * is_cased(char) + _IGNORED * is_ignored_by_casing(char)
    parts = unicodedata.normalize("NFD", char.lower())
    kept = [part for part in parts if unicodedata.category(part) != "Mn"]
    if not kept:
        return _DROPPED if all(map(unicodedata.combining, parts)) else _BARRIER | casing
    return casing | (_BREAK if all(map(characters.is_punctuation, kept)) else 0)
