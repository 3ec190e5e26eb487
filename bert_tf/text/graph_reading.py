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

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from bert_tf.text.graph_splitting import Splitter, counted_within, runs

_LEAD_BYTES = 0xC0  # from here on, bytes start a character of several bytes
_MOST_BEFORE_LAST = 3  # bytes of an unfinished character

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
        self._splitter = Splitter(limit, do_lower_case)
        self._runs = runs(do_lower_case)

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
        is_first = counted_within(tf.ones_like(row), tf.gather(row, order)) <= self._limit
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
