"""Rows in memory to batches, cut so that padding is hardly computed.

Real batches padded to their longest row are a third to two thirds padding. Here a training batch
is drawn at random, as the paper does, then cut into pieces of similar length whose gradients are
summed: the same update, fewer positions. Prediction sorts all rows by length.
"""

import dataclasses
import hashlib

import numpy as np

from bert_tf import features


def length_pieces(lengths, num_pieces):
    """Cuts the rows of a batch into pieces of similar length: the cut with least padding.

    The gradients of the pieces are summed, so the update is that of the whole batch, and
    each piece is padded to its own longest row only.

    Args:
      lengths: int [B], tokens of each row.
      num_pieces: int, wanted number of pieces; fewer rows give fewer pieces.

    Returns:
      list of min(num_pieces, B) int arrays of row numbers, shortest rows first; together
      every row once.
    """
    order = np.argsort(lengths, kind="stable")
    sorted_lengths = np.asarray(lengths)[order]
    num_rows, num_pieces = len(order), min(num_pieces, len(order))
    # cost[j] is the least number of positions that the first j rows need in k pieces: the last
    # piece is rows i..j-1, each as long as row j-1.
    rows = np.arange(num_rows + 1)
    cost = np.where(rows == 0, 0.0, np.inf)
    cuts = []
    for _ in range(num_pieces):
        piece = (rows[None, :] - rows[:, None]) * np.append(0, sorted_lengths)[None, :]
        total = np.where(rows[None, :] > rows[:, None], cost[:, None] + piece, np.inf)  # [i j]
        cuts.append(total.argmin(axis=0))
        cost = total.min(axis=0)
    pieces, end = [], num_rows
    for cut in reversed(cuts):
        pieces.append(order[cut[end] : end])
        end = cut[end]
    return pieces[::-1]


def pad_rows(rows, length, dtype=np.int32):
    """Stacks lists of different length into one array, zeros behind.

    Args:
      rows: list of B sequences of numbers, none longer than `length`.
      length: int.

    Returns:
      array of `dtype`, [B length].
    """
    padded = np.zeros((len(rows), length), dtype)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


def encoder_inputs(word_ids, type_ids, length=None):
    """Pads packed rows into the three inputs of the encoder.

    Args:
      word_ids: list of B lists of int.
      type_ids: list of B lists of int, as long as those of `word_ids`.
      length: int, or None for the longest row.

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

    Attributes:
      word_ids: list of N lists of int, special tokens included.
      type_ids: list of N lists of int, as long as those of `word_ids`.
      labels: dict from the name of a label feature to an array [N]; empty without labels.
    """

    word_ids: list
    type_ids: list
    labels: dict

    def __len__(self):
        return len(self.word_ids)

    @property
    def lengths(self):
        """int array [N], tokens of each row."""
        return np.array([len(row) for row in self.word_ids], np.int64)

    def batch(self, indices):
        """The rows of those numbers, padded to the longest of them: dict of arrays [B T], [B].

        Without indices the batch has 0 rows and 1 position: the empty share of a replica.
        """
        word_ids = [self.word_ids[i] for i in indices]
        type_ids = [self.type_ids[i] for i in indices]
        inputs = encoder_inputs(word_ids, type_ids, None if word_ids else 1)
        return inputs | {name: values[indices] for name, values in self.labels.items()}

    def head(self, num_rows):
        """The first `num_rows` rows; all of them for None."""
        labels = {name: values[:num_rows] for name, values in self.labels.items()}
        return Rows(self.word_ids[:num_rows], self.type_ids[:num_rows], labels)

    def digest(self):
        """sha256 over all ids and labels: two data sets are the same if this is."""
        digest = hashlib.sha256()
        for word_ids, type_ids in zip(self.word_ids, self.type_ids, strict=True):
            digest.update(np.array([len(word_ids), *word_ids, *type_ids], np.int32).tobytes())
        for name in sorted(self.labels):
            digest.update(name.encode() + self.labels[name].tobytes())
        return digest.hexdigest()


def length_batches(lengths, batch_size):
    """Row numbers in batches of similar length, longest first, so that memory runs out early."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def epoch_order(num_rows, random_seed, epoch):
    """int array [N]: the order of an epoch, a function of the seed and the epoch's number."""
    return np.random.default_rng([random_seed, epoch]).permutation(num_rows)


def training_batches(rows, *, batch_size, random_seed, replicas, num_pieces, first_step):
    """Yields training batches without end, from step number `first_step` on.

    The last batch of an epoch is short where the rows do not fill it.

    Args:
      rows: `Rows` with labels.
      batch_size: int, rows of a batch over all replicas.
      random_seed: int, of the order.
      replicas: int.
      num_pieces: int, pieces of similar length for each replica.
      first_step: int, number of batches to leave out; a restart gives the batches that are left.

    Yields:
      list with, for each replica, a tuple of dicts of arrays (`Rows.batch`).
    """
    per_epoch = -(-len(rows) // batch_size)
    lengths = rows.lengths
    epoch, position = divmod(first_step, per_epoch)
    while True:
        order = epoch_order(len(rows), random_seed, epoch)
        for start in range(position * batch_size, len(rows), batch_size):
            indices = order[start : start + batch_size]
            shares = share_out(indices, lengths, replicas, num_pieces)
            yield [tuple(rows.batch(piece) for piece in pieces) for pieces in shares]
        epoch, position = epoch + 1, 0


def share_out(indices, lengths, replicas, num_pieces):
    """Gives every replica rows of all lengths, in equally many pieces.

    Args:
      indices: int [B], row numbers of a batch.
      lengths: int [N], tokens of every row of the data set.
      replicas: int.
      num_pieces: int, wanted number of pieces for each replica.

    Returns:
      list with, for each replica, a list of int arrays of row numbers. A replica with fewer rows
      than another gets empty arrays at the end.
    """
    by_length = indices[np.argsort(lengths[indices], kind="stable")]
    shares = [by_length[replica::replicas] for replica in range(replicas)]
    num_pieces = min(num_pieces, len(shares[0]))
    result = []
    for share in shares:
        pieces = [share[piece] for piece in length_pieces(lengths[share], num_pieces)]
        result.append(pieces + [share[:0]] * (num_pieces - len(pieces)))
    return result
