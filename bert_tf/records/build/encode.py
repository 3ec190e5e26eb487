"""Examples to the bytes of `tf.train.Example`, many at a time.

The bytes are those that protobuf's own deterministic serialization gives: features sorted by
name, numbers packed, every length as short as it can be. A block of examples is one matrix of
bytes, which has a slot for every byte that a record may have, and a matrix of the same shape that
says which slots are in use; a record is the slots in use of its row, in order.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bert_tf import features
from bert_tf.examples.choices import ExampleType

Bytes = npt.NDArray[np.uint8]
_Slots = tuple[Bytes, npt.NDArray[np.bool_]]  # bytes [n, W], and which of them are in use

_BLOCK_BYTES = 2**18  # a block and its intermediate results stay in the cache of a core
_MESSAGE = 0x0A  # tag of field 1, a message or a packed list
_MAP_VALUE = 0x12  # tag of field 2
_FLOAT_LIST, _INT64_LIST = 0x12, 0x1A  # tags of the lists a feature may hold
_LENGTH_BYTES = 4
_LARGEST = 2**28  # numbers of four bytes, seven bits each


class Encoder:
    """Encodes examples under the released feature names (`features.PRETRAINING`).

    Examples without a second text lack `next_sentence_labels`, those without masks the
    `masked_lm_` features. Packed ones also have `sequence_ids` [T]: 1, 2 and so on for the
    tokens of a row's texts, each of which starts with [CLS], and 0 for padding.

    Not for two threads at a time: the matrices are reused.

    Args:
      max_seq_length: T.
      max_predictions_per_seq: P; 0: examples without masks.
      example_type: says which features there are.
      pad: whether zeros fill up lists; else they are as long as the example.
    """

    def __init__(
        self,
        max_seq_length: int,
        max_predictions_per_seq: int,
        example_type: ExampleType,
        pad: bool,
    ) -> None:
        self._has_masks = max_predictions_per_seq > 0
        self._has_pairs = example_type.has_pair
        self._is_packed = example_type.is_packed
        self._pad = pad
        self._first_tokens = _triangle(max_seq_length)
        self._first_slots = _triangle(max_predictions_per_seq)
        self._weights = (self._first_slots * np.float32(1)).astype("<f4").view(np.uint8)
        self._layouts: dict[tuple[int, int], _Layout] = {}

    def encode(self, rows: npt.NDArray) -> tuple[Bytes, npt.NDArray[np.int64]]:
        """Encodes a block of examples.

        Args:
          rows: [n] of `examples.pretraining.row_dtype`; ids are below 2**28.

        Returns:
          The bytes of all records without gaps, and [n], where in them each record ends.
        """
        if not len(rows):
            return np.empty(0, np.uint8), np.empty(0, np.int64)
        layout = self._layout(rows)
        step = layout.num_rows
        buffers, sizes = zip(
            *(
                self._encode_block(layout, rows[start : start + step])
                for start in range(0, len(rows), step)
            ),
            strict=True,
        )
        return np.concatenate(buffers), np.cumsum(np.concatenate(sizes), dtype=np.int64)

    def _layout(self, rows: npt.NDArray) -> "_Layout":
        """Slots for numbers as large as the largest of these rows."""
        num_bytes = _num_bytes(rows["word_ids"]), _num_bytes(rows["labels"])
        if num_bytes not in self._layouts:
            self._layouts[num_bytes] = _Layout(self._fields(*num_bytes))
        return self._layouts[num_bytes]

    def _fields(self, id_bytes: int, label_bytes: int) -> list["_Field"]:
        num_tokens, num_slots = self._first_tokens.shape[1], self._first_slots.shape[1]
        place_bytes = 1 if num_tokens <= 2**7 else 2
        fields = [
            _Field(features.WORD_IDS, num_tokens, id_bytes),
            _Field(features.MASK, num_tokens, 1),
            _Field(features.TYPE_IDS, num_tokens, 1),
        ]
        if self._has_masks:
            fields += [
                _Field(features.MASKED_LM_IDS, num_slots, label_bytes),
                _Field(features.MASKED_LM_POSITIONS, num_slots, place_bytes),
                _Field(features.MASKED_LM_WEIGHTS, 4 * num_slots, 1),
            ]
        if self._has_pairs:
            fields.append(_Field(features.NEXT_SENTENCE_LABELS, 1, 1))
        if self._is_packed:
            fields.append(_Field(features.SEQUENCE_IDS, num_tokens, place_bytes))
        return fields

    def _encode_block(
        self, layout: "_Layout", rows: npt.NDArray
    ) -> tuple[Bytes, npt.NDArray[np.int64]]:
        is_token = self._first_tokens[rows["num_tokens"]]
        tokens = None if self._pad else is_token
        block = _Block(layout, len(rows))
        block.put(features.WORD_IDS, rows["word_ids"], tokens)
        block.put(features.MASK, is_token, tokens)
        block.put(features.TYPE_IDS, is_token - self._first_tokens[rows["num_type_a"]], tokens)
        if self._has_masks:
            self._put_masks(block, rows)
        if self._has_pairs:
            block.put(features.NEXT_SENTENCE_LABELS, rows["pair_label"][:, None], None)
        if self._is_packed:
            starts = rows["word_ids"] == rows["word_ids"][:, :1]
            sequence_ids = starts.cumsum(axis=1, dtype=np.uint16) * is_token
            block.put(features.SEQUENCE_IDS, sequence_ids, tokens)
        return block.flatten()

    def _put_masks(self, block: "_Block", rows: npt.NDArray) -> None:
        num_slots, slots, weight_bytes = rows["num_predictions"], None, None
        if not self._pad:
            slots = self._first_slots[num_slots]
            weight_bytes = slots.repeat(4, axis=1)
        block.put(features.MASKED_LM_IDS, rows["labels"], slots)
        block.put(features.MASKED_LM_POSITIONS, rows["positions"], slots)
        block.put(features.MASKED_LM_WEIGHTS, self._weights[num_slots], weight_bytes)


class _Field:
    """The slots of one feature: a header, whose bytes depend on the number of bytes of the
    values, and the values.

    Attributes:
      header, header_used: uint8 and bool [S, H], by the number of bytes of the values.
      sizes: int64 [S], bytes of header and values together, by the same.
    """

    def __init__(self, feature: features.Feature, num_values: int, num_bytes: int) -> None:
        self.name = feature.record_name
        self.num_values = num_values
        self.num_bytes = num_bytes  # slots of a value
        self.num_slots = num_values * num_bytes
        list_tag = _FLOAT_LIST if feature.dtype == "float32" else _INT64_LIST
        key = np.frombuffer(self.name.encode(), np.uint8)
        values = np.arange(self.num_slots + 1)
        values_used = values > 0  # an empty list is left out; the feature that holds it is not
        a_list = (1 + _length_sizes(values) + values) * values_used
        value = 1 + _length_sizes(a_list) + a_list
        entry = 2 + len(key) + 1 + _length_sizes(value) + value
        self.sizes = 1 + _length_sizes(entry) + entry
        self.header, self.header_used = _to_the_left(
            _constant(values, _MESSAGE),
            _varints(entry),
            _constant(values, _MESSAGE, len(key), *key, _MAP_VALUE),
            _varints(value),
            _constant(values, list_tag),
            _varints(a_list),
            [part * values_used[:, None] for part in _constant(values, _MESSAGE)],
            [part * values_used[:, None] for part in _varints(values)],
        )


class _Layout:
    """Where in a row of slots everything is, and the matrices.

    Attributes:
      headers, values: the slots of each feature, by its name.
      num_rows: records of a block.
      slots, used: uint8 and bool [num_rows, W]; what is the same in every record is filled in.
    """

    def __init__(self, fields: list[_Field]) -> None:
        self.fields = {field.name: field for field in sorted(fields, key=lambda field: field.name)}
        self.headers: dict[str, slice] = {}
        self.values: dict[str, slice] = {}
        place = _LENGTH_BYTES + 1
        for name, field in self.fields.items():
            start = place + field.header.shape[1]
            self.headers[name] = slice(place, start)
            start += -start % 4  # so that values of four bytes are seen as numbers
            place = start + field.num_slots
            self.values[name] = slice(start, place)
        width = place + -place % 4
        self.num_rows = max(1, _BLOCK_BYTES // width)
        self.slots = np.zeros((self.num_rows, width), np.uint8)
        self.used = np.zeros((self.num_rows, width), bool)
        self.slots[:, 0], self.used[:, 0] = _MESSAGE, True
        for name, field in self.fields.items():
            # Right as long as all values are stored, one byte each.
            self.slots[:, self.headers[name]] = field.header[field.num_values]
            self.used[:, self.headers[name]] = field.header_used[field.num_values]
            self.used[:, self.values[name]] = True


class _Block:
    """A number of records that grows feature by feature.

    Args:
      layout: of the records.
      num_rows: at most that of the layout.
    """

    def __init__(self, layout: _Layout, num_rows: int) -> None:
        self._layout = layout
        self._slots, self._used = layout.slots[:num_rows], layout.used[:num_rows]
        self._size: int | npt.NDArray[np.int64] = 0  # bytes of all features; [n] if they differ

    def put(self, feature: features.Feature, values: npt.NDArray, stored: Bytes | None) -> None:
        """Puts the values of a feature and the header that goes with them into their slots.

        Args:
          feature: of the record.
          values: unsigned [n, num_values].
          stored: [n, num_values], 1 for the values that the record has; None: all.
        """
        name = feature.record_name
        field, place = self._layout.fields[name], self._layout.values[name]
        slots, used = self._slots[:, place], self._used[:, place]
        if field.num_bytes == 1:
            slots[:] = values
            num_bytes: int | npt.NDArray[np.intp] = field.num_values
            if stored is not None:
                used.view(np.uint8)[:] = stored
                num_bytes = stored.sum(axis=1, dtype=np.intp)
        else:
            num_bytes = _put_varints(values, stored, slots, used, field.num_bytes)
        if isinstance(num_bytes, np.ndarray):
            header = self._layout.headers[name]
            self._slots[:, header] = field.header[num_bytes]
            self._used[:, header] = field.header_used[num_bytes]
        self._size = self._size + field.sizes[num_bytes]

    def flatten(self) -> tuple[Bytes, npt.NDArray[np.int64]]:
        """The bytes of the records without gaps, and their sizes [n]."""
        size = np.broadcast_to(self._size, len(self._slots))
        length = slice(1, 1 + _LENGTH_BYTES)
        self._slots[:, length], self._used[:, length] = _varints(size)
        sizes = 1 + _length_sizes(size) + size
        return self._slots.ravel()[self._used.ravel()], sizes


def _put_varints(
    values: npt.NDArray,
    stored: Bytes | None,
    slots: Bytes,
    used: npt.NDArray[np.bool_],
    num_bytes: int,
) -> npt.NDArray[np.intp]:
    """Writes values of up to two or four bytes; returns the number of bytes of each row [n].

    A value and its bytes' use are computed as one little-endian number each.
    """
    dtype = np.dtype(f"<u{num_bytes}")
    values = values.astype(dtype)
    in_use = np.ones_like(values)
    bits = values & dtype.type(0x7F)
    for index in range(1, num_bytes):
        in_use |= (values >= dtype.type(1 << 7 * index)).astype(dtype) << dtype.type(8 * index)
        bits |= (values & dtype.type(0x7F << 7 * index)) << dtype.type(index)
    # The high bit of a byte says that another one follows.
    slots.view(dtype)[:] = bits | in_use >> dtype.type(1)
    if stored is not None:
        in_use *= stored
    used.view(dtype)[:] = in_use
    return np.bitwise_count(in_use).sum(axis=1, dtype=np.intp)


def _triangle(size: int) -> Bytes:
    """Row i has i ones, then zeros: uint8 [size + 1, size]."""
    return np.tri(size + 1, size, -1, dtype=np.uint8)


def _num_bytes(ids: npt.NDArray) -> int:
    """Slots for the largest of some ids: 1, 2 or 4."""
    largest = int(ids.max(initial=0))
    if largest >= _LARGEST:
        raise ValueError(f"The id {largest} is not below 2**28.")
    return 1 if largest < 2**7 else 2 if largest < 2**14 else 4


def _length_sizes(numbers: npt.NDArray) -> npt.NDArray[np.int64]:
    """Bytes that each of some numbers below 2**28 takes as a length."""
    sizes = np.ones(numbers.shape, np.int64)
    for index in (1, 2, 3):
        sizes += numbers >= 1 << 7 * index
    return sizes


def _varints(numbers: npt.NDArray) -> _Slots:
    """The bytes [n, 4] of some lengths, and which of them are in use."""
    index = np.arange(_LENGTH_BYTES)
    size = _length_sizes(numbers)[:, None]
    bits = (numbers[:, None] >> 7 * index) & 0x7F
    return (bits | (index < size - 1) << 7).astype(np.uint8), index < size


def _constant(like: npt.NDArray, *numbers: int) -> _Slots:
    shape = len(like), len(numbers)
    return np.broadcast_to(np.array(numbers, np.uint8), shape), np.ones(shape, bool)


def _to_the_left(*parts: Sequence[npt.NDArray]) -> _Slots:
    """Joins parts (bytes, in use) and moves the bytes in use to the left: long runs copy faster."""
    slots, used = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
    order = np.argsort(~used, axis=1, kind="stable")
    slots, used = (np.take_along_axis(array, order, axis=1) for array in (slots, used))
    longest = used.sum(axis=1).max()
    return slots[:, :longest], used[:, :longest]
