"""Encoded examples to TFRecord files, each complete or not there.

A record in a file: its length, the checksum of the length, its bytes, their checksum. Written
here rather than by TensorFlow because that takes twice as long, and a process that only writes
need not load it.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt

from bert_tf import files

Bytes = bytes | npt.NDArray[np.uint8]

_MASK_DELTA = np.uint32(0xA282EAD8)  # the format adds it to a checksum with its bits rotated
_COPY_BYTES = 2**20


def write_records(path: str, batches: Iterable[tuple[Bytes, npt.NDArray]]) -> int:
    """Writes a TFRecord file, which appears complete; one that is there is replaced.

    Args:
      path: of a part of a shard.
      batches: as `encode.Encoder.encode` makes them: the bytes of some records without gaps, and
        [n], where in them each record ends.

    Returns:
      The number of records.
    """
    num_records = 0
    with files.replacing(path, flushes=False) as temporary, open(temporary, "wb") as file:
        for buffer, ends in batches:
            file.write(frame(buffer, ends))
            num_records += len(ends)
    return num_records


def join(path: str, parts: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """Joins TFRecord files to one, which appears complete, and deletes them.

    Args:
      path: of the new file; one that is there is replaced.
      parts: (path, number of records) of each.

    Returns:
      The number of "records" and "bytes" and the hexadecimal "sha256" of the file.
    """
    num_records, sha256 = 0, hashlib.sha256()
    with files.replacing(path) as temporary, open(temporary, "wb") as target:
        for part, count in parts:
            with open(part, "rb") as source:
                while block := source.read(_COPY_BYTES):
                    sha256.update(block)
                    target.write(block)
            os.remove(part)
            num_records += count
        num_bytes = target.tell()
    return {"records": num_records, "bytes": num_bytes, "sha256": sha256.hexdigest()}


def frame(buffer: Bytes, ends: npt.NDArray | Sequence[int]) -> bytes:
    """The bytes of a TFRecord file with these records; arguments as for `write_records`."""
    data = bytes(buffer)
    ends = np.asarray(ends, np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
    records = [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    sizes, which = np.unique(ends - starts, return_inverse=True)
    lengths = [length.tobytes() for length in sizes.astype("<u8")]
    headers = [
        length + checksum for length, checksum in zip(lengths, _checksums(lengths), strict=True)
    ]
    parts = [b""] * (3 * len(records))
    parts[0::3] = map(headers.__getitem__, which.tolist())
    parts[1::3] = records
    parts[2::3] = _checksums(records)
    return b"".join(parts)


def _checksums(parts: Sequence[bytes]) -> list[bytes]:
    """The masked checksum of each part, four bytes."""
    crc = np.fromiter(map(google_crc32c.value, parts), np.uint32, len(parts))
    masked = (crc >> np.uint32(15) | crc << np.uint32(17)) + _MASK_DELTA
    data = masked.astype("<u4").tobytes()
    return [data[start : start + 4] for start in range(0, len(data), 4)]
