"""Masks drawn while records are read, new ones each time (RoBERTa, arXiv 1907.11692, section 4.1).

`examples.masking.Masker` in graph ops. The draws are hashes of (seed, number of the example, place
in it), two rounds of the 32-bit integer hash "lowbias32" (Wellons 2018, "Prospecting for Hash
Functions"), so the masks of an example do not depend on the batch, the share of it or the restart
that it comes in, nor on the version of TensorFlow.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf import features
from bert_tf.examples.choices import DYNAMIC_GRANULARITIES, MaskSettings
from bert_tf.examples.masking import Groups, Masked, Masker
from bert_tf.text.vocab import Vocabulary

_MULTIPLIERS = (0x7FEB352D, 0x846CA68B)  # lowbias32
_SALTS = (0x9E3779B9, 0x7F4A7C15)  # the two halves of 2**64 / golden ratio
# What is drawn; columns are counted from there.
_CHOICE, _CORRUPTION, _REPLACEMENT, _ROUNDING = 0, 1 << 20, 2 << 20, 3 << 20


def restored(
    word_ids: tf.Tensor, positions: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor
) -> tf.Tensor:
    """Undoes masks.

    Args:
      word_ids: int32 [n T].
      positions: int32 [n P], where a token may have been replaced.
      labels: int32 [n P], the ids before.
      weights: float32 [n P], 0 in unused slots.

    Returns:
      int32 [n T].
    """
    masked = tf.gather(word_ids, positions, batch_dims=1)  # [n P]
    return _added(word_ids, positions, tf.where(weights > 0, labels - masked, 0))


class DynamicMasker:
    """Masks the rows of a batch as `examples.masking.Masker` says, by token or word.

    Args:
      vocabulary: of the records; "##" tells its words.
      settings: with a granularity of `DYNAMIC_GRANULARITIES`.
      seed: from 0 to 2**32 - 1.

    Raises:
      InputError: the vocabulary has special tokens only.
      ValueError: records do not tell this granularity.
    """

    def __init__(self, vocabulary: Vocabulary, settings: MaskSettings, seed: int) -> None:
        if settings.granularity not in DYNAMIC_GRANULARITIES:
            raise ValueError(
                f"granularity={settings.granularity!r} must be one of "
                f"{', '.join(DYNAMIC_GRANULARITIES)}."
            )
        self._masker, self._seed = Masker(vocabulary, settings), seed

    def __call__(self, word_ids: tf.Tensor, numbers: tf.Tensor) -> dict[str, tf.Tensor]:
        """Masks rows.

        Args:
          word_ids: int32 [n T], not masked; T is static.
          numbers: int64 [n], of the examples; an example that is read again has another one.

        Returns:
          The masked `input_word_ids` int32 [n T], `masked_lm_positions` and `masked_lm_ids` int32
          [n P], and `masked_lm_weights` float32 [n P].
        """
        masked = self._masker(word_ids, _TensorArrays(word_ids, self._seed, numbers))
        return {
            features.WORD_IDS.name: masked.word_ids,
            features.MASKED_LM_POSITIONS.name: masked.positions,
            features.MASKED_LM_IDS.name: masked.labels,
            features.MASKED_LM_WEIGHTS.name: tf.cast(masked.is_used, tf.float32),
        }


class _ChosenSlots(NamedTuple):
    """Chosen tokens in TensorFlow.

    Attributes:
      columns: int32 [n P], ascending; 0 in unused slots.
      is_used: bool [n P]; the used slots come first.
      group_columns: int32 [n P], first column of each token's group.
    """

    columns: tf.Tensor
    is_used: tf.Tensor
    group_columns: tf.Tensor


class _TensorArrays:
    """`examples.masking.Arrays` in TensorFlow, for one block.

    Args:
      word_ids: int32 [n T] of the block.
      seed: of the draws.
      numbers: int64 [n], of the examples.
    """

    never = -1

    take = staticmethod(tf.gather)
    where = staticmethod(tf.where)
    range = staticmethod(tf.range)

    def __init__(self, word_ids: tf.Tensor, seed: int, numbers: tf.Tensor) -> None:
        self._length = word_ids.shape[1]
        self._row_starts = tf.range(tf.shape(word_ids)[0])[:, None] * self._length  # [n 1]
        low, high = tf.cast(numbers, tf.uint32), tf.cast(numbers // 2**32, tf.uint32)
        # Two keys: examples whose first ones are near each other share no run of numbers.
        self._keys = [
            _hash(_hash(_hash(_uint32(seed + salt)) + low) + high)[:, None] for salt in _SALTS
        ]
        # The bits of a key that hold its column.
        self._column_bits = tf.constant((1 << (self._length - 1).bit_length()) - 1, tf.int32)

    def at(self, values: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        return tf.gather(values, columns, batch_dims=1)

    def concat(self, parts: list[tf.Tensor]) -> tf.Tensor:
        return tf.concat(parts, 1)

    def cumsum(self, values: tf.Tensor) -> tf.Tensor:
        return tf.cumsum(values, axis=1)

    def any(self, values: tf.Tensor) -> tf.Tensor:
        return tf.reduce_any(values, axis=1, keepdims=True)

    def count(self, values: tf.Tensor) -> tf.Tensor:
        return tf.math.count_nonzero(values, axis=1, keepdims=True, dtype=tf.int32)

    def after(self, values: tf.Tensor) -> tf.Tensor:
        return tf.pad(values[:, :-1], [[0, 0], [1, 0]])

    def rounded(self, counts: tf.Tensor, share: float) -> tf.Tensor:
        draw = self._uniform(_ROUNDING, tf.constant([0]))
        return tf.cast(share * tf.cast(counts, tf.float64) + draw, tf.int32)

    def keys(self, is_text: tf.Tensor) -> tf.Tensor:
        """The largest comes first. The low bits hold the column; int32 from 0 on.

        Where the other bits are equal the right token comes first: with the 21 bits that rows of
        512 tokens leave, that moves the probability of a token by less than a millionth.
        """
        columns = tf.range(self._length)
        bits = tf.bitcast(_shifted(self._bits(_CHOICE, columns), 1), tf.int32)
        return tf.where(is_text, (bits & ~self._column_bits) | columns, self.never)

    def first(self, keys: tf.Tensor, count: int) -> tf.Tensor:
        if count == 1:
            return tf.reduce_max(keys, axis=1, keepdims=True)
        return tf.math.top_k(keys, count).values

    def without(self, keys: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        return tf.where(tf.range(self._length) == columns, self.never, keys)

    def first_fitting(
        self, keys: tf.Tensor, groups: Groups, limit: int, is_wanted: tf.Tensor
    ) -> tf.Tensor:
        fitting = tf.where(groups.lengths <= limit, keys, self.never)
        return tf.where(is_wanted, self.first(fitting, 1), self.never)

    def column(self, keys: tf.Tensor) -> tf.Tensor:
        return keys & self._column_bits

    def joined(self, is_text: tf.Tensor, goes_on: tf.Tensor, max_ngram: int) -> tf.Tensor:
        raise NotImplementedError("N-grams are not drawn while records are read.")

    def grouped(self, is_text: tf.Tensor, goes_on: tf.Tensor) -> Groups:
        # Over all rows at once; none of them starts with a token that goes on.
        is_start = tf.reshape(~goes_on, [-1])  # [n*T]
        size = tf.size(is_start)
        starts = tf.cast(tf.where(is_start)[:, 0], tf.int32)  # [G]
        ends = tf.concat([starts[1:], [size]], 0)  # [G]
        group = tf.cumsum(tf.cast(is_start, tf.int32)) - 1  # [n*T]
        first_places = tf.reshape(tf.gather(starts, group), tf.shape(goes_on))  # [n T]
        lengths = tf.reshape(tf.gather(ends, group) - tf.range(size), tf.shape(goes_on))
        return Groups(is_text & ~goes_on, lengths, first_places - self._row_starts)

    def start_of(self, columns: tf.Tensor, groups: Groups) -> tf.Tensor:
        return self.at(groups.index, columns)

    def tokens(self, columns: tf.Tensor, is_chosen: tf.Tensor, limit: int) -> _ChosenSlots:
        # Unused slots are beyond all columns, so that they stay behind.
        columns = tf.sort(tf.where(is_chosen, columns, self._length), axis=1)
        columns = _padded(tf.where(is_chosen, columns, 0), limit)
        return _ChosenSlots(columns, _padded(is_chosen, limit), columns)

    def tokens_of_groups(
        self, columns: tf.Tensor, is_chosen: tf.Tensor, limit: int, groups: Groups
    ) -> _ChosenSlots:
        places = tf.boolean_mask(self._row_starts + columns, is_chosen)  # [C]
        size = tf.size(groups.lengths)
        starts = tf.scatter_nd(places[:, None], tf.ones_like(places), [size])  # [n*T]
        # A token is chosen if the first one of its group is.
        is_chosen = tf.gather(starts, self._row_starts + groups.index) > 0  # [n T]
        from_the_end = tf.where(is_chosen, self._length - tf.range(self._length), 0)  # [n T]
        best = tf.math.top_k(from_the_end, min(limit, self._length)).values
        columns = _padded(tf.where(best > 0, self._length - best, 0), limit)
        return _ChosenSlots(columns, _padded(best > 0, limit), self.at(groups.index, columns))

    def ids(self, word_ids: tf.Tensor, chosen: _ChosenSlots) -> tf.Tensor:
        return tf.where(chosen.is_used, self.at(word_ids, chosen.columns), 0)

    def draw_by_group(self, chosen: _ChosenSlots) -> tf.Tensor:
        return self._uniform(_CORRUPTION, chosen.group_columns)

    def draw_by_token(self, chosen: _ChosenSlots, is_wanted: tf.Tensor) -> tf.Tensor:
        return self._uniform(_REPLACEMENT, chosen.columns)

    def whole(self, numbers: tf.Tensor) -> tf.Tensor:
        return tf.cast(numbers, tf.int32)

    def masked(
        self, word_ids: tf.Tensor, chosen: _ChosenSlots, labels: tf.Tensor, put_in: tf.Tensor
    ) -> Masked:
        differences = tf.where(chosen.is_used, put_in - labels, 0)
        word_ids = _added(word_ids, chosen.columns, differences)
        return Masked(word_ids, chosen.columns, labels, chosen.is_used)

    def _bits(self, first: int, columns: tf.Tensor) -> tf.Tensor:
        """Draws uint32 [n m] for columns, int32 [n m] or [m], counted from `first` on."""
        places = tf.cast(columns + first, tf.uint32)
        return _hash(_hash(places + self._keys[0]) + self._keys[1])

    def _uniform(self, first: int, columns: tf.Tensor) -> tf.Tensor:
        """Draws float64 [n m] from [0, 1)."""
        return tf.cast(self._bits(first, columns), tf.float64) * 2.0**-32


def _padded(slots: tf.Tensor, length: int) -> tf.Tensor:
    """Zeros behind [n min(P,T)] up to [n P]."""
    return tf.pad(slots, [[0, 0], [0, length - slots.shape[1]]])


def _added(word_ids: tf.Tensor, columns: tf.Tensor, differences: tf.Tensor) -> tf.Tensor:
    """`word_ids` [n T] with `differences` [n P] added at `columns` [n P]."""
    rows = tf.broadcast_to(tf.range(tf.shape(columns)[0])[:, None], tf.shape(columns))
    return tf.tensor_scatter_nd_add(word_ids, tf.stack([rows, columns], axis=-1), differences)


def _hash(x: tf.Tensor) -> tf.Tensor:
    """One round of lowbias32, uint32 to uint32; every number comes out once."""
    x = (x ^ _shifted(x, 16)) * _uint32(_MULTIPLIERS[0])
    x = (x ^ _shifted(x, 15)) * _uint32(_MULTIPLIERS[1])
    return x ^ _shifted(x, 16)


def _shifted(x: tf.Tensor, num_bits: int) -> tf.Tensor:
    return tf.bitwise.right_shift(x, _uint32(num_bits))


def _uint32(number: int) -> tf.Tensor:
    return tf.constant(number % 2**32, tf.uint32)
