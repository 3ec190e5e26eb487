"""Rows: an encoded data set in memory, and its padded batches."""

import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bert_tf import features

Ints = np.ndarray  # of any integer type
Batch = dict[str, np.ndarray]
# Of a label feature: an array with a value for each row, or for each row an array [... T].
Values: TypeAlias = np.ndarray | Sequence[np.ndarray]

NO_LABEL = -1  # of a token that has none, and of padding


def pad_rows(rows: Sequence[Sequence[int]], length: int) -> npt.NDArray[np.int32]:
    """Stacks rows of different lengths into one array [B length], padded with zeros.

    Args:
      rows: none longer than `length`.
    """
    padded = np.zeros((len(rows), length), np.int32)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


def encoder_inputs(
    word_ids: Sequence[Sequence[int]], type_ids: Sequence[Sequence[int]], length: int | None = None
) -> Batch:
    """Pads packed rows into the three inputs of the encoder.

    Args:
      word_ids: of B rows.
      type_ids: as long as those of `word_ids`.
      length: T; None: that of the longest row.

    Returns:
      dict with int32 [B T] `input_word_ids`, `input_mask`, `input_type_ids`.
    """
    lengths = np.array([len(row) for row in word_ids])
    if length is None:
        length = int(lengths.max())
    return {
        features.WORD_IDS.name: pad_rows(word_ids, length),
        features.MASK.name: (np.arange(length)[None, :] < lengths[:, None]).astype(np.int32),
        features.TYPE_IDS.name: pad_rows(type_ids, length),
    }


