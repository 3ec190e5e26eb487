"""Masks drawn while records are read, new ones each time (RoBERTa, arXiv 1907.11692, section 4.1).

Graph ops throughout. The draws are hashes of (seed, number of the example, place in it), two
rounds of the 32-bit integer hash "lowbias32" (Wellons 2018, "Prospecting for Hash Functions"),
so the masks of an example do not depend on the batch, the share of it or the restart that it
comes in, nor on the version of TensorFlow.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import masking
from bert_tf.examples.choices import DYNAMIC_GRANULARITIES

_MULTIPLIERS = (0x7FEB352D, 0x846CA68B)  # lowbias32
_SALTS = (0x9E3779B9, 0x7F4A7C15)  # the two halves of 2**64 / golden ratio
# What is drawn; columns are counted from there.
_CHOICE, _CORRUPTION, _REPLACEMENT, _ROUNDING = 0, 1 << 20, 2 << 20, 3 << 20
_NEVER = -1  # score of what may not be chosen


class _Chosen(NamedTuple):
    """The tokens to predict.

    Attributes:
      columns: int32 [n P], ascending; 0 where there is none.
      is_used: bool [n P], True for the slots in use, which come first.
      unit_columns: int32 [n P], first column of the unit that a token belongs to.
    """

    columns: tf.Tensor
    is_used: tf.Tensor
    unit_columns: tf.Tensor


def restored(word_ids, positions, labels, weights):
    """Undoes masks.

    Args:
      word_ids: int32 [n T].
      positions, labels: int32 [n P], where something else may stand, and what stood there.
      weights: float32 [n P], 0 for a slot that is not in use.

    Returns:
      int32 [n T].
    """
    stands = tf.gather(word_ids, positions, batch_dims=1)  # [n P]
    return _added(word_ids, positions, tf.where(weights > 0, labels - stands, 0))


class DynamicMasker:
    """Masks the rows of a batch as `examples.masking.Masker` does, of units piece and word.

    What is chosen and put in has the same probabilities; the draws are others.

    Args:
      vocabulary: `text.vocab.Vocabulary`.
      settings: `masking.Settings`, its unit one of `UNITS`; words are those that "##" tells.
      seed: int from 0 to 2**32 - 1.

    Raises:
      InputError: the vocabulary has special tokens only.
      ValueError: no such unit.
    """

    def __init__(self, vocabulary, settings, seed):
        if settings.granularity not in DYNAMIC_GRANULARITIES:
            raise ValueError(
                f"granularity={settings.granularity!r} must be one of "
                f"{', '.join(DYNAMIC_GRANULARITIES)}."
            )
        self._settings, self._seed = settings, seed
        self._max_predictions = settings.max_predictions_per_seq
        self._kinds = masking.token_kinds(vocabulary).astype(np.int32)
        self._replacements = np.flatnonzero(self._kinds).astype(np.int32)
        self._mask_id = vocabulary.mask_id

    def __call__(self, word_ids, numbers):
        """Masks rows.

        Args:
          word_ids: int32 [n T], not masked; T is static.
          numbers: int64 [n], of the examples; an example that comes again has another one.

        Returns:
          dict with the masked `input_word_ids` int32 [n T], and `masked_lm_positions` and
          `masked_lm_ids` int32 and `masked_lm_weights` float32 [n P].
        """
        draws = _Draws(self._seed, numbers)
        kinds = tf.gather(self._kinds, word_ids)  # [n T]
        is_text = kinds != masking.SPECIAL  # [n T]
        num_text = tf.math.count_nonzero(is_text, axis=1, dtype=tf.int32)  # [n]
        # Rounded up or down at random.
        wanted = self._settings.masked_lm_prob * tf.cast(num_text, tf.float64)  # [n]
        wanted += draws.uniform(_ROUNDING, tf.constant([0]))[:, 0]
        wanted = tf.clip_by_value(tf.cast(wanted, tf.int32), 1, self._max_predictions)  # [n]
        num_wanted = tf.minimum(wanted, num_text)  # [n]
        scores = tf.where(is_text, _scores(draws, word_ids.shape[1]), _NEVER)  # [n T]
        if self._settings.granularity == "token":
            chosen = self._pieces(scores, num_wanted)
        else:
            chosen = self._words(scores, kinds, num_wanted, num_text)
        labels = tf.gather(word_ids, chosen.columns, batch_dims=1)  # [n P]
        labels = tf.where(chosen.is_used, labels, 0)  # [n P]
        put_in = self._put_in(labels, chosen, draws)  # [n P]
        return {
            features.WORD_IDS.name: _added(word_ids, chosen.columns, put_in - labels),
            features.MASKED_LM_POSITIONS.name: chosen.columns,
            features.MASKED_LM_IDS.name: labels,
            features.MASKED_LM_WEIGHTS.name: tf.cast(chosen.is_used, tf.float32),
        }

    def _pieces(self, scores, num_wanted):
        """Chooses the tokens with the best scores, exactly as many as are wanted."""
        length = scores.shape[1]
        best = tf.math.top_k(scores, min(self._max_predictions, length)).values  # [n min(P,T)]
        is_used = tf.range(best.shape[1]) < num_wanted[:, None]  # [n min(P,T)]
        # Behind all columns where a slot is not in use, so that it stays behind.
        columns = tf.sort(tf.where(is_used, best & _column_bits(length), length), axis=1)
        columns = self._padded(tf.where(is_used, columns, 0))  # [n P]
        return _Chosen(columns, self._padded(is_used), columns)

    def _words(self, scores, kinds, num_wanted, num_text):
        """Chooses words with equal probability, in the way that `masking.Masker` describes.

        Places are columns of the row-major [n T], so they run to n * T.
        """
        num_rows, length = tf.shape(scores)[0], scores.shape[1]
        row_starts = tf.range(num_rows)[:, None] * length  # [n 1]
        units = _units(kinds)
        # The arc starts at the token with the best score, and cuts the circle there.
        best = tf.argmax(scores, axis=1, output_type=tf.int32)[:, None]  # [n 1]
        cut = tf.gather(units.first_columns, best, batch_dims=1)  # [n 1]
        scores = tf.where(units.is_start, scores, _NEVER)  # [n T]
        others = tf.where(tf.range(length) == cut, _NEVER, scores)  # [n T]
        others = tf.math.top_k(others, min(self._max_predictions, length)).values
        columns = tf.concat([cut, tf.maximum(others, 0) & _column_bits(length)], 1)  # [n 1+P]
        is_unit = tf.concat([num_text[:, None] > 0, others >= 0], 1)  # [n 1+P]
        is_chosen = is_unit & _on_arc(
            tf.where(is_unit, tf.gather(units.lengths, columns, batch_dims=1), 0),
            best - cut,
            num_wanted[:, None],
            num_text[:, None],
            self._max_predictions,
        )
        # If that leaves none: one that fits.
        fits = tf.where(units.lengths <= self._max_predictions, scores, _NEVER)  # [n T]
        first_fit = tf.argmax(fits, axis=1, output_type=tf.int32)[:, None]  # [n 1]
        is_left = tf.reduce_max(fits, axis=1, keepdims=True) >= 0  # [n 1]
        is_left &= ~tf.reduce_any(is_chosen, axis=1, keepdims=True)
        places = row_starts + tf.concat([columns, first_fit], 1)  # [n 2+P]
        places = tf.boolean_mask(places, tf.concat([is_chosen, is_left], 1))  # [C]
        starts = tf.scatter_nd(places[:, None], tf.ones_like(places), [num_rows * length])  # [n*T]
        # A token is chosen if the first one of its unit is.
        is_chosen = tf.gather(starts, row_starts + units.first_columns) > 0  # [n T]
        return self._in_order(is_chosen, units.first_columns)

    def _in_order(self, is_chosen, unit_columns):
        """The `_Chosen` of bool [n T], True for P tokens at the most."""
        length = is_chosen.shape[1]
        from_the_end = tf.where(is_chosen, length - tf.range(length), 0)  # [n T]
        best = tf.math.top_k(from_the_end, min(self._max_predictions, length)).values
        columns = self._padded(tf.where(best > 0, length - best, 0))  # [n P]
        is_used = self._padded(best > 0)  # [n P]
        return _Chosen(columns, is_used, tf.gather(unit_columns, columns, batch_dims=1))

    def _padded(self, slots):
        """Fills [n min(P,T)] up to [n P]."""
        return tf.pad(slots, [[0, 0], [0, self._max_predictions - slots.shape[1]]])

    def _put_in(self, labels, chosen, draws):
        """What stands in place of the chosen tokens: one draw a unit whether it is [MASK], a
        random token or the token itself; int32 [n P]."""
        draw = draws.uniform(_CORRUPTION, chosen.unit_columns)  # [n P]
        choice = draws.uniform(_REPLACEMENT, chosen.columns) * len(self._replacements)  # [n P]
        random = tf.gather(self._replacements, tf.cast(choice, tf.int32))  # [n P]
        mask_prob, random_prob = self._settings.mask_prob, self._settings.random_prob
        put_in = tf.where(draw < mask_prob + random_prob, random, labels)
        put_in = tf.where(draw < mask_prob, self._mask_id, put_in)
        return tf.where(chosen.is_used, put_in, labels)


class _Units(NamedTuple):
    """Words of a block of rows.

    Attributes:
      is_start: bool [n T], True at the first token of a word.
      first_columns: int32 [n T], column of the first token of the word that a token belongs to;
        a token that stands for no text is by itself.
      lengths: int32 [n T], tokens from a token on to the end of its word.
    """

    is_start: tf.Tensor
    first_columns: tf.Tensor
    lengths: tf.Tensor


def _units(kinds):
    """Groups tokens into `_Units`; no word goes on behind a special token."""
    is_text = kinds != masking.SPECIAL  # [n T]
    follows_text = tf.pad(is_text[:, :-1], [[0, 0], [1, 0]])  # [n T]
    goes_on = (kinds == masking.CONTINUATION) & follows_text  # [n T]
    num_rows, length = tf.shape(kinds)[0], kinds.shape[1]
    # Over all rows at once; none of them starts with a token that goes on.
    starts = tf.cast(tf.where(tf.reshape(~goes_on, [-1]))[:, 0], tf.int32)  # [U]
    ends = tf.concat([starts[1:], [num_rows * length]], 0)  # [U]
    unit = tf.cumsum(tf.cast(tf.reshape(~goes_on, [-1]), tf.int32)) - 1  # [n*T]
    first = tf.reshape(tf.gather(starts, unit), tf.shape(kinds))  # [n T]
    row_starts = tf.range(num_rows)[:, None] * length  # [n 1]
    left = tf.gather(ends, unit) - tf.range(num_rows * length)  # [n*T]
    return _Units(is_text & ~goes_on, first - row_starts, tf.reshape(left, tf.shape(kinds)))


def _on_arc(sizes, num_before, num_wanted, num_text, max_predictions):
    """Which units start on the arc and do not exceed the slots.

    Args:
      sizes: int32 [n 1+P], tokens of units: the one that is cut, then the others in order.
      num_before: int32 [n 1], tokens of the first unit before the start of the arc.
      num_wanted: int32 [n 1], tokens on the arc.
      num_text: int32 [n 1], tokens on the circle.
      max_predictions: int.

    Returns:
      bool [n 1+P].
    """
    ends = tf.cumsum(sizes, axis=1) - num_before  # [n 1+P]
    is_whole = num_before == 0
    # A unit that is cut starts at the end of the circle.
    first_end = ends[:, :1] + tf.where(is_whole, 0, num_text)  # [n 1]
    ends = tf.concat([first_end, ends[:, 1:]], 1)
    not_taken = tf.where(is_whole, 0, sizes[:, :1] - num_before)  # [n 1]
    return (ends - sizes < num_wanted) & (ends - not_taken <= max_predictions)


class _Draws:
    """Random numbers of each of some examples.

    Args:
      seed: int.
      numbers: int64 [n].
    """

    def __init__(self, seed, numbers):
        low, high = tf.cast(numbers, tf.uint32), tf.cast(numbers // 2**32, tf.uint32)
        # Two keys: examples whose first ones are near each other share no run of numbers.
        self._keys = [
            _hash(_hash(_hash(_uint32(seed + salt)) + low) + high)[:, None] for salt in _SALTS
        ]

    def bits(self, first, columns):
        """Draws uint32 [n m] for columns, int32 [n m] or [m], counted from `first` on."""
        places = tf.cast(columns + first, tf.uint32)
        return _hash(_hash(places + self._keys[0]) + self._keys[1])

    def uniform(self, first, columns):
        """Draws float64 [n m] from [0, 1)."""
        return tf.cast(self.bits(first, columns), tf.float64) * 2.0**-32


def _scores(draws, length):
    """Draws what decides the order of tokens, the column in the low bits; int32 [n T] from 0 on.

    Where the random bits are equal the right token comes first: with the 21 bits that rows of
    512 tokens leave, that moves the probability of a token by less than a millionth.
    """
    columns = tf.range(length)
    bits = tf.bitcast(_shifted(draws.bits(_CHOICE, columns), 1), tf.int32)
    return (bits & ~_column_bits(length)) | columns


def _column_bits(length):
    """The bits of a score that hold its column."""
    return tf.constant((1 << (length - 1).bit_length()) - 1, tf.int32)


def _added(word_ids, columns, differences):
    """`word_ids` [n T] with `differences` [n P] added at `columns` [n P]."""
    rows = tf.broadcast_to(tf.range(tf.shape(columns)[0])[:, None], tf.shape(columns))
    return tf.tensor_scatter_nd_add(word_ids, tf.stack([rows, columns], axis=-1), differences)


def _hash(x):
    """One round of lowbias32, uint32 to uint32; every number comes out once."""
    x = (x ^ _shifted(x, 16)) * _uint32(_MULTIPLIERS[0])
    x = (x ^ _shifted(x, 15)) * _uint32(_MULTIPLIERS[1])
    return x ^ _shifted(x, 16)


def _shifted(x, num_bits):
    return tf.bitwise.right_shift(x, _uint32(num_bits))


def _uint32(number):
    return tf.constant(number % 2**32, tf.uint32)
