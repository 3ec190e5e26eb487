"""TFRecords of `tf.train.Example`, one for each line of the input.

linex_index   int64, number of the line
input_ids     int64 [T]
segment_ids   int64 [T]
values        float [T N H], or [N H] of a vector for each text; in float16 one string of bytes
"""

import os
from collections.abc import Mapping, Sequence

import numpy as np

from bert_tf import features
from bert_tf.extraction.formats.base import Appended, Extracted, Format
from bert_tf.records.build import write

LINE, VALUES = "linex_index", "values"

# Tags of protobuf fields that hold bytes or messages: field number * 8 + 2.
_FIRST, _SECOND, _THIRD = 0x0A, 0x12, 0x1A
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = _FIRST, _SECOND, _THIRD


class Records(Format):
    """TFRecords, compressed or not."""

    def encode(self, rows: Sequence[Extracted]) -> Appended:
        records = [self._example(row) for row in rows]
        ends = np.cumsum([len(record) for record in records])
        return {"rows": self.compressed(write.frame(b"".join(records), ends))}

    def _example(self, extracted: Extracted) -> bytes:
        """The bytes of a `tf.train.Example`, which protobuf takes ten times as long to make."""
        row, vectors = extracted
        entries = [
            _feature(LINE, _INT64_LIST, _integers([row.number])),
            _feature(features.WORD_IDS.record_name, _INT64_LIST, _integers(row.word_ids)),
            _feature(features.TYPE_IDS.record_name, _INT64_LIST, _integers(row.type_ids)),
            _feature(VALUES, self._values_list, vectors.tobytes()),
        ]
        return _field(_FIRST, b"".join(entries))

    @property
    def _values_list(self) -> int:
        return _FLOAT_LIST if self.layout.dtype == "float32" else _BYTES_LIST

    def finish(self, streams: Mapping[str, str], path: str) -> None:
        os.replace(streams["rows"], path)

    def hint(self, path: str) -> str:
        compression = ', compression_type="GZIP"' if self.is_compressed else ""
        return f"TFRecords: tf.data.TFRecordDataset({path!r}{compression})"


def _feature(name: str, list_tag: int, values: bytes) -> bytes:
    """An entry of the map of features; lists of numbers are packed, and have one field of bytes."""
    feature = _field(list_tag, _field(_FIRST, values))
    return _field(_FIRST, _field(_FIRST, name.encode()) + _field(_SECOND, feature))


def _field(tag: int, data: bytes) -> bytes:
    return bytes([tag]) + _integers([len(data)]) + data


def _integers(values: Sequence[int]) -> bytes:
    """Numbers from 0 in protobuf's variable length: seven bits per byte, the lowest ones first."""
    encoded = bytearray()
    for value in values:
        while value > 0x7F:
            encoded.append(value & 0x7F | 0x80)
            value >>= 7
        encoded.append(value)
    return bytes(encoded)
