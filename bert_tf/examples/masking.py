"""Blocks of packed ids to masked LM examples (paper section 3.1, task 1, and appendix A.1)."""

from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError

# What `token_kinds` says.
SPECIAL, TEXT, CONTINUATION = 0, 1, 2
# The sort key of what may not be chosen; greater than every other key, see `_keys`.
_NEVER = np.uint32(0xFFFFFFFF)


class Masked(NamedTuple):
    """A block of masked examples.

    Attributes:
      word_ids: int32 [n T], as the model sees them.
      positions: int32 [n P], ascending, of the tokens to predict; zeros behind them.
      labels: int32 [n P], the ids that stood at `positions`; zeros behind them.
      num_predictions: int32 [n], how many of P are in use.
      is_capped: bool [n], whether `max_predictions_per_seq` kept the share of masked tokens down.
    """

    word_ids: np.ndarray
    positions: np.ndarray
    labels: np.ndarray
    num_predictions: np.ndarray
    is_capped: np.ndarray


class _Units(NamedTuple):
    """Units of a block. Places are columns of the row-major [n T], so they run to n * T.

    Attributes:
      is_start: bool [n T], True at the first token of a unit.
      starts: int64 [U], places of the tokens that start a unit or stand for no text.
      lengths: int64 [U], tokens from one of `starts` to the next.
    """

    is_start: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


def token_kinds(vocabulary):
    """What each token of a vocabulary is to masking.

    Args:
      vocabulary: `text.vocab.Vocabulary`.

    Returns:
      uint8 [V]: `SPECIAL` where it stands for no text, `CONTINUATION` where it goes on with a
      word, else `TEXT`.

    Raises:
      InputError: the vocabulary has special tokens only.
    """
    kinds = np.frombuffer(vocabulary.continuations, np.uint8) + np.uint8(TEXT)
    kinds[sorted(vocabulary.special_ids)] = SPECIAL
    if not kinds.any():
        raise InputError("The vocabulary holds special tokens only; none stands for text.")
    return kinds