@dataclasses.dataclass(frozen=True)
class Rows:
    """A data set in memory, packed but not padded.

    A row is one sequence of ids, or several that belong together: the choices of a question, the
    windows of a long text.

    Attributes:
      word_ids: of S sequences, special tokens included.
      type_ids: as long as those of `word_ids`.
      labels: from the name of a label feature to an array [N ...], or to N arrays [T] of labels
        of tokens; empty without labels.
      group_sizes: [N], how many sequences make each row; None: one, and batches have no axis W.
    """

    word_ids: Sequence[Sequence[int]]
    type_ids: Sequence[Sequence[int]]
    labels: Mapping[str, Values]
    group_sizes: Ints | None = None

    def __len__(self) -> int:
        return len(self.word_ids) if self.group_sizes is None else len(self.group_sizes)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """[N], tokens of each row: of its longest sequence."""
        lengths = np.array([len(row) for row in self.word_ids], np.int64)
        if self.group_sizes is None:
            return lengths
        return np.maximum.reduceat(lengths, self._first_sequences)

    @property
    def extra_inputs(self) -> tuple[features.Feature, ...]:
        """Features of a batch that the model reads in addition to the encoder's inputs."""
        return ()

    @property
    def sequence_counts(self) -> Ints | None:
        """[N], sequences of each row; None: a row is one sequence."""
        return self.group_sizes

    @property
    def num_sequences(self) -> int | None:
        """W, the most sequences that a row has; None: a row is one sequence."""
        return None if self.group_sizes is None else int(self.group_sizes.max(initial=1))

    def batch(self, indices: Ints) -> Batch:
        """The rows of those numbers, padded to the longest of them.

        Without indices the batch has 0 rows and 1 position: the empty share of a replica.

        Returns:
          dict of arrays: the encoder's inputs [B T], or [B W T] of rows of several sequences, where
          `input_mask` is 0 for a sequence that a row lacks; labels [B ...], or [B T] with
          `NO_LABEL` at the padding.
        """
        if self.group_sizes is None:
            inputs = self._inputs(indices)
        else:
            inputs = self._grouped_inputs(indices, self.group_sizes)
        length = inputs[features.WORD_IDS.name].shape[-1]
        return inputs | {name: _chosen(x, indices, length) for name, x in self.labels.items()}

    @property
    def _first_sequences(self) -> Ints:
        """[N], the first sequence of each row."""
        assert self.group_sizes is not None
        return np.cumsum(self.group_sizes) - self.group_sizes

    def _inputs(self, sequences: Ints) -> Batch:
        """The encoder's inputs for some sequences, [B T]."""
        word_ids = [self.word_ids[i] for i in sequences]
        type_ids = [self.type_ids[i] for i in sequences]
        return encoder_inputs(word_ids, type_ids, None if word_ids else 1)

    def _grouped_inputs(self, indices: Ints, group_sizes: Ints) -> Batch:
        """The encoder's inputs for some rows, [B W T]; W is that of the row with most sequences."""
        sizes, first = group_sizes[indices], self._first_sequences[indices]
        is_there = np.arange(sizes.max(initial=1)) < sizes[:, None]  # [B W]
        numbers = first[:, None] + np.arange(is_there.shape[1])
        flat = self._inputs(numbers[is_there])
        grouped = {}
        for name, values in flat.items():
            grouped[name] = np.zeros((*is_there.shape, values.shape[1]), values.dtype)
            grouped[name][is_there] = values
        return grouped

    def head(self, num_rows: int | None) -> "Rows":
        """The first `num_rows` rows; all of them for None."""
        num_sequences, sizes = num_rows, None
        if self.group_sizes is not None:
            sizes = self.group_sizes[:num_rows]
            num_sequences = int(sizes.sum())
        labels = {name: values[:num_rows] for name, values in self.labels.items()}
        return Rows(self.word_ids[:num_sequences], self.type_ids[:num_sequences], labels, sizes)

    @classmethod
    def joined(cls, parts: "Sequence[Rows]") -> "Rows":
        """The rows of all parts, one part after the other; without weight, a row has 1."""
        names = dict.fromkeys(name for part in parts for name in part.labels)
        ones = features.EXAMPLE_WEIGHTS.name
        labels: dict[str, Values] = {}
        for name in names:
            values = [
                np.ones(len(part), np.float32)
                if name == ones and name not in part.labels
                else part.labels[name]
                for part in parts
            ]
            is_array = isinstance(values[0], np.ndarray)
            labels[name] = np.concatenate(values) if is_array else list(itertools.chain(*values))
        sizes = [part.group_sizes for part in parts if part.group_sizes is not None]
        return Rows(
            list(itertools.chain(*(part.word_ids for part in parts))),
            list(itertools.chain(*(part.type_ids for part in parts))),
            labels,
            np.concatenate(sizes) if sizes else None,
        )

    def without_labels(self) -> "Rows":
        """The same rows to predict on."""
        return dataclasses.replace(self, labels={})

    def digest(self) -> str:
        """sha256 over all ids and labels; equal for equal data sets."""
        digest = hashlib.sha256()
        for word_ids, type_ids in zip(self.word_ids, self.type_ids, strict=True):
            digest.update(np.array([len(word_ids), *word_ids, *type_ids], np.int32).tobytes())
        if self.group_sizes is not None:
            digest.update(b"group_sizes" + self.group_sizes.astype(np.int32).tobytes())
        for name in sorted(self.labels):
            values = self.labels[name]
            flat = values if isinstance(values, np.ndarray) else np.concatenate(values, axis=-1)
            digest.update(name.encode() + flat.tobytes())
        return digest.hexdigest()


def _chosen(values: Values, indices: Ints, length: int) -> np.ndarray:
    """The labels of some rows; those of tokens padded to [B ... T]."""
    if isinstance(values, np.ndarray):
        return values[indices]
    *axes, _ = values[0].shape
    is_label = values[0].dtype.kind == "i"
    padded = np.full(
        (len(indices), *axes, length),
        NO_LABEL if is_label else 0,
        np.int32 if is_label else values[0].dtype,
    )
    for target, index in zip(padded, indices, strict=True):
        target[..., : values[index].shape[-1]] = values[index]
    return padded
