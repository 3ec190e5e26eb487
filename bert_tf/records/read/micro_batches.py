"""A global batch as pieces of known shape: sorted by length, equally many rows, few lengths.

Every worker, and every number of workers, replicas and pieces, sees the same sorted batch. A
piece is as long as the smallest bucket that holds its longest row, looked for among the rows of
all replicas, so all of them run the same program.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf import features

# The place of a piece's length among the buckets, beside the features of a piece; int32.
BUCKET = "length_bucket"

_PER_TOKEN = {feature.name for feature in (*features.ENCODER_INPUTS, features.SEQUENCE_IDS)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cut:
    """How a batch is cut, and which part of it a worker has.

    Piece k of K holds places k*B/K to (k+1)*B/K of the sorted batch. Of the rows of every piece,
    a worker has as much as it has of the batch, and so has each of its replicas, one behind the
    other.

    Attributes:
      batch_size: int, B, rows of the global batch.
      num_pieces: int, K, pieces of a replica's share.
      buckets: tuple of int, lengths that a piece may have, ascending; the last one is T.
      first_row, num_rows: int, the rows of the worker where a batch is one piece.
      num_replicas: int, R, of the worker.

    Raises:
      ValueError: something cannot be divided.
    """

    batch_size: int
    num_pieces: int
    buckets: tuple
    first_row: int
    num_rows: int
    num_replicas: int = 1

    def __post_init__(self):
        if self.batch_size % self.num_pieces or self.first_row % self.num_pieces:
            raise ValueError(f"{self} does not give pieces of equally many rows.")
        if self.num_rows % (self.num_pieces * self.num_replicas):
            raise ValueError(f"{self} does not give replicas equally many rows of each piece.")
        if not 0 <= self.first_row < self.first_row + self.num_rows <= self.batch_size:
            raise ValueError(f"{self} has rows that are not in the batch.")

    @property
    def rows_per_piece(self):
        """int, rows that a replica has of a piece."""
        return self.num_rows // (self.num_pieces * self.num_replicas)

    @property
    def first_places(self):
        """int32 [R K], place in the global batch of the first row of each piece."""
        pieces = np.arange(self.num_pieces) * (self.batch_size // self.num_pieces)
        replicas = np.arange(self.num_replicas)[:, None] * self.rows_per_piece
        return (self.first_row // self.num_pieces + replicas + pieces).astype(np.int32)

    @property
    def places(self):
        """int32 [R*K*b], places in the global batch of the worker's rows, as `shared_out` wants
        them."""
        places = self.first_places[:, :, None] + np.arange(self.rows_per_piece)
        return places.reshape(-1).astype(np.int32)

    def chosen_buckets(self, sorted_lengths):
        """int32 [K], place in `buckets` of the length of each piece.

        Args:
          sorted_lengths: int32 [B], tokens of the rows of the global batch, ascending.
        """
        longest = tf.reshape(sorted_lengths, [self.num_pieces, -1])[:, -1]  # [K]
        return tf.searchsorted(tf.constant(self.buckets, tf.int32), longest)

    def shared_out(self, batch, buckets):
        """Gives each replica its pieces.

        Args:
          batch: dict of [R*K*b ...], the rows of `places`.
          buckets: int32 [K].

        Returns:
          dict of [R K b ...], and `BUCKET` int32 [R K].
        """
        shape = [self.num_replicas, self.num_pieces]
        shares = {
            name: tf.reshape(values, [*shape, self.rows_per_piece, *values.shape[1:]])
            for name, values in batch.items()
        }
        return shares | {BUCKET: tf.broadcast_to(buckets, shape)}


def buckets(lengths, max_seq_length):
    """The lengths that pieces may have.

    Args:
      lengths: iterable of int, wanted ones; those from `max_seq_length` on are left out, so that
        one list does for phases of different length.
      max_seq_length: int, T.

    Returns:
      tuple of int, ascending; the last one is `max_seq_length`.
    """
    return (*sorted({length for length in lengths if length < max_seq_length}), max_seq_length)


def shortened(piece, length):
    """A piece of the length of its bucket.

    Args:
      piece: dict of [b T] and others; or [K b T], K pieces of one bucket.
      length: int.

    Returns:
      dict of [b length] and others, without `BUCKET`.
    """
    return {
        name: values[..., :length] if name in _PER_TOKEN else values
        for name, values in piece.items()
        if name != BUCKET
    }
