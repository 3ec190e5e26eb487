"""Offsets of wordpieces, as a TensorFlow graph: those of `wordpiece.encode_with_offsets`.

The graph tokenizer changes a text in several steps, none of which tells what it did. But the
characters of the normal form, spaces aside, come from those of the text one after the other, and
what becomes of a character on its own is known: some parts that are kept, some accents, a break
between tokens, or nothing. A table holds these parts for every character, so the n-th character of
the normal form is the n-th part that is kept. Combining parts are sorted first, as canonical order
asks. Only core operations are used.
"""

import functools
import itertools
import unicodedata
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf.text import characters
from bert_tf.text.graph_tables import CodePointTable, make_table
from bert_tf.text.wordpiece import MAX_WORD_CHARS

# A part of a character is its combining class and these two flags. One without flags is an accent
# that is stripped. A break ends a token: nothing behind it belongs to a character before it.
_COMBINING_CLASS = 0xFF
_KEPT, _BREAK = 1 << 8, 1 << 9

_SPACE, _CONTINUATION, _CONTINUATION_MASK = 0x20, 0x80, 0xC0  # bytes of UTF-8


def kept_spans(texts: tf.Tensor, do_lower_case: bool) -> tuple[tf.Tensor, tf.Tensor]:
    """The characters of the normal forms, spaces aside, and the characters that they come from.

    Args:
      texts: string [B]; bytes that are not UTF-8 are ignored.
      do_lower_case: as the tokenizer.

    Returns:
      (starts, ends), int32 [M] each: of all texts, one after the other. Those of a text count its
      own characters.
    """
    points = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
    splits = tf.cast(points.row_splits, tf.int32)
    part, source = _parts(points.flat_values, do_lower_case)
    rows = segment_ids(splits, tf.size(points.flat_values))
    part, source = _in_canonical_order(part, source, tf.gather(rows, source))
    is_kept = part & _KEPT > 0
    is_break = part & _BREAK > 0
    # Accents belong to what is kept or breaks before them in the same text.
    row = tf.gather(rows, source)
    segment = tf.cumsum(tf.cast(is_kept | is_break, tf.int32)) + row
    source -= tf.gather(splits, row)
    start = tf.where(is_break, source, tf.gather(tf.math.segment_min(source, segment), segment))
    last = tf.where(is_break, source, tf.gather(tf.math.segment_max(source, segment), segment))
    return tf.boolean_mask(start, is_kept), tf.boolean_mask(last, is_kept) + 1


