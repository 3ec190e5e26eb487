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
    rows = np.arange(len(order) + 1)
    # Rows i..j-1 need these positions: each is as long as row j-1.
    positions = (rows[None, :] - rows[:, None]) * np.append(0, np.asarray(lengths)[order])[None, :]
    return [order[start:end] for start, end in _cheapest_cut(positions, num_micro_batches)]


def _cheapest_cut(positions: Ints, num_micro_batches: int) -> list[tuple[int, int]]:
    """Cuts sorted rows into micro-batches with the fewest positions in all.

    Args:
      positions: [N+1 N+1], of a micro-batch of the rows i..j-1 at [i j]; infinite if there must be
        none. Only i < j counts.
      num_micro_batches: K; fewer rows give fewer.

    Returns:
      start and end of min(K, N) micro-batches.
    """
    num_rows = len(positions) - 1
    rows = np.arange(num_rows + 1)
    # cost[j] is the least number of positions that the first j rows need in k micro-batches.
    cost = np.where(rows == 0, 0.0, np.inf)
    cuts = []
    for _ in range(min(num_micro_batches, num_rows)):
        total = np.where(rows[None, :] > rows[:, None], cost[:, None] + positions, np.inf)  # [i j]
        cuts.append(total.argmin(axis=0))
        cost = total.min(axis=0)
    micro_batches, end = [], num_rows
    for cut in reversed(cuts):
        micro_batches.append((int(cut[end]), end))
        end = int(cut[end])
    return micro_batches[::-1]


def prediction_batches(rows: Rows, batch_size: int) -> list[Ints]:
    """Row numbers in batches, those first that need most memory, so that it runs out early.

    Args:
      batch_size: rows of a batch. Where some rows have more sequences than others, there are fewer
        of them in a batch, so that it has as many sequences as of the rows with the fewest.
    """
    if (sizes := _relative_sizes(rows)) is None:
        return length_batches(rows.lengths, batch_size)
    order = np.lexsort((rows.lengths, sizes))[::-1]
    batches, start = [], 0
    while start < len(order):
        end = start + max(1, batch_size // int(sizes[order[start]]))
        batches.append(order[start:end])
        start = end
    return batches


def _relative_sizes(rows: Rows) -> Ints | None:
    """[N], sequences of each row for every one of the row with the fewest; None: all have as many.

    A batch of rows with windows takes memory for each window; choices are the same for every row.
    """
    sizes = rows.sequence_counts
    if sizes is None or len(set(sizes.tolist())) == 1:
        return None
    return -(-sizes // sizes.min())


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
      num_micro_batches: of similar length, for each replica; more where rows have more sequences
        than others, see `share_out_sequences`.
      here: numbers of the replicas to make micro-batches for; None: all.

    Yields:
      for each replica, a tuple of micro-batches: `Rows.batch` with `features.ROW_NUMBERS`.
    """
    lengths, sizes = rows.lengths, _relative_sizes(rows)
    for indices in batch_indices(
        len(rows), batch_size=batch_size, random_seed=random_seed, first_step=first_step
    ):
        if sizes is None:
            shares = share_out(lengths[indices], replicas, num_micro_batches)
        else:
            of_rows = lengths[indices], sizes[indices]
            shares = share_out_sequences(*of_rows, replicas, num_micro_batches)
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


def share_out_sequences(
    lengths: Ints, sizes: Ints, replicas: int, num_micro_batches: int
) -> list[list[Ints]]:
    """`share_out` of rows of different numbers of sequences.

    A micro-batch has no more sequences than one of `num_micro_batches` has rows, so that it needs
    no more memory; a row with more is one by itself. Where that takes more micro-batches there are
    two, three or more times as many, some of them empty: a graph is made for each number.

    Args:
      lengths: [B], tokens of the longest sequence of each row.
      sizes: [B], sequences of each row.
      replicas, num_micro_batches: see `share_out`.
    """
    order = np.lexsort((lengths, sizes))
    shares = [order[replica::replicas] for replica in range(replicas)]
    room = -(-len(shares[0]) // num_micro_batches)
    needed = max(_num_needed(sizes[share], room) for share in shares)
    total = min(-(-needed // num_micro_batches) * num_micro_batches, len(shares[0]))
    result = []
    for share in shares:
        positions = _positions_of_sequences(lengths[share], sizes[share], room)
        spans = _cheapest_cut(positions, max(needed, min(num_micro_batches, total)))
        cut = [share[start:end] for start, end in spans]
        result.append(cut + [share[:0]] * (total - len(cut)))
    return result


def _num_needed(sizes: Ints, room: int) -> int:
    """The fewest micro-batches of at most `room` sequences that hold rows of ascending sizes."""
    count = rows = 0
    for size in sizes.tolist():
        rows += 1
        if not count or rows * size > room:
            count, rows = count + 1, 1
    return count


def _positions_of_sequences(lengths: Ints, sizes: Ints, room: int) -> np.ndarray:
    """What `_cheapest_cut` takes, for rows of ascending sizes.

    Returns:
      float64 [N+1 N+1]; infinite for several rows of more than `room` sequences.
    """
    num_rows = len(lengths)
    positions = np.full((num_rows + 1, num_rows + 1), np.inf)
    for start in range(num_rows):
        counts = np.arange(1, num_rows - start + 1)
        sequences = counts * sizes[start:]
        longest = np.maximum.accumulate(lengths[start:])
        is_small = (sequences <= room) | (counts == 1)
        positions[start, start + 1 :] = np.where(is_small, sequences * longest, np.inf)
    return positions
