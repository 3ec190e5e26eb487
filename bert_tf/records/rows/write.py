"""Writes rows to records, some at a time: memory holds these alone."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import numpy as np

from bert_tf import features, files
from bert_tf.examples.rows import NO_LABEL, Rows
from bert_tf.records import example_bytes
from bert_tf.records.build import write as framing
from bert_tf.records.rows import layout
from bert_tf.records.rows.layout import ENTRY, LABELS, Description

_HEADER_BYTES, _FOOTER_BYTES = 12, 4  # of a TFRecord: around its bytes
_BLOCK_BYTES = 2**20

# Some rows: the bytes of their records, and [n] of `ENTRY`, offsets counted from 0.
Encoded = tuple[bytes, np.ndarray]


def encode(rows: Rows, max_seq_length: int) -> Encoded:
    """Rows as the bytes of a TFRecord file."""
    examples = []
    index = np.zeros(len(rows), ENTRY)
    for number in range(len(rows)):
        batch = {name: values[0] for name, values in rows.batch(np.array([number])).items()}
        values = _padded(batch, max_seq_length)
        examples.append(example_bytes.encode(values))
        mask = batch[features.MASK.name]
        index[number]["num_sequences"] = mask.size // mask.shape[-1]
    sizes = [len(example) for example in examples]
    ends = np.cumsum(sizes, dtype=np.int64)
    around = _HEADER_BYTES + _FOOTER_BYTES
    index["offset"] = ends - sizes + around * np.arange(len(rows)) + _HEADER_BYTES
    index["num_bytes"], index["length"] = sizes, rows.lengths
    return framing.frame(b"".join(examples), ends), index


def _padded(row: Mapping[str, np.ndarray], max_seq_length: int) -> dict[str, np.ndarray]:
    """A row's values by their names in records, sequences padded to the full length."""
    values = {layout.IS_REAL: np.ones(1, np.int64)}
    for feature in (*features.ENCODER_INPUTS, *LABELS.values()):
        if feature.name in row:
            value = np.atleast_1d(row[feature.name])
            if feature.name in features.PER_TOKEN:
                missing = [(0, 0)] * (value.ndim - 1) + [(0, max_seq_length - value.shape[-1])]
                fill = NO_LABEL if feature == features.TOKEN_LABEL_IDS else 0
                value = np.pad(value, missing, constant_values=fill)
            values[feature.record_name] = value
    return values


class Digest:
    """`Rows.digest` of rows that come some at a time.

    It takes ids first and labels last, so these wait in files.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._hash = hashlib.sha256()
        self._labels: dict[str, BinaryIO] = {}
        self._num_rows, self._has_weights = 0, False

    def add(self, rows: Rows) -> None:
        """Takes the next rows."""
        for word_ids, type_ids in zip(rows.word_ids, rows.type_ids, strict=True):
            self._hash.update(np.array([len(word_ids), *word_ids, *type_ids], np.int32).tobytes())
        weights = features.EXAMPLE_WEIGHTS.name
        self._has_weights |= weights in rows.labels
        for name, values in {weights: np.ones(len(rows), np.float32), **rows.labels}.items():
            flat = values if isinstance(values, np.ndarray) else np.concatenate(values)
            self._file(name).write(flat.tobytes())

    def _file(self, name: str) -> BinaryIO:
        if name not in self._labels:
            self._labels[name] = open(os.path.join(self._directory, f"{name}.labels"), "w+b")
        return self._labels[name]

    def finish(self, group_sizes: np.ndarray | None) -> tuple[str, list[str]]:
        """The digest, and the names of the labels; removes the files."""
        if group_sizes is not None:
            self._hash.update(b"group_sizes" + group_sizes.astype(np.int32).tobytes())
        names = []
        for name, file in sorted(self._labels.items()):
            if name != features.EXAMPLE_WEIGHTS.name or self._has_weights:
                names.append(name)
                self._hash.update(name.encode())
                file.seek(0)
                while block := file.read(_BLOCK_BYTES):
                    self._hash.update(block)
            file.close()
            os.remove(file.name)
        return self._hash.hexdigest(), names


def write(
    directory: str,
    parts: Iterable[tuple[Rows, Encoded]],
    *,
    made_from: Mapping[str, Any],
    max_seq_length: int,
) -> Description:
    """Writes a directory of rows; see `layout`. One that is there is replaced.

    Args:
      parts: some rows after the other, with what `encode` makes of them.
      made_from: what decides the rows.
      max_seq_length: that they are padded to.
    """
    with files.replacing_directory(directory) as temporary:
        digest, index, is_grouped = Digest(temporary), [np.zeros(0, ENTRY)], False
        with open(os.path.join(temporary, layout.RECORDS), "wb") as file:
            for rows, (data, entries) in parts:
                entries["offset"] += file.tell()
                file.write(data)
                index.append(entries)
                digest.add(rows)
                is_grouped |= rows.num_sequences is not None
        entries = np.concatenate(index)
        np.save(os.path.join(temporary, layout.INDEX), entries)
        sizes = entries["num_sequences"] if is_grouped else None
        found, labels = digest.finish(sizes)
        description = Description(
            made_from=dict(made_from),
            records=None,
            num_rows=len(entries),
            max_seq_length=max_seq_length,
            num_sequences=None if sizes is None else int(sizes.max(initial=1)),
            labels=labels,
            digest=found,
        )
        layout.write_description(temporary, description)
    return description
