"""Texts of any size to all their ids and where each comes from, as a TensorFlow graph.

`GraphTokenizer.tokens_with_offsets` takes hundreds of bytes of memory for each byte of text. Here
it sees a chunk at a time, and what is kept is 20 bytes for each token.

A chunk ends before a character that no rule looks past: white space, a CJK character, or ASCII
punctuation that the final sigma does not ignore. A word ends there, no accent and no deleted
character behind it belongs to what is before it, and its order is not canonically changed. Where
there is no such character the chunk grows.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf.text import graph_offsets
from bert_tf.text.graph import GraphTokenizer

_CHUNK = 1 << 16  # bytes
_BLANK = " \t\n\r"
_PUNCTUATION = '!"#$%&()*+,-/;<=>?@[\\]_{|}~'  # without what casing ignores: '.:^`
_CJK_LEAD_BYTES = range(0xE5, 0xEA)  # in valid UTF-8, of U+5000 to U+9FFF only


class Tokens(NamedTuple):
    """The tokens of B texts.

    Attributes:
      ids: int32 ragged [B (T)].
      starts, ends: int32 [N], characters of its text that each token comes from.
      start_bytes, end_bytes: int32 [N], the same in bytes.
    """

    ids: tf.RaggedTensor
    starts: tf.Tensor
    ends: tf.Tensor
    start_bytes: tf.Tensor
    end_bytes: tf.Tensor


class _Found(NamedTuple):
    """The tokens of a chunk, int32 [N] each: `Tokens`, and the text that each belongs to."""

    ids: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    start_bytes: tf.Tensor
    end_bytes: tf.Tensor
    row: tf.Tensor


class _State(NamedTuple):
    """What of the texts was read: int32 [].

    Attributes:
      row: the first text that was not read to its end.
      num_bytes, num_chars: what of it was read.
      size: bytes of the next chunk.
    """

    row: tf.Tensor
    num_bytes: tf.Tensor
    num_chars: tf.Tensor
    size: tf.Tensor


def tokens_with_spans(texts: tf.Tensor, tokenizer: GraphTokenizer, chunk: int = _CHUNK) -> Tokens:
    """All tokens of texts.

    Args:
      texts: string [B], valid UTF-8.
      chunk: bytes that are tokenized at once, more where they cannot be cut.
    """
    spec = tf.TensorSpec([None], tf.string)
    find = tf.function(
        lambda texts: _found(texts, tokenizer), input_signature=[spec], autograph=False
    )
    lengths = tf.cast(tf.strings.length(texts), tf.int64)
    is_small = tf.reduce_sum(lengths) <= chunk
    found: _Found = tf.cond(is_small, lambda: find(texts), lambda: _in_chunks(texts, find, chunk))
    splits = tf.searchsorted(found.row, tf.range(tf.size(texts) + 1), out_type=tf.int64)
    ids = tf.RaggedTensor.from_row_splits(found.ids, splits, validate=False)
    return Tokens(ids, *found[1:5])


def _found(texts: tf.Tensor, tokenizer: GraphTokenizer) -> _Found:
    ids, starts, ends = tokenizer.tokens_with_offsets(texts)
    row = graph_offsets.segment_ids(tf.cast(ids.row_splits, tf.int32), tf.size(ids.flat_values))
    return _Found(
        ids.flat_values,
        starts.flat_values,
        ends.flat_values,
        _bytes_of(texts, row, starts.flat_values),
        _bytes_of(texts, row, ends.flat_values),
        row,
    )


def _in_chunks(
    texts: tf.Tensor, find: tf.types.experimental.PolymorphicFunction, chunk: int
) -> _Found:
    """Reads whole texts as long as they fit in a chunk, and chunks of larger texts."""
    lengths = tf.strings.length(texts)
    text_ends = tf.cumsum(tf.cast(lengths, tf.int64))
    num_texts = tf.size(texts)
    arrays = _Found(
        *(
            tf.TensorArray(tf.int32, 0, dynamic_size=True, infer_shape=False, element_shape=[None])
            for _ in _Found._fields
        )
    )

    def read_chunk(
        index: tf.Tensor, state: _State, arrays: _Found
    ) -> tuple[tf.Tensor, _State, _Found]:
        position = text_ends[state.row] - tf.cast(lengths[state.row] - state.num_bytes, tf.int64)
        limit = position + tf.cast(state.size, tf.int64)
        next_row = tf.cast(tf.searchsorted(text_ends, limit[tf.newaxis], side="right")[0], tf.int32)
        is_part = next_row == state.row
        part = _part_of_text(texts, lengths, state, tf.maximum(next_row, state.row + 1), is_part)
        found = find(part)
        shifts = (0, state.num_chars, state.num_chars, state.num_bytes, state.num_bytes)
        is_first = found.row == 0
        values = [x + tf.where(is_first, by, 0) for x, by in zip(found, shifts, strict=False)]
        values.append(found.row + state.row)
        size = tf.strings.length(part)[0]
        num_chars = tf.strings.length(part, unit="UTF8_CHAR")[0]
        grown = tf.where(is_part & (size == 0), 2 * state.size, chunk)
        state = _State(
            tf.maximum(state.row, next_row),
            tf.where(is_part, state.num_bytes + size, 0),
            tf.where(is_part, state.num_chars + num_chars, 0),
            grown,
        )
        written = (array.write(index, x) for array, x in zip(arrays, values, strict=True))
        return index + 1, state, _Found(*written)

    zero = tf.constant(0)
    _, _, arrays = tf.while_loop(
        lambda index, state, arrays: state.row < num_texts,
        read_chunk,
        (zero, _State(zero, zero, zero, tf.constant(chunk)), arrays),
        parallel_iterations=1,
    )
    return _Found(*(array.concat() for array in arrays))


def _part_of_text(
    texts: tf.Tensor,
    lengths: tf.Tensor,
    state: _State,
    next_row: tf.Tensor,
    is_part: tf.Tensor,
) -> tf.Tensor:
    """What is read next: the rest of some texts, or a part of one, which may be empty.

    All texts are cut, because choosing some of them would copy these.
    """
    rows = tf.range(tf.size(texts))
    start = tf.where(rows == state.row, state.num_bytes, 0)
    most = tf.where(is_part, state.size, lengths - start)
    is_chosen = (rows >= state.row) & (rows < next_row)
    parts = tf.strings.substr(texts, start, tf.where(is_chosen, most, 0))[state.row : next_row]

    def cut() -> tf.Tensor:
        data = tf.cast(tf.io.decode_raw(parts[0], tf.uint8), tf.int32)
        can_end = tf.where(tf.gather(_ends_chunk(), data))[:, 0]
        size = tf.reduce_max(tf.concat([tf.cast(can_end, tf.int32), [0]], axis=0))
        return tf.strings.substr(parts, 0, size)

    return tf.cond(is_part, cut, lambda: parts)


def _ends_chunk() -> np.ndarray:
    """Of each byte whether a chunk may end before it, bool [256]."""
    can_end = np.zeros(256, bool)
    can_end[[*map(ord, _BLANK + _PUNCTUATION), *_CJK_LEAD_BYTES]] = True
    return can_end


def _bytes_of(texts: tf.Tensor, row: tf.Tensor, chars: tf.Tensor) -> tf.Tensor:
    """The bytes where some characters start.

    Args:
      texts: string [B], valid UTF-8.
      row, chars: int32 [N], indices of texts, and of characters in them up to their end.
    """
    is_start = graph_offsets.starts_char(graph_offsets.joined_bytes(texts))
    position = tf.cast(tf.where(is_start)[:, 0], tf.int32)
    num_chars, num_bytes = (
        tf.cumsum(tf.strings.length(texts, unit=unit) + 1, exclusive=True)
        for unit in ("UTF8_CHAR", "BYTE")
    )
    return tf.gather(position, tf.gather(num_chars, row) + chars) - tf.gather(num_bytes, row)