def join_spans(first: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The spans of wordpieces from those of characters.

    Args:
      first: int32 [N], index of the first character of each wordpiece, ascending. A wordpiece ends
        where the next one starts.
      starts, ends: int32 [M], of the characters.

    Returns:
      (starts, ends), int32 [N] each: the least start and the greatest end.
    """
    is_first = tf.math.unsorted_segment_sum(tf.ones_like(first), first, tf.size(starts))
    wordpiece = tf.cumsum(is_first) - 1
    return tf.math.segment_min(starts, wordpiece), tf.math.segment_max(ends, wordpiece)


def chars_before(texts: tf.Tensor, starts: tf.RaggedTensor) -> tf.Tensor:
    """How many characters other than spaces lie before some positions.

    Args:
      texts: string [B], valid UTF-8.
      starts: int ragged [B (N)], bytes of each text.

    Returns:
      int32 [sum of N]; characters of the texts before count, too.
    """
    is_char, _ = _chars(texts)
    num_before = tf.cumsum(tf.cast(is_char, tf.int32), exclusive=True)
    row = segment_ids(tf.cast(starts.row_splits, tf.int32), tf.size(starts.flat_values))
    text_start = tf.cumsum(tf.strings.length(texts) + 1, exclusive=True)
    return tf.gather(num_before, tf.gather(text_start, row) + starts.flat_values)


def without_long_words(texts: tf.Tensor) -> tf.Tensor:
    """Which characters are left if every word beyond `MAX_WORD_CHARS` becomes one character.

    Args:
      texts: string [B], valid UTF-8, words separated by spaces.

    Returns:
      int32 [M], indices of characters other than spaces, counted over all texts.
    """
    is_char, is_first = _chars(texts)
    is_first = tf.boolean_mask(is_first, is_char)
    word = tf.cumsum(tf.cast(is_first, tf.int32)) - 1
    is_long = tf.math.segment_sum(tf.ones_like(word), word) > MAX_WORD_CHARS
    return tf.cast(tf.where(is_first | ~tf.gather(is_long, word))[:, 0], tf.int32)


def segment_ids(splits: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """The row of each of `size` values, int32, from the row splits.

    `RaggedTensor.value_rowids` takes memory for rows times the longest row.
    """
    return tf.searchsorted(splits, tf.range(size), side="right") - 1


def joined_bytes(texts: tf.Tensor) -> tf.Tensor:
    """The bytes of texts [B], a space behind each: uint8 [N]."""
    joined = tf.strings.reduce_join(tf.concat([texts, [""]], axis=0), separator=" ")
    return tf.io.decode_raw(joined, tf.uint8)


def starts_char(data: tf.Tensor) -> tf.Tensor:
    """Whether each byte of UTF-8 starts a character."""
    return tf.bitwise.bitwise_and(data, _CONTINUATION_MASK) != _CONTINUATION


def _chars(texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Whether each byte starts a character other than a space, and whether it starts a word."""
    data = joined_bytes(texts)
    is_space = data == _SPACE
    is_char = starts_char(data) & ~is_space
    return is_char, is_char & tf.concat([[True], is_space], axis=0)[:-1]


def _parts(points: tf.Tensor, do_lower_case: bool) -> tuple[tf.Tensor, tf.Tensor]:
    """The parts of characters, one after the other, and which character each comes from."""
    table = _table(do_lower_case)
    entry = table.entries.lookup(points)
    length = tf.gather(table.lengths, entry)
    first = tf.gather(table.starts, entry)
    index = tf.ragged.range(first, first + length).flat_values
    return tf.gather(table.parts, index), tf.repeat(tf.range(tf.size(points)), length)


def _in_canonical_order(
    part: tf.Tensor, source: tf.Tensor, row: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sorts each run of combining parts by combining class, as NFD does.

    It makes no difference where all combining parts are accents, which is nearly everywhere.
    """
    combining = part & _COMBINING_CLASS

    def ordered() -> tuple[tf.Tensor, tf.Tensor]:
        run = tf.cumsum(tf.cast(combining == 0, tf.int64)) + tf.cast(row, tf.int64)
        key = run * (_COMBINING_CLASS + 1) + tf.cast(combining, tf.int64)
        order = tf.argsort(key, stable=True)
        return tf.gather(part, order), tf.gather(source, order)

    is_moved = tf.reduce_any((combining > 0) & (part & _KEPT > 0))
    return tf.cond(is_moved, ordered, lambda: (part, source))


class _Table(NamedTuple):
    """From code point to parts: those of an entry `e` are the `lengths[e]` from `starts[e]` on."""

    entries: CodePointTable
    lengths: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    parts: npt.NDArray[np.int32]


@functools.cache
def _table(do_lower_case: bool) -> _Table:
    entries: dict[tuple[int, ...], int] = {(_KEPT,): 0}  # all other characters are only kept
    table = make_table(
        lambda char: entries.setdefault(_parts_of(char, do_lower_case), len(entries))
    )
    lengths = np.array([len(parts) for parts in entries], np.int32)
    return _Table(
        table,
        lengths,
        (np.cumsum(lengths) - lengths).astype(np.int32),
        np.array(list(itertools.chain(*entries)), np.int32),
    )


def _parts_of(char: str, do_lower_case: bool) -> tuple[int, ...]:
    """What becomes of a character; nothing, if clean-up drops it."""
    clean = characters.cleaned(char)
    if not clean.strip():
        return (_BREAK,) if clean else ()
    flags = _KEPT if clean == char else _KEPT | _BREAK  # clean-up puts spaces around CJK
    if not do_lower_case:
        return (flags,)
    return tuple(
        unicodedata.combining(part) | (0 if unicodedata.category(part) == "Mn" else flags)
        for part in unicodedata.normalize("NFD", char.lower())
    )