class Masker:
    """Masks blocks of sequences; a function of the ids and the random bits alone.

    Only tokens that stand for text are chosen or put in: none of `Vocabulary.special_ids`, so no
    [PAD], [CLS], [SEP], [UNK] or [unused] slot. Of m such tokens in a row `masked_lm_prob` * m
    are wanted, rounded up or down at random so that the share is right on average, at least one
    and at most `max_predictions_per_seq`. A random replacement is uniform over the tokens of the
    vocabulary that stand for text, so with probability 1 / their number it is the token itself.

    What is chosen, and then masked, replaced or kept as a whole, is a unit:
      piece: one token.
      word: a token and the "##" tokens behind it, or what `group_starts` says.
      ngram: 1 to `max_ngram` words in a row, n of them with a probability proportional to 1 / n
        (ALBERT, arXiv 1909.11942, section 4.1); such n-grams follow one another through the
        whole block and are cut where a word follows a special token, so the first and the last
        one of a text may be shorter.
      span: what `group_starts` says.
    No unit holds a special token: the part behind one is a unit of its own. Of pieces exactly as
    many are chosen as are wanted. Longer units all have the same probability, however long they
    are: they are laid in random order around a circle of m tokens, and one is chosen if it starts
    on an arc of as many tokens as are wanted, which starts anywhere. So the number of chosen
    tokens is right on average only. A unit that would exceed `max_predictions_per_seq` is left
    out; if that leaves none, one that fits is chosen, each with equal probability.

    Args:
      vocabulary: `text.vocab.Vocabulary`.
      settings: `MaskSettings`.

    Attributes:
      settings: that.

    Raises:
      InputError: the vocabulary has special tokens only.
    """

    def __init__(self, vocabulary, settings):
        self.settings = settings
        self._kinds = token_kinds(vocabulary)
        self._replacements = np.flatnonzero(self._kinds).astype(np.int32)
        self._mask_id = vocabulary.mask_id

    def __call__(self, word_ids, group_starts, random):
        """Masks a block of sequences.

        Args:
          word_ids: int32 [n T], packed, [PAD] behind; stays as it is.
          group_starts: bool [n T], True where a unit (of n-grams: a word) starts, or None: a unit
            starts at every token without "##". Not looked at if the unit is a piece.
          random: `random_bits.RandomBits`, read from where it stands.

        Returns:
          `Masked`; a row without a token that stands for text has no prediction.
        """
        settings, limit = self.settings, self.settings.max_predictions_per_seq
        kinds = np.take(self._kinds, word_ids)  # [n T]
        is_text = kinds != SPECIAL  # [n T]
        num_text = np.count_nonzero(is_text, axis=1)  # [n]
        keys = _keys(is_text, random)  # [n T]
        # Up or down at random: 15 % of 125 tokens are 19 in three of four rows, and 18 in one.
        wanted = settings.masked_lm_prob * num_text + random.uniform(len(num_text))
        wanted = np.where(num_text > 0, np.maximum(wanted.astype(np.int64), 1), 0)  # [n]
        num_wanted = np.minimum(wanted, limit)  # [n]
        if settings.granularity == "token":
            starts = _smallest(keys, num_wanted)  # [C]
            lengths = np.ones_like(starts)  # [C]
        else:
            units = self._units(kinds, is_text, group_starts, random)
            starts, lengths = _choose(keys, units, num_wanted, num_text, limit)

        places = _expanded(starts, lengths)  # [M]
        masked = word_ids.copy()  # [n T]
        self._corrupt(masked.reshape(-1), places, lengths, random)
        num_predictions = np.bincount(places // word_ids.shape[1], minlength=len(word_ids))  # [n]
        positions, labels = self._padded(word_ids, places, num_predictions)
        return Masked(masked, positions, labels, num_predictions.astype(np.int32), wanted > limit)

    def _units(self, kinds, is_text, group_starts, random):
        """Groups tokens into `_Units`."""
        goes_on = kinds == CONTINUATION if group_starts is None else is_text & ~group_starts
        follows_text = np.zeros_like(is_text)
        follows_text[:, 1:] = is_text[:, :-1]
        goes_on &= follows_text  # [n T]
        if self.settings.granularity == "ngram":
            self._join(goes_on, is_text, follows_text, random)
        starts = np.flatnonzero(~goes_on)
        return _Units(is_text & ~goes_on, starts, np.diff(starts, append=goes_on.size))

    def _join(self, goes_on, is_text, follows_text, random):
        """Joins words to n-grams: sets `goes_on` at words that do not start one.

        Lengths are drawn until all words of the block are used up. A word behind a special token
        starts an n-gram in any case.
        """
        words = np.flatnonzero(is_text & ~goes_on)
        draws = random.uint32(words.size)
        lengths = np.ones(words.size, np.int64)
        shares = np.cumsum(1 / np.arange(1, self.settings.max_ngram + 1))
        for share in shares[:-1] / shares[-1]:
            lengths += draws >= np.uint32(share * 2**32)
        firsts = np.cumsum(lengths)
        joins = np.ones(words.size, bool)
        joins[:1] = False
        joins[firsts[firsts < words.size]] = False
        places = words[joins]
        goes_on.reshape(-1)[places] = follows_text.reshape(-1)[places]

    def _corrupt(self, word_ids, places, lengths, random):
        """Masks, replaces or keeps the chosen units in place, one draw a unit.

        Args:
          word_ids: int32 [n*T].
          places: int [M], of the tokens of the chosen units.
          lengths: int [C], of the chosen units.
          random: `random_bits.RandomBits`.
        """
        draws = np.repeat(random.uniform(lengths.size), lengths)  # [M]
        mask_prob, random_prob = self.settings.mask_prob, self.settings.random_prob
        word_ids[places[draws < mask_prob]] = self._mask_id
        is_replaced = (draws >= mask_prob) & (draws < mask_prob + random_prob)
        replaced = places[is_replaced]
        choices = random.uniform(replaced.size) * self._replacements.size
        word_ids[replaced] = self._replacements[choices.astype(np.int64)]

    def _padded(self, word_ids, places, num_predictions):
        """Positions and labels, int32 [n P] each, of the places to predict."""
        num_rows, length = word_ids.shape
        ends = np.cumsum(num_predictions)
        rows = places // length
        slots = np.arange(places.size) - (ends - num_predictions)[rows]
        positions = np.zeros((num_rows, self.settings.max_predictions_per_seq), np.int32)
        labels = np.zeros_like(positions)
        positions[rows, slots] = places - rows * length
        labels[rows, slots] = word_ids.reshape(-1)[places]
        return positions, labels


def _keys(is_text, random):
    """Draws a sort key for every token that stands for text; others get `_NEVER`.

    The column stands in the low bits, so that keys tell where they belong and differ from each
    other. Where their random bits are equal the left token is taken first: with the 22 bits that
    rows of 512 tokens leave, that moves the probability of a token by less than a millionth.

    Args:
      is_text: bool [n T].

    Returns:
      uint32 [n T].
    """
    num_rows, length = is_text.shape
    low = _column_bits(length)
    keys = random.uint32((num_rows, length))
    keys &= ~low
    keys |= np.arange(length, dtype=np.uint32)
    keys |= np.array([_NEVER, 0], np.uint32)[is_text.view(np.uint8)]
    return keys


def _column_bits(length):
    """The bits of a key that hold its column; never all set, so no column makes `_NEVER`."""
    return np.uint32((1 << length.bit_length()) - 1)


def _smallest(keys, counts):
    """Places of the `counts` smallest keys of each row, ascending.

    Args:
      keys: uint32 [n T].
      counts: int [n].

    Returns:
      int64 [C].
    """
    ordered = np.sort(keys, axis=1)
    last = ordered[np.arange(len(keys)), np.maximum(counts, 1) - 1]
    return np.flatnonzero((keys <= last[:, None]) & (counts > 0)[:, None])


def _choose(keys, units, num_wanted, num_text, max_predictions):
    """Chooses units of several tokens with equal probability; see `Masker`.

    The arc starts at the token with the smallest key, which cuts the circle there. Behind the
    rest of the unit that is cut, the other units follow in the order of the keys of their first
    tokens. If the arc starts with the whole unit, this comes first, else it comes last.

    Args:
      keys: uint32 [n T].
      units: `_Units`.
      num_wanted: int [n], tokens on the arc.
      num_text: int [n], tokens on the circle.
      max_predictions: int P.

    Returns:
      (starts, lengths): int [C] each, places of the first tokens, ascending, and numbers of
      tokens of the chosen units.
    """
    lengths = np.zeros(keys.size, np.int32)  # [n*T]
    lengths[units.starts] = units.lengths
    cut, num_before = _cut(keys, units.starts)
    keys = np.where(units.is_start, keys, _NEVER)
    places, is_unit = _shuffled(keys, cut, num_text > 0, max_predictions)

    # Ends are counted from the start of the arc.
    sizes = np.where(is_unit, lengths[places], 0)  # [n 1+P]
    ends = np.cumsum(sizes, axis=1) - num_before[:, None]  # [n 1+P]
    is_whole = num_before == 0
    ends[:, 0] += np.where(is_whole, 0, num_text)
    starts_on_arc = is_unit & (ends - sizes < num_wanted[:, None])
    # The arc has no more tokens than P, so that at most its last unit exceeds P.
    not_taken = np.where(is_whole, 0, sizes[:, 0] - num_before)
    is_chosen = starts_on_arc & (ends - not_taken[:, None] <= max_predictions)

    is_start = np.zeros(keys.size, bool)
    is_start[places[is_chosen]] = True
    empty = np.flatnonzero(~is_chosen.any(axis=1) & (num_text > 0))
    is_start[_first_fitting(keys, lengths.reshape(keys.shape), empty, max_predictions)] = True
    starts = np.flatnonzero(is_start)
    return starts, lengths[starts]


def _cut(keys, starts):
    """Finds the unit of the token with the smallest key of each row.

    Args:
      keys: uint32 [n T].
      starts: int64 [U], as in `_Units`.

    Returns:
      (cut, num_before): int64 [n] each, the place of its first token, and the number of its
      tokens before that token; of no meaning in a row without text.
    """
    num_rows, length = keys.shape
    columns = np.minimum(keys.min(axis=1) & _column_bits(length), length - 1)
    smallest = columns + np.arange(num_rows) * length
    cut = starts[np.searchsorted(starts, smallest, side="right") - 1]
    return cut, smallest - cut


def _shuffled(keys, cut, has_text, max_predictions):
    """The unit at `cut`, then the others by their keys, as many as an arc of P tokens can hold.

    Args:
      keys: uint32 [n T], `_NEVER` but at the first tokens of units.
      cut: int64 [n], place of the first token of a unit.
      has_text: bool [n].
      max_predictions: int P.

    Returns:
      (places, is_unit): int64 and bool [n 1+P], places of the first tokens of units; 0 and
      False where there is none. 1+T columns if P is above T.
    """
    num_rows, length = keys.shape
    others = keys.copy()
    others.reshape(-1)[cut] = _NEVER
    others.sort(axis=1)
    others = others[:, :max_predictions]
    is_unit = np.column_stack([has_text, others != _NEVER])
    row_starts = np.arange(num_rows)[:, None] * length
    places = np.column_stack([cut, (others & _column_bits(length)) + row_starts])
    return np.where(is_unit, places, 0), is_unit


def _first_fitting(keys, lengths, rows, max_predictions):
    """Places of the units with the smallest key of no more than `max_predictions` tokens.

    Args:
      keys: uint32 [n T], `_NEVER` but at the first tokens of units.
      lengths: int [n T], of the units, at their first tokens.
      rows: int [r], rows to look at.

    Returns:
      int64 array, no longer than `rows`: a row without such a unit has no place.
    """
    keys = np.where(lengths[rows] <= max_predictions, keys[rows], _NEVER)
    smallest = keys.min(axis=1, initial=_NEVER)
    has_one = smallest != _NEVER
    columns = smallest[has_one] & _column_bits(keys.shape[1])
    return rows[has_one] * keys.shape[1] + columns


def _expanded(starts, lengths):
    """All places of units: `starts`, and as many behind them as `lengths` says.

    Args:
      starts: int64 [C], ascending.
      lengths: int [C].

    Returns:
      int64 [M].
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
