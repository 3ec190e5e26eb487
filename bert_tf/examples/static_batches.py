"""Training batches that all have the same shapes, as compilers and TPUs want them.

A batch is sorted by length and cut into micro-batches of equally many rows. Each is as long as the
smallest length bucket that holds its longest row. What is missing to a full batch, at the end of an
epoch or where replicas and micro-batches cannot share the rows evenly, is filled up with rows of
weight 0: the update is that of the rows alone.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_tf import features
from bert_tf.examples import batching
from bert_tf.examples.rows import NO_LABEL, Batch, Ints, Rows

_FILLINGS = {features.TOKEN_LABEL_IDS.name: NO_LABEL}  # 0 elsewhere


class Layout(NamedTuple):
    """Shape and type of one row's values of a feature."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclasses.dataclass(frozen=True, kw_only=True)
class StaticBatches:
    """Batches of `rows` in micro-batches of static shape.

    Attributes:
      batch_size: rows of a batch over all replicas.
      random_seed: of the order, see `batching.epoch_order`.
      num_replicas: R, over all processes.
      num_micro_batches: K, of a replica's share of a batch.
      lengths: tokens that a micro-batch may have, ascending. No row is longer than the last one, T.
    """

    rows: Rows
    batch_size: int
    random_seed: int
    num_replicas: int
    num_micro_batches: int
    lengths: Sequence[int]

    @property
    def rows_per_micro_batch(self) -> int:
        """b, the rows that only fill it up included."""
        return -(-self.batch_size // (self.num_replicas * self.num_micro_batches))

    @functools.cached_property
    def layouts(self) -> Mapping[str, Layout]:
        """What a share of a batch holds, without the axes K and b."""
        batch = self.rows.batch(np.arange(0))
        layouts = {}
        for name, values in batch.items():
            shape = list(values.shape[1:])
            if name in features.PER_TOKEN:
                shape[features.PER_TOKEN[name].token_axis] = self.lengths[-1]
                if self.rows.num_sequences:
                    shape[0] = self.rows.num_sequences
            layouts[name] = Layout(tuple(shape), values.dtype)
        return layouts | {
            features.EXAMPLE_WEIGHTS.name: Layout((), np.dtype(np.float32)),
            features.ROW_NUMBERS: Layout((), np.dtype(np.int32)),
        }

    def shares(self, replicas: Sequence[int], first_step: int = 0) -> Iterator[Batch]:
        """Yields the shares that some replicas have of each batch, without end.

        Args:
          replicas: their numbers.
          first_step: batches to leave out, so that a restart gives those that are left.

        Yields:
          batch by batch, for each replica a dict of [K b ...]: the arrays of `layouts`, and
          `features.LENGTH_BUCKET` int32 [K], the index in `lengths` of each micro-batch's length.
        """
        lengths = self.rows.lengths
        for indices in batching.batch_indices(
            len(self.rows),
            batch_size=self.batch_size,
            random_seed=self.random_seed,
            first_step=first_step,
        ):
            yield from self._of_batch(indices, lengths[indices], replicas)

    def _of_batch(self, indices: Ints, lengths: Ints, replicas: Sequence[int]) -> Iterator[Batch]:
        """The shares of the batch of rows `indices` [n], whose tokens are `lengths` [n]."""
        total = self.num_replicas * self.num_micro_batches * self.rows_per_micro_batch
        # What fills the batch up comes first: it is the shortest.
        fill = np.arange(len(indices), total)
        order = np.argsort(lengths, kind="stable")
        positions = np.concatenate([fill, order])
        positions = positions.reshape(self.num_micro_batches, self.num_replicas, -1)  # [K R b]
        sorted_lengths = np.concatenate([np.zeros_like(fill), lengths[order]])
        longest = sorted_lengths.reshape(self.num_micro_batches, -1)[:, -1]  # [K]
        buckets = np.searchsorted(self.lengths, longest).astype(np.int32)
        for replica in replicas:
            share = self._share(indices, positions[:, replica].reshape(-1))
            micro_batches = {
                name: values.reshape(self.num_micro_batches, -1, *values.shape[1:])
                for name, values in share.items()
            }
            yield micro_batches | {features.LENGTH_BUCKET: buckets}

    def _share(self, indices: Ints, positions: Ints) -> Batch:
        """Rows [K*b ...] at positions of a batch; those beyond its end have weight 0."""
        is_real = positions < len(indices)
        found = self.rows.batch(indices[positions[is_real]])
        weights = np.ones(int(is_real.sum()), np.float32)
        found = {features.EXAMPLE_WEIGHTS.name: weights} | found
        share = {features.ROW_NUMBERS: positions.astype(np.int32)}
        for name, layout in self.layouts.items():
            if name in found:
                values = np.full((len(positions), *layout.shape), _FILLINGS.get(name, 0))
                share[name] = values.astype(layout.dtype)
                _put(share[name], is_real, found[name])
        return share


def _put(target: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Puts values [n ...] into rows, bool [N], of a target [N ...] with axes at least as long."""
    chosen = target[rows]
    chosen[(slice(None), *(slice(size) for size in values.shape[1:]))] = values
    target[rows] = chosen
