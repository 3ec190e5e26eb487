"""Texts of any size to their first ids, as a TensorFlow graph that reads no more than these need.

A text is read in chunks of bytes; the first is enough for ordinary text. What stands in a chunk up
to its last break (white space, punctuation, CJK) goes to the tokenizer. The rest, the start of a
word, waits for the next chunk, in a short form. Reading ends with enough ids or with the text.

The ids are those of the whole text, for these reasons.

1. Bytes. A chunk ends before a character that may go on behind it. A decoder of UTF-8 that ignores
   what is invalid never joins bytes before a byte that starts a character with those after it.
2. Breaks. Words end at a break, so what is before and after a break is tokenized on its own, but
   for two rules that look at neighbours. Canonical order sorts combining characters between two
   others, and no break is combining. The final sigma looks past characters that casing ignores,
   some of which are breaks: `'`, `.`, `:`.
3. Sigma. Each capital sigma is replaced by the small one that the rule asks for, once the first
   character is read that casing does not ignore. Until then the word of the sigma waits with all
   that follows it. Of what was tokenized before, the rule sees whether the last such character was
   cased (`after_cased`).
4. The short form. Of what waits these are dropped, and no id among the first ones changes:
   - deleted characters, which vanish before anything is split;
   - stripped accents that have a combining class: the order of the others stays the same. Of
     neighbours without one, at which sorting stops, one is enough. Casing ignores both;
   - what follows `MAX_WORD_CHARS` + 1 letters of a word: it is [UNK] already. Its last character
     that casing does not ignore stays, for the sigmas behind it;
   - what follows as many breaks as ids are wanted. Only a sigma can wait with breaks behind it,
     and then only characters that casing ignores stand there.
   So what waits is bounded: one word, or one word and `limit` words after a sigma.
5. Runs. Before it is decoded, a chunk loses long runs of what is dropped, of white space and of
   letters, which is the same in fewer steps. Something is left of a run: bytes on both sides that
   are not UTF-8 must not become a character.
"""

import functools
import unicodedata
from collections.abc import Callable
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

_LEAD_BYTES = 0xC0  # from here on, bytes start a character of several bytes
_MOST_BEFORE_LAST = 3  # bytes of an unfinished character

_DELETED, _CASED_LETTER = "\x7f", "a"
_CASED_LETTERS = "A-Za-z"

# An id of ordinary text comes from 2 to 9 bytes, in whatever script.
_BYTES_PER_ID = 16
_LEAST_CHUNK = 64
_BYTES_AT_ONCE = 1 << 18


class Sizes(NamedTuple):
    """Bytes that are read at once.

    Attributes:
      first: of a text, to begin with; at least 4. Later chunks of a text double in size.
      most: of all texts together, about; not less than `first`.
    """

    first: int | tf.Tensor
    most: int | tf.Tensor


def first_ids(
    texts: tf.Tensor,
    limit: int,
    tokenize: Callable[[tf.Tensor], tf.RaggedTensor],
    do_lower_case: bool,
    sizes: Sizes | None = None,
) -> tf.RaggedTensor:
    """The first ids of each text.

    Args:
      texts: string [B]; bytes that are not UTF-8 are ignored.
      limit: how many ids of each text are wanted; those behind them may be missing.
      tokenize: from string [B'] to the ids of whole texts, int32 ragged [B' (T)].
      do_lower_case: as the tokenizer.
      sizes: None: what suits `limit`.

    Returns:
      int32 ragged [B (T)].
    """
    sizes = sizes or _sizes_for(limit)
    length = tf.strings.length(texts)
    # No more than this is read of most texts; int64, because a batch may have 2 GB.
    size = tf.cast(tf.minimum(length, sizes.first), tf.int64)
    most = tf.cast(sizes.most, tf.int64)
    are_small = tf.reduce_all(length <= sizes.first) & (tf.reduce_sum(size) <= most)

    def at_once() -> tuple[tf.Tensor, tf.Tensor]:
        ids = tokenize(texts)
        return ids.flat_values, ids.row_splits

    def in_groups() -> tuple[tf.Tensor, tf.Tensor]:
        reader = _Reader(limit, tokenize, do_lower_case, sizes)
        ids, lengths = _read_in_groups(reader, texts, size)
        return ids, tf.pad(tf.cumsum(tf.cast(lengths, tf.int64)), [[1, 0]])

    values, splits = tf.cond(are_small, at_once, in_groups)
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def _sizes_for(limit: int) -> Sizes:
    first = max(_LEAST_CHUNK, _BYTES_PER_ID * limit)
    return Sizes(first, max(first, _BYTES_AT_ONCE))


