"""Rows in memory to batches, cut so that padding is hardly computed.

Real batches padded to their longest row are a third to two thirds padding. Here a training batch is
drawn at random, as in the paper, then cut into micro-batches of similar length whose gradients are
summed: the same update, fewer positions. Prediction sorts all rows by length.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from bert_tf import features
from bert_tf.examples.rows import Batch, Ints, Rows


def cut_by_length(lengths: Ints, num_micro_batches: int) -> list[Ints]:
    """Cuts the rows of a batch into micro-batches of similar length, with the least padding.

    Each micro-batch is padded to its own longest row. Their gradients are summed, so the update is
    that of the whole batch.

    Args:
      lengths: [B], tokens of each row.
      num_micro_batches: wanted; fewer rows give fewer.

    Returns:
      min(num_micro_batches, B) arrays of row numbers, shortest rows first; together every row once.
    """
    order = np.argsort(lengths, kind="stable")
    sorted_lengths = np.asarray(lengths)[order]
    num_rows = len(order)
    # cost[j] is the least number of positions that the first j rows need in k micro-batches: the
    # last one is rows i..j-1, each as long as row j-1.
    rows = np.arange(num_rows + 1)
    cost = np.where(rows == 0, 0.0, np.inf)
    cuts = []
    for _ in range(min(num_micro_batches, num_rows)):
        last = (rows[None, :] - rows[:, None]) * np.append(0, sorted_lengths)[None, :]
        total = np.where(rows[None, :] > rows[:, None], cost[:, None] + last, np.inf)  # [i j]
        cuts.append(total.argmin(axis=0))
        cost = total.min(axis=0)
    micro_batches, end = [], num_rows
    for cut in reversed(cuts):
        micro_batches.append(order[cut[end] : end])
        end = cut[end]
    return micro_batches[::-1]


def length_batches(lengths: Ints, batch_size: int) -> list[Ints]:
    """Row numbers in batches of similar length, longest first, so that memory runs out early."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def epoch_order(num_rows: int, random_seed: int, epoch: int) -> Ints:
    """The order of the rows in an epoch, [N]: a function of the seed and the epoch's number."""
    return np.random.default_rng([random_seed, epoch]).permutation(num_rows)


def batch_indices(
    num_rows: int, *, batch_size: int, random_seed: int, first_step: int = 0
) -> Iterator[Ints]:
    """Yields the rows of each training batch without end, from step number `first_step` on.

    The last batch of an epoch is short where the rows do not fill it.

    Args:
      batch_size: rows of a batch over all replicas.
      random_seed: of the order.
      first_step: batches to leave out, so that a restart gives those that are left.
    """
    epoch, position = divmod(first_step, -(-num_rows // batch_size))
    while True:
        order = epoch_order(num_rows, random_seed, epoch)
        for start in range(position * batch_size, num_rows, batch_size):
            yield order[start : start + batch_size]
        epoch, position = epoch + 1, 0


def training_batches(
    rows: Rows,
    *,
    batch_size: int,
    random_seed: int,
    replicas: int,
    num_micro_batches: int,
    first_step: int,
    here: Sequence[int] | None = None,
) -> Iterator[list[tuple[Batch, ...]]]:
    """Yields training batches without end.

    Args:
      rows: with labels.
      batch_size, random_seed, first_step: see `batch_indices`.
      replicas: their number.
      num_micro_batches: of similar length, for each replica.
      here: numbers of the replicas to make micro-batches for; None: all.

    Yields:
      for each replica, a tuple of micro-batches: `Rows.batch` with `features.ROW_NUMBERS`.
    """
    lengths = rows.lengths
    for indices in batch_indices(
        len(rows), batch_size=batch_size, random_seed=random_seed, first_step=first_step
    ):
        shares = share_out(lengths[indices], replicas, num_micro_batches)
        yield [
            tuple(_micro_batch(rows, indices, positions) for positions in shares[replica])
            for replica in (range(replicas) if here is None else here)
        ]


def _micro_batch(rows: Rows, indices: Ints, positions: Ints) -> Batch:
    """The rows at these positions of a batch of rows `indices`; they keep the positions."""
    return rows.batch(indices[positions]) | {features.ROW_NUMBERS: positions.astype(np.int32)}


def share_out(lengths: Ints, replicas: int, num_micro_batches: int) -> list[list[Ints]]:
    """Gives every replica rows of all lengths, in equally many micro-batches.

    Args:
      lengths: [B], tokens of the rows of a batch.
      replicas: their number.
      num_micro_batches: wanted for each replica.

    Returns:
      for each replica, the positions in the batch of its micro-batches' rows. A replica with fewer
      rows than another gets empty arrays at the end.
    """
    by_length = np.argsort(lengths, kind="stable")
    shares = [by_length[replica::replicas] for replica in range(replicas)]
    num_micro_batches = min(num_micro_batches, len(shares[0]))
    result = []
    for share in shares:
        cut = [share[rows] for rows in cut_by_length(lengths[share], num_micro_batches)]
        result.append(cut + [share[:0]] * (num_micro_batches - len(cut)))
    return result
