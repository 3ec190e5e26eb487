"""A global batch as micro-batches of known shape: sorted by length, equally many rows, few lengths.

Every worker, and every number of workers, replicas and micro-batches, sees the same sorted batch.
A micro-batch has the smallest length bucket that holds its longest row, looked for among the rows
of all replicas, so that all of them run the same program.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf import features


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cut:
    """How a batch is cut into micro-batches, and which part of it a worker has.

    Micro-batch k of K holds positions k*B/K to (k+1)*B/K of the sorted batch. A worker has the same
    share of the rows of every micro-batch as of the batch. So has each of its replicas, one after
    the other.

    Attributes:
      batch_size: B, rows of the global batch.
      num_micro_batches: K, of a replica's share.
      buckets: lengths that a micro-batch may have, ascending; the last one is T.
      first_row, num_rows: the rows of the worker where a batch is one micro-batch.
      num_replicas: R, of the worker.

    Raises:
      ValueError: something cannot be divided.
    """

    batch_size: int
    num_micro_batches: int
    buckets: tuple[int, ...]
    first_row: int
    num_rows: int
    num_replicas: int = 1

    def __post_init__(self) -> None:
        if self.batch_size % self.num_micro_batches or self.first_row % self.num_micro_batches:
            raise ValueError(f"{self} does not give micro-batches of equally many rows.")
        if self.num_rows % (self.num_micro_batches * self.num_replicas):
            raise ValueError(f"{self} does not give replicas equally many rows of a micro-batch.")
        if not 0 <= self.first_row < self.first_row + self.num_rows <= self.batch_size:
            raise ValueError(f"{self} has rows that are not in the batch.")

    @property
    def positions(self) -> npt.NDArray[np.int32]:
        """int32 [R K b], positions of the worker's rows in the sorted global batch."""
        replicas, micro_batches = self.num_replicas, self.num_micro_batches
        rows = self.num_rows // (micro_batches * replicas)  # b
        of_micro_batches = np.arange(micro_batches) * (self.batch_size // micro_batches)
        of_replicas = self.first_row // micro_batches + np.arange(replicas) * rows
        first = of_replicas[:, None] + of_micro_batches  # [R K]
        return (first[:, :, None] + np.arange(rows)).astype(np.int32)

    def chosen_buckets(self, sorted_lengths: tf.Tensor) -> tf.Tensor:
        """The bucket of each micro-batch.

        Args:
          sorted_lengths: int32 [B], tokens of the rows of the global batch, ascending.

        Returns:
          int32 [K], indices of `buckets`.
        """
        longest = tf.reshape(sorted_lengths, [self.num_micro_batches, -1])[:, -1]  # [K]
        return tf.searchsorted(tf.constant(self.buckets, tf.int32), longest)

    def shared_out(self, batch: dict[str, tf.Tensor], buckets: tf.Tensor) -> dict[str, tf.Tensor]:
        """Gives each replica its micro-batches.

        Args:
          batch: dict of [R*K*b ...], the rows at `positions`.
          buckets: int32 [K].

        Returns:
          dict of [R K b ...], with `features.ROW_NUMBERS`, positions in the sorted batch, and
          `features.LENGTH_BUCKET` int32 [R K].
        """
        shape = self.positions.shape
        shares = {
            name: tf.reshape(values, [*shape, *values.shape[1:]]) for name, values in batch.items()
        }
        shares[features.ROW_NUMBERS] = tf.constant(self.positions)
        return shares | {features.LENGTH_BUCKET: tf.broadcast_to(buckets, shape[:2])}


def buckets(lengths: Iterable[int], max_seq_length: int) -> tuple[int, ...]:
    """The lengths that micro-batches may have.

    Args:
      lengths: wanted ones. Those from `max_seq_length` on are left out, so that one list serves
        phases of different lengths.
      max_seq_length: T.

    Returns:
      lengths, ascending; the last one is `max_seq_length`.
    """
    return (*sorted({length for length in lengths if length < max_seq_length}), max_seq_length)


def shortened(micro_batch: dict[str, tf.Tensor], length: int) -> dict[str, tf.Tensor]:
    """A micro-batch cut to the length of its bucket.

    Args:
      micro_batch: dict of [b T], [b W T] and others; or [K b T], K micro-batches of one bucket.
      length: tokens.

    Returns:
      dict of [b length] and others, without `features.LENGTH_BUCKET`.
    """
    return {
        name: _first_tokens(values, name, length) if name in features.PER_TOKEN else values
        for name, values in micro_batch.items()
        if name != features.LENGTH_BUCKET
    }


def _first_tokens(values: tf.Tensor, name: str, length: int) -> tf.Tensor:
    behind = -1 - features.PER_TOKEN[name].token_axis
    return values[(..., slice(length), *[slice(None)] * behind)]