def _read_in_groups(
    reader: "_Reader", texts: tf.Tensor, size: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Reads texts, some of them at a time.

    Args:
      texts: string [B], not empty.
      size: int64 [B], bytes of each that are read first.

    Returns:
      The ids of all texts, int32 [N], and how many of them each has, int32 [B].
    """
    most = tf.cast(reader.sizes.most, tf.int64)
    start = tf.cumsum(size, exclusive=True)
    num_groups = tf.cast(start[-1] // most, tf.int32) + 1
    # No text is larger than a group, so each group has one.
    first = tf.searchsorted(start, tf.range(tf.cast(num_groups, tf.int64) + 1) * most)
    arrays = [
        tf.TensorArray(tf.int32, num_groups, infer_shape=False, element_shape=[None])
        for _ in range(2)
    ]

    def read_group(
        index: tf.Tensor, ids: tf.TensorArray, lengths: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.TensorArray, tf.TensorArray]:
        of_group, num_ids = reader.read(texts[first[index] : first[index + 1]])
        return index + 1, ids.write(index, of_group), lengths.write(index, num_ids)

    _, ids, lengths = tf.while_loop(
        lambda index, *_: index < num_groups, read_group, (0, *arrays), parallel_iterations=1
    )
    return ids.concat(), lengths.concat()


class _State(NamedTuple):
    """Of each text of a group, [B] each.

    Attributes:
      at: int32, bytes that were read.
      rest: string, what of them is not tokenized yet, in its short form.
      after_cased: bool, whether the last character before `rest` that casing does not ignore was
        cased.
      missing: int32, ids that are still wanted; 0: nothing more is read.
    """

    at: tf.Tensor
    rest: tf.Tensor
    after_cased: tf.Tensor
    missing: tf.Tensor


class _Reader:
    """Reads groups of texts; see `first_ids` for the arguments."""

    def __init__(
        self,
        limit: int,
        tokenize: Callable[[tf.Tensor], tf.RaggedTensor],
        do_lower_case: bool,
        sizes: Sizes,
    ) -> None:
        self._limit, self._tokenize, self.sizes = limit, tokenize, sizes
        self._splitter = _Splitter(limit, do_lower_case)
        self._runs = _runs(do_lower_case)

    def read(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The ids of string [B], int32 [N], and how many of them each text has, int32 [B]."""
        lengths = tf.strings.length(texts)

        def at_once() -> tuple[tf.Tensor, tf.Tensor]:
            ids = self._tokenize(texts)
            return ids.flat_values, tf.cast(ids.row_lengths(), tf.int32)

        are_small = tf.reduce_all(lengths <= self.sizes.first)
        return tf.cond(are_small, at_once, lambda: self._read_in_chunks(texts, lengths))

    def _read_in_chunks(self, texts: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        num_texts = tf.size(texts)
        zeros = tf.zeros([num_texts], tf.int32)
        state = _State(
            zeros, tf.fill([num_texts], ""), zeros > 0, tf.where(lengths > 0, self._limit, 0)
        )
        num_bytes = tf.convert_to_tensor(self.sizes.first)

        def read_chunks(
            state: _State, num_bytes: tf.Tensor, ids: tf.Tensor, row: tf.Tensor
        ) -> tuple[_State, tf.Tensor, tf.Tensor, tf.Tensor]:
            state, found = self._read_chunks(texts, lengths, state, num_bytes)
            row_of_found = tf.repeat(tf.range(num_texts), tf.cast(found.row_lengths(), tf.int32))
            num_open = tf.math.count_nonzero(state.missing, dtype=tf.int32)
            largest = tf.maximum(self.sizes.most // tf.maximum(num_open, 1), self.sizes.first)
            return (
                state,
                tf.minimum(2 * num_bytes, largest),
                tf.concat([ids, found.flat_values], axis=0),
                tf.concat([row, row_of_found], axis=0),
            )

        vector, scalar = tf.TensorShape([None]), tf.TensorShape([])
        _, _, ids, row = tf.while_loop(
            lambda state, *_: tf.reduce_any(state.missing > 0),
            read_chunks,
            (state, num_bytes, tf.zeros([0], tf.int32), tf.zeros([0], tf.int32)),
            shape_invariants=(_State(*[vector] * len(state)), scalar, vector, vector),
            parallel_iterations=1,
        )
        order = tf.argsort(row, stable=True)
        # Behind these ids some are missing where what waited was shortened.
        is_first = _counted_within(tf.ones_like(row), tf.gather(row, order)) <= self._limit
        order = tf.boolean_mask(order, is_first)
        num_ids = tf.math.unsorted_segment_sum(
            tf.ones_like(order), tf.gather(row, order), num_texts
        )
        return tf.gather(ids, order), num_ids

    def _read_chunks(
        self, texts: tf.Tensor, lengths: tf.Tensor, state: _State, num_bytes: tf.Tensor
    ) -> tuple[_State, tf.RaggedTensor]:
        """Reads a chunk of each text that has ids missing; returns the ids that were found."""
        size = tf.where(state.missing > 0, tf.minimum(num_bytes, lengths - state.at), 0)
        is_last = state.at + size == lengths
        chunk = tf.strings.substr(texts, state.at, size)
        size -= tf.where(is_last, 0, _num_unfinished(chunk))
        chunk = tf.strings.substr(chunk, tf.zeros_like(size), size)
        for pattern, rewrite in self._runs:
            chunk = tf.strings.regex_replace(chunk, pattern, rewrite)
        chunk = tf.strings.join([state.rest, chunk])
        head, rest, after_cased = self._splitter.split(chunk, is_last, state.after_cased)
        ids = self._tokenize(head)
        missing = tf.maximum(state.missing - tf.cast(ids.row_lengths(), tf.int32), 0)
        missing = tf.where(is_last, 0, missing)
        rest = tf.where(missing > 0, rest, "")
        return _State(state.at + size, rest, after_cased, missing), ids


def _num_unfinished(chunks: tf.Tensor) -> tf.Tensor:
    """How many bytes at the end may be an unfinished character, int32 [B]."""
    padded = tf.strings.join([" " * _MOST_BEFORE_LAST, chunks])
    last = tf.strings.substr(padded, -_MOST_BEFORE_LAST, _MOST_BEFORE_LAST)
    last = tf.io.decode_raw(last, tf.uint8)  # [B 3]
    from_end = tf.range(_MOST_BEFORE_LAST, 0, -1)
    return tf.reduce_max(tf.where(last >= _LEAD_BYTES, from_end, 0), axis=1)


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


class _Splitter:
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
          after_cased: bool [B], see `_State`.

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
    """The short form of what waits: point 4 above."""
    is_break, is_barrier = rest.has(_BREAK), rest.has(_BARRIER)
    num_breaks = tf.cumsum(tf.cast(is_break, tf.int32))
    is_letter = tf.cast(~(is_break | is_barrier), tf.int32)
    num_letters = _counted_within(is_letter, num_breaks + rest.row)
    num_breaks = _counted_within(tf.cast(is_break, tf.int32), rest.row)
    behind = tf.pad(is_barrier & (rest.row == tf.roll(rest.row, 1, axis=0)), [[0, 1]])[1:]
    is_kept = (num_letters <= MAX_WORD_CHARS + 1) | is_last_solid
    return rest.where(is_kept & (num_breaks <= limit) & ~(is_barrier & behind))


def _counted_within(numbers: tf.Tensor, segment: tf.Tensor) -> tf.Tensor:
    """The sums of numbers [N] within each segment, up to and including each; segments ascend."""
    total = tf.cumsum(numbers)
    return total - tf.gather(tf.math.segment_min(total - numbers, segment), segment)


def _int32_where(mask: tf.Tensor) -> tf.Tensor:
    """Where a mask [N] is true, int32 [K]."""
    return tf.cast(tf.where(mask)[:, 0], tf.int32)


@functools.cache
def _runs(do_lower_case: bool) -> tuple[tuple[str, str], ...]:
    """Patterns of runs, and what becomes of each: point 5 above."""
    table = functools.partial(_flags_of, do_lower_case=do_lower_case)
    dropped = ranges(codepoints_with(lambda char: table(char) == _DROPPED))
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
