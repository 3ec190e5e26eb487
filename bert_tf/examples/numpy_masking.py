"""The arrays and random draws of `masking.Masker` in NumPy, for the builder of records."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.examples.masking import Groups, Masked
from bert_tf.examples.random_bits import RandomBits

Array = npt.NDArray
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]
Keys = npt.NDArray[np.uint32]


class _ChosenTokens(NamedTuple):
    """Chosen tokens in NumPy, as indices into the row-major order of [n T].

    Attributes:
      indices: int64 [M], ascending.
      sizes: int [C], tokens of each chosen group; None: every token is a group.
      limit: P.
    """

    indices: Ints
    sizes: Ints | None
    limit: int


class NumpyArrays:
    """`masking.Arrays` in NumPy, for one block.

    Args:
      shape: [n T] of the block.
      random: read from its current position.
    """

    never = np.uint32(0xFFFFFFFF)

    take = staticmethod(np.take)
    where = staticmethod(np.where)
    concat = staticmethod(np.column_stack)
    whole = staticmethod(lambda numbers: numbers.astype(np.int64))

    def __init__(self, shape: tuple[int, ...], random: RandomBits) -> None:
        num_rows, length = shape
        self._random = random
        self._row_starts = np.arange(num_rows)[:, None] * length  # [n 1]
        # The bits of a key that hold its column; never all set, so that none makes `never`.
        self._column_bits = np.uint32((1 << length.bit_length()) - 1)

    def at(self, values: Array, columns: Ints) -> Array:
        return np.take(values, columns + self._row_starts)

    def cumsum(self, values: Array) -> Array:
        return values.cumsum(axis=1)

    def any(self, values: Array) -> Array:
        return np.any(values, axis=1, keepdims=True)

    def range(self, length: int) -> Ints:
        return np.arange(length)

    def count(self, values: Array) -> Array:
        return np.count_nonzero(values, axis=1, keepdims=True)

    def after(self, values: Array) -> Array:
        moved = np.zeros_like(values)
        moved[:, 1:] = values[:, :-1]
        return moved

    def rounded(self, counts: Array, share: float) -> Array:
        return (share * counts + self._random.uniform(counts.shape)).astype(np.int64)

    def keys(self, is_text: Bools) -> Keys:
        """The smallest comes first. The low bits hold the column.

        Where the other bits are equal the left token comes first: with the 22 bits that rows of 512
        tokens leave, that moves the probability of a token by less than a millionth.
        """
        keys = self._random.uint32(is_text.shape)
        keys &= ~self._column_bits
        keys |= np.arange(is_text.shape[1], dtype=np.uint32)
        keys |= np.array([self.never, 0], np.uint32)[is_text.view(np.uint8)]
        return keys

    def first(self, keys: Keys, count: int) -> Keys:
        if count == 1:
            return np.min(keys, axis=1, keepdims=True)
        return np.sort(keys, axis=1)[:, :count]

    def without(self, keys: Keys, columns: Ints) -> Keys:
        keys = keys.copy()
        keys.reshape(-1)[columns + self._row_starts] = self.never
        return keys

    def first_fitting(self, keys: Keys, groups: Groups, limit: int, is_wanted: Bools) -> Keys:
        first = np.full(is_wanted.shape, self.never)
        rows = np.flatnonzero(is_wanted)  # few
        fitting = np.where(groups.lengths[rows] <= limit, keys[rows], self.never)
        first[rows, 0] = fitting.min(axis=1, initial=self.never)
        return first

    def column(self, keys: Keys) -> Ints:
        return (keys & self._column_bits).astype(np.int32)

    def joined(self, is_text: Bools, goes_on: Bools, max_ngram: int) -> Bools:
        """Lengths are drawn until all words of the block are used up.

        A word behind a special token starts an n-gram in any case.
        """
        words = np.flatnonzero(is_text & ~goes_on)
        draws = self._random.uint32(words.size)
        lengths = np.ones(words.size, np.int64)
        shares = np.cumsum(1 / np.arange(1, max_ngram + 1))
        for share in shares[:-1] / shares[-1]:
            lengths += draws >= np.uint32(share * 2**32)
        firsts = np.cumsum(lengths)
        joins = np.ones(words.size, bool)
        joins[:1] = False
        joins[firsts[firsts < words.size]] = False
        indices = words[joins]
        goes_on = goes_on.copy()
        goes_on.reshape(-1)[indices] = self.after(is_text).reshape(-1)[indices]
        return goes_on

    def grouped(self, is_text: Bools, goes_on: Bools) -> Groups:
        starts = np.flatnonzero(~goes_on)
        sizes = np.diff(starts, append=goes_on.size)
        lengths = np.zeros(goes_on.shape, np.int32)
        lengths.reshape(-1)[starts] = sizes
        return Groups(is_text & ~goes_on, lengths, starts)

    def start_of(self, columns: Ints, groups: Groups) -> Ints:
        index = np.searchsorted(groups.index, columns + self._row_starts, side="right") - 1
        return groups.index[index] - self._row_starts

    def tokens(self, columns: Ints, is_chosen: Bools, limit: int) -> _ChosenTokens:
        indices = np.sort((columns + self._row_starts)[is_chosen])
        return _ChosenTokens(indices, None, limit)

    def tokens_of_groups(
        self, columns: Ints, is_chosen: Bools, limit: int, groups: Groups
    ) -> _ChosenTokens:
        starts = self.tokens(columns, is_chosen, limit).indices  # [C]
        sizes = np.take(groups.lengths, starts)  # [C]
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if ends.size else 0
        indices = np.repeat(starts - (ends - sizes), sizes) + np.arange(total)  # [M]
        return _ChosenTokens(indices, sizes, limit)

    def ids(self, word_ids: Ints, chosen: _ChosenTokens) -> Ints:
        return np.take(word_ids, chosen.indices)

    def draw_by_group(self, chosen: _ChosenTokens) -> Floats:
        if chosen.sizes is None:
            return self._random.uniform(chosen.indices.size)
        return np.repeat(self._random.uniform(len(chosen.sizes)), chosen.sizes)

    def draw_by_token(self, chosen: _ChosenTokens, is_wanted: Bools) -> Floats:
        draws = np.zeros(chosen.indices.size)
        draws[is_wanted] = self._random.uniform(int(np.count_nonzero(is_wanted)))
        return draws

    def masked(self, word_ids: Ints, chosen: _ChosenTokens, labels: Ints, put_in: Ints) -> Masked:
        num_rows, length = word_ids.shape
        masked = word_ids.copy()
        masked.reshape(-1)[chosen.indices] = put_in
        rows = chosen.indices // length
        counts = np.bincount(rows, minlength=num_rows)
        is_used = np.arange(chosen.limit) < counts[:, None]  # [n P]
        positions, padded_labels = np.zeros((2, num_rows, chosen.limit), np.int32)
        positions[is_used] = chosen.indices - rows * length
        padded_labels[is_used] = labels
        return Masked(masked, positions, padded_labels, is_used)
