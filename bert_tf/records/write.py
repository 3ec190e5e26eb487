"""Encoded examples to TFRecord files, whole or not at all.

A record in a file: its length, the checksum of the length, its bytes, their checksum. Written
here rather than by TensorFlow because that takes twice as long, and a process that only writes
need not load it.
"""

import errno
import hashlib
import os
import shutil

import google_crc32c
import numpy as np

from bert_tf import files
from bert_tf.errors import InputError

_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT)
_MASK_DELTA = np.uint32(0xA282EAD8)  # the format adds it to a checksum with its bits rotated


def write_records(path, batches, num_bytes_needed=None):
    """Writes a TFRecord file; nobody sees a part of it.

    Args:
      path: str; a file that is there is replaced.
      batches: iterable of (uint8 array or bytes of some records without gaps, int [n] of where in
        it each record ends), as `encode.Encoder.encode` makes them.
      num_bytes_needed: int, the size the file will have, for the message if it does not fit.

    Returns:
      dict with the file's number of "records" and "bytes" and its hexadecimal "sha256".

    Raises:
      InputError: the disk is full. What was at `path` is still there.
    """
    num_records = num_bytes = 0
    sha256 = hashlib.sha256()
    try:
        with files.replacing(path) as temporary, open(temporary, "wb") as file:
            for buffer, ends in batches:
                framed = frame(buffer, ends)
                num_records += len(ends)
                num_bytes += len(framed)
                sha256.update(framed)
                file.write(framed)
            file.flush()
            os.fsync(file.fileno())  # the name must not outlive a crash without the bytes
    except OSError as error:
        if error.errno not in _DISK_IS_FULL:
            raise
        raise InputError(_disk_is_full(path, num_bytes, num_bytes_needed)) from error
    return {"records": num_records, "bytes": num_bytes, "sha256": sha256.hexdigest()}


def frame(buffer, ends):
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
    parts = [None] * (3 * len(records))
    parts[0::3] = map(headers.__getitem__, which.tolist())
    parts[1::3] = records
    parts[2::3] = _checksums(records)
    return b"".join(parts)


def _checksums(parts):
    """The masked checksum of each of some bytes, four bytes each."""
    crc = np.fromiter(map(google_crc32c.value, parts), np.uint32, len(parts))
    masked = (crc >> np.uint32(15) | crc << np.uint32(17)) + _MASK_DELTA
    data = masked.astype("<u4").tobytes()
    return [data[start : start + 4] for start in range(0, len(data), 4)]


def _disk_is_full(path, num_bytes, num_bytes_needed):
    directory = os.path.dirname(os.path.abspath(path))
    needed = f"{num_bytes_needed} bytes" if num_bytes_needed else f"at least {num_bytes} bytes"
    return (
        f"The disk is full: {path} needs {needed}, and {shutil.disk_usage(directory).free} are "
        f"free in {directory}. No part of the file was left there. Free space, or name another "
        "place, and run the same command again: it goes on with what is done."
    )
