"""Rows that stay in their file until a batch needs them."""

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.examples.rows import Batch, Ints, Rows, Values
from bert_tf.records.rows import layout
from bert_tf.records.rows.layout import LABELS, Description

_BY_RECORD_NAME = {each.record_name: each for each in (*features.ENCODER_INPUTS, *LABELS.values())}


@dataclasses.dataclass(frozen=True)
class RecordRows(Rows):
    """Rows in a TFRecord file, which `batch` reads; memory holds what it reads and no more.

    The attributes of `Rows` are empty; `read` gives some of the rows as such.

    Attributes:
      directory: as `write.write` left it; see `layout`.
      description: of it.
    """

    directory: str = dataclasses.field(kw_only=True)
    description: Description = dataclasses.field(kw_only=True)

    @classmethod
    def open(cls, directory: str, made_from: Mapping[str, Any]) -> "RecordRows | None":
        """The rows of a directory; None if they are not there or were made from something else."""
        description = layout.read_description(directory)
        if description is None or description.made_from != dict(made_from):
            return None
        rows = cls((), (), {}, directory=directory, description=description)
        return rows if rows.is_complete else None

    @property
    def path(self) -> str:
        """The file of the records."""
        here = os.path.join(self.directory, layout.RECORDS)
        return self.description.records or here

    @property
    def is_complete(self) -> bool:
        """Whether the records are as long as the index says."""
        if not (os.path.isfile(self.path) and len(self._index) == len(self)):
            return False
        last = self._index[-1]
        return os.path.getsize(self.path) >= int(last["offset"]) + int(last["num_bytes"])

    def __len__(self) -> int:
        return self.description.num_rows

    @property
    def lengths(self) -> Ints:
        """See `Rows.lengths`."""
        return self._index["length"].astype(np.int64)

    @property
    def sequence_counts(self) -> Ints | None:
        """See `Rows.sequence_counts`."""
        return self._index["num_sequences"].astype(np.int64) if self.num_sequences else None

    @property
    def num_sequences(self) -> int | None:
        """See `Rows.num_sequences`."""
        return self.description.num_sequences

    def head(self, num_rows: int | None) -> "RecordRows":
        """See `Rows.head`; the digest of fewer rows is not that of rows in memory."""
        if num_rows is None or num_rows >= len(self):
            return self
        digest = f"{self.digest()}, first {num_rows}"
        description = dataclasses.replace(self.description, num_rows=num_rows, digest=digest)
        return dataclasses.replace(self, description=description)

    def without_labels(self) -> "RecordRows":
        """See `Rows.without_labels`."""
        description = dataclasses.replace(self.description, labels=[])
        return dataclasses.replace(self, description=description)

    def batch(self, indices: Ints) -> Batch:
        """See `Rows.batch`."""
        known = indices if len(indices) else np.arange(1)  # which tells the types of no rows
        return self.read(known).batch(np.arange(len(indices)))

    def digest(self) -> str:
        """See `Rows.digest`; that of the same rows in memory."""
        return self.description.digest

    def read(self, indices: Ints) -> Rows:
        """The rows of those numbers, in memory."""
        parsed = [self._parsed(index) for index in indices]
        word_ids, type_ids = [], []
        for row in parsed:
            mask = row[features.MASK.name].reshape(-1, self.description.max_seq_length)
            for length, *ids in zip(
                mask.sum(axis=1),
                *(row[f.name].reshape(mask.shape) for f in (features.WORD_IDS, features.TYPE_IDS)),
                strict=True,
            ):
                word_ids.append(ids[0][:length].tolist())
                type_ids.append(ids[1][:length].tolist())
        sizes = self._index["num_sequences"][indices] if self.num_sequences else None
        lengths = self._index["length"][indices]
        labels = {name: _labels(name, parsed, lengths) for name in self.description.labels}
        return Rows(word_ids, type_ids, labels, sizes)

    @functools.cached_property
    def _index(self) -> np.ndarray:
        """[N] of `layout.ENTRY`, read from its file as far as it is needed."""
        index = np.load(os.path.join(self.directory, layout.INDEX), mmap_mode="r")
        return index[: len(self)]

    @functools.cached_property
    def _handle(self) -> int:
        return os.open(self.path, os.O_RDONLY)

    def _parsed(self, index: int) -> dict[str, np.ndarray]:
        """The values of a row by their names in models, flat."""
        import tensorflow as tf  # the checks before a training do without

        entry = self._index[index]
        data = os.pread(self._handle, int(entry["num_bytes"]), int(entry["offset"]))
        try:
            found = tf.train.Example.FromString(data).features.feature
        except Exception as error:
            raise InputError(
                f"{self.path}: row {index} is damaged ({error}). Remove {self.directory}, and run "
                "the command again."
            ) from None
        return {
            feature.name: _values(found[name], feature.dtype)
            for name, feature in _BY_RECORD_NAME.items()
            if name in found
        }


def _values(value: Any, dtype: str) -> np.ndarray:
    a_list = value.float_list if dtype == "float32" else value.int64_list
    return np.array(a_list.value, dtype)


def _labels(name: str, parsed: list[dict[str, np.ndarray]], lengths: Ints) -> Values:
    """A label feature of some rows; weights that a record lacks are 1."""
    feature = LABELS[name]
    if name in features.PER_TOKEN:
        return [row[name][:length] for row, length in zip(parsed, lengths, strict=True)]
    one = np.ones(1, feature.dtype)
    is_vector = len(feature.axes.split()) > 1
    values = [row.get(name, one) if is_vector else row.get(name, one)[0] for row in parsed]
    return np.array(values, feature.dtype)
