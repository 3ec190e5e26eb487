"""Files of PredictionLogs: requests to a model, with their answers where they were recorded."""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import google_crc32c
import numpy as np
from google.protobuf.message import DecodeError

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.records.build import write as tfrecord
from serving.client import messages

KINDS = ("predict_log", "classify_log", "regress_log")  # those that can be asked again
_MASK_DELTA = 0xA282EAD8  # of TFRecord's checksums


def read(path: str) -> Iterator[Any]:
    """Yields the PredictionLogs of a file.

    Raises:
      InputError: the file is damaged, or holds something else.
    """
    for index, record in enumerate(_records(path)):
        try:
            log = messages.kind("PredictionLog").FromString(record)
        except DecodeError:
            raise InputError(f"{path}, record {index}, is not a PredictionLog.") from None
        if log.WhichOneof("log_type") is None:
            raise InputError(f"{path}, record {index}, is not a PredictionLog with a request.")
        yield log


def write(path: str, logs: Sequence[Any]) -> None:
    """Writes PredictionLogs into a file, which is there when all of it is."""
    records = [log.SerializeToString() for log in logs]
    ends = np.cumsum([len(record) for record in records])
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(tfrecord.frame(b"".join(records), ends))


def parts(log: Any) -> tuple[str, Any]:
    """The kind of a log, such as "predict_log", and what is in it: a request and a response."""
    kind = log.WhichOneof("log_type")
    return kind, getattr(log, kind)


def _records(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while header := file.read(12):
            if len(header) < 12 or _checksum(header[:8]) != header[8:]:
                start = file.tell() - len(header)
                raise InputError(f"{path} is not a TFRecord file, or damaged at byte {start}.")
            (length,) = struct.unpack("<Q", header[:8])
            record, checksum = file.read(length), file.read(4)
            if len(record) < length or _checksum(record) != checksum:
                raise InputError(f"{path} is damaged at byte {file.tell()}, or cut off.")
            yield record


def _checksum(data: bytes) -> bytes:
    """The masked checksum of TFRecord."""
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF)
