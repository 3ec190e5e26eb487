"""Blocks of packed ids to masked LM examples (paper section 3.1, task 1, and appendix A.1).

The algorithm is written once, over a few array operations and random draws, `Arrays`: in NumPy for
the builder of records (`numpy_masking`), in TensorFlow for masks that are drawn while records are
read (`records.read.dynamic_masking`).
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.examples.choices import MaskSettings
from bert_tf.text.vocab import Vocabulary

# What `token_kinds` says.
SPECIAL, TEXT, CONTINUATION = 0, 1, 2

Array = Any  # np.ndarray or tf.Tensor, whichever the `Arrays` at work computes
Chosen = Any  # the tokens to predict, in the form that suits the `Arrays`


class Groups(NamedTuple):
    """The tokens of a block in groups that are masked together: words, n-grams or spans.

    Attributes:
      is_start: bool [n T], True at the first token of a group.
      lengths: int [n T], at its first token the tokens of a group; elsewhere of no meaning.
      index: what `Arrays.start_of` looks groups up in.
    """

    is_start: Array
    lengths: Array
    index: Array


class Masked(NamedTuple):
    """A block of masked examples.

    Attributes:
      word_ids: int32 [n T], as the model sees them.
      positions: int32 [n P], ascending, of the tokens to predict; 0 in unused slots.
      labels: int32 [n P], the ids that stood at `positions`; 0 in unused slots.
      is_used: bool [n P]; the used slots come first.
      is_capped: bool [n], whether `max_predictions_per_seq` lowered the share of masked tokens.
    """

    word_ids: Array
    positions: Array
    labels: Array
    is_used: Array
    is_capped: Array = None


class Arrays(Protocol):
    """Array operations, and the random draws of one block of n rows.

    Keys put the tokens of a row into random order. They differ from each other and hold their
    column, so that the order of keys is an order of columns. `never` is the key of tokens that may
    not be chosen; it comes last.
    """

    never: Any

    def take(self, table: npt.NDArray, indices: Array) -> Array:
        """`table[indices]`."""

    def at(self, values: Array, columns: Array) -> Array:
        """[n T] at the columns [n K] of each row: [n K]."""

    def where(self, condition: Array, one: Any, other: Any) -> Array: ...

    def concat(self, parts: list[Array]) -> Array:
        """Joins [n ...] along the columns."""

    def cumsum(self, values: Array) -> Array:
        """Running sums along the columns."""

    def any(self, values: Array) -> Array:
        """Whether any of a row is True: [n 1]."""

    def count(self, values: Array) -> Array:
        """How many of a row are True: [n 1]."""

    def range(self, length: int) -> Array:
        """The columns 0 to `length` - 1."""

    def after(self, values: Array) -> Array:
        """bool [n T] one column to the right, False at the start."""

    def rounded(self, counts: Array, share: float) -> Array:
        """`share` * int [n 1] rounded up or down at random, right on average."""

    def keys(self, is_text: Array) -> Array:
        """Draws a key for each True of bool [n T]; `never` elsewhere."""

    def first(self, keys: Array, count: int) -> Array:
        """The `count` keys of each row that come first, in order."""

    def without(self, keys: Array, columns: Array) -> Array:
        """Keys with `never` at a column [n 1] of each row."""

    def first_fitting(self, keys: Array, groups: Groups, limit: int, is_wanted: Array) -> Array:
        """The first key of each row that is of a group of at most `limit` tokens: [n 1].

        `never` where there is none, or bool [n 1] `is_wanted` says so.
        """

    def column(self, keys: Array) -> Array:
        """The columns of keys; of `never` a number of no meaning."""

    def joined(self, is_text: Array, goes_on: Array, max_ngram: int) -> Array:
        """Joins words to n-grams; see `Masker`. Takes and gives what `grouped` takes."""

    def grouped(self, is_text: Array, goes_on: Array) -> Groups:
        """Groups of bool [n T], tokens that stand for text and those that go on with a group."""

    def start_of(self, columns: Array, groups: Groups) -> Array:
        """The columns of the first tokens of the groups that the columns [n 1] are in."""

    def tokens(self, columns: Array, is_chosen: Array, limit: int) -> Chosen:
        """The tokens at those of `columns` [n K] that are chosen, at most `limit` of a row."""

    def tokens_of_groups(
        self, columns: Array, is_chosen: Array, limit: int, groups: Groups
    ) -> Chosen:
        """All tokens of the groups that start there."""

    def ids(self, word_ids: Array, chosen: Chosen) -> Array:
        """The ids of the chosen tokens: [slots], an array of the arrays' own shape."""

    def draw_by_group(self, chosen: Chosen) -> Array:
        """Draws a number from [0, 1) for each chosen group, given to all its tokens: [slots]."""

    def draw_by_token(self, chosen: Chosen, is_wanted: Array) -> Array:
        """Draws a number from [0, 1) for each chosen token where it is wanted: [slots]."""

    def whole(self, numbers: Array) -> Array:
        """Numbers rounded down, as indices."""

    def masked(self, word_ids: Array, chosen: Chosen, labels: Array, put_in: Array) -> Masked:
        """Puts `put_in` [slots] in place of `labels` [slots]; not `is_capped`."""


def token_kinds(vocabulary: Vocabulary) -> npt.NDArray[np.uint8]:
    """What each token of a vocabulary is to masking.

    Returns:
      [V]: `SPECIAL` where it does not stand for text, `CONTINUATION` where it goes on with a word,
      else `TEXT`.

    Raises:
      InputError: the vocabulary has special tokens only.
    """
    kinds = np.frombuffer(vocabulary.continuations, np.uint8) + np.uint8(TEXT)
    kinds[sorted(vocabulary.special_ids)] = SPECIAL
    if not kinds.any():
        raise InputError("The vocabulary holds special tokens only; none stands for text.")
    return kinds


class Masker:
    """Masks blocks of sequences; a function of the ids and the random draws alone.

    Only tokens that stand for text are chosen or put in: none of `Vocabulary.special_ids`, so no
    [PAD], [CLS], [SEP], [UNK] or [unused] slot. Of m such tokens in a row `masked_lm_prob` * m
    are wanted, rounded up or down at random so that the share is right on average, at least one
    and at most `max_predictions_per_seq`. A random replacement is uniform over the tokens of the
    vocabulary that stand for text, so with probability 1 / their number it is the token itself.

    The granularity says what is chosen, and then masked, replaced or kept together:
      token: one token.
      word: a token and the "##" tokens behind it, or what `group_starts` says.
      ngram: 1 to `max_ngram` words in a row, n of them with a probability proportional to 1 / n
        (ALBERT, arXiv 1909.11942, section 4.1). N-grams follow one another through the whole
        block and are cut where a word follows a special token, so the first and the last one of a
        text may be shorter.
      span: what `group_starts` says.
    No group holds a special token: the part behind one is a group of its own. Of tokens exactly as
    many are chosen as are wanted; of longer groups see `choose`.

    Args:
      vocabulary: the source of ids.
      settings: what is chosen and what replaces it.

    Raises:
      InputError: the vocabulary has special tokens only.
    """

    def __init__(self, vocabulary: Vocabulary, settings: MaskSettings) -> None:
        self.settings = settings
        self._kinds = token_kinds(vocabulary)
        self._replacements = np.flatnonzero(self._kinds).astype(np.int32)
        self._mask_id = vocabulary.mask_id

    def __call__(
        self, word_ids: Array, arrays: Arrays, group_starts: npt.NDArray[np.bool_] | None = None
    ) -> Masked:
        """Masks a block of sequences; a row without text has no prediction.

        Args:
          word_ids: int32 [n T], packed, [PAD] behind; T is static.
          arrays: of this block.
          group_starts: bool [n T], True where a group (of n-grams: a word) starts; None: at every
            token without "##". Without effect on single tokens.
        """
        limit = self.settings.max_predictions_per_seq
        kinds = arrays.take(self._kinds, word_ids)  # [n T]
        is_text = kinds != SPECIAL  # [n T]
        keys = arrays.keys(is_text)  # [n T]
        num_text = arrays.count(is_text)  # [n 1]
        # 15 % of 125 tokens are 19 in three of four rows, and 18 in one.
        wanted = arrays.rounded(num_text, self.settings.masked_lm_prob)  # [n 1]
        wanted = arrays.where((num_text > 0) & (wanted < 1), 1, wanted)
        is_capped = wanted > limit
        num_wanted = arrays.where(is_capped, limit, wanted)
        if self.settings.granularity == "token":
            chosen = _choose_tokens(keys, num_wanted, limit, arrays)
        else:
            groups = self._groups(kinds, is_text, group_starts, arrays)
            chosen = choose(keys, groups, num_wanted, num_text, limit, arrays)
        labels = arrays.ids(word_ids, chosen)  # [slots]
        put_in = self._put_in(labels, chosen, arrays)
        masked = arrays.masked(word_ids, chosen, labels, put_in)
        return masked._replace(is_capped=is_capped[:, 0])

    def _groups(
        self,
        kinds: Array,
        is_text: Array,
        group_starts: npt.NDArray[np.bool_] | None,
        arrays: Arrays,
    ) -> Groups:
        """Groups the tokens of a block; none goes on behind a special token."""
        goes_on = kinds == CONTINUATION if group_starts is None else is_text & ~group_starts
        goes_on = goes_on & arrays.after(is_text)  # [n T]
        if self.settings.granularity == "ngram":
            goes_on = arrays.joined(is_text, goes_on, self.settings.max_ngram)
        return arrays.grouped(is_text, goes_on)

    def _put_in(self, labels: Array, chosen: Chosen, arrays: Arrays) -> Array:
        """What replaces the chosen tokens, [slots]; one draw decides for a whole group."""
        mask_prob = self.settings.mask_prob
        draw = arrays.draw_by_group(chosen)  # [slots]
        is_masked = draw < mask_prob
        is_random = ~is_masked & (draw < mask_prob + self.settings.random_prob)
        choice = arrays.draw_by_token(chosen, is_random) * len(self._replacements)  # [slots]
        random = arrays.take(self._replacements, arrays.whole(choice))
        return arrays.where(is_masked, self._mask_id, arrays.where(is_random, random, labels))


def _choose_tokens(keys: Array, num_wanted: Array, limit: int, arrays: Arrays) -> Chosen:
    """The `num_wanted` [n 1] tokens of each row whose keys [n T] come first."""
    first = arrays.first(keys, min(limit, keys.shape[1]))  # [n min(P,T)]
    is_chosen = arrays.range(first.shape[1]) < num_wanted
    return arrays.tokens(arrays.column(first), is_chosen, limit)


def choose(
    keys: Array, groups: Groups, num_wanted: Array, num_text: Array, limit: int, arrays: Arrays
) -> Chosen:
    """Chooses groups of tokens with equal probability, however long they are.

    They are laid in random order around a circle of as many tokens as the row has, and one is
    chosen if it starts on an arc of as many tokens as are wanted, which starts anywhere. So the
    number of chosen tokens is right on average only. A group that would exceed the limit is left
    out; if that leaves none, one that fits is chosen, each with equal probability.

    The arc starts at the token whose key comes first, which cuts the circle there. Behind the rest
    of the group that is cut, the other groups follow in the order of the keys of their first
    tokens. If the arc starts with the whole group, this comes first, else it comes last.

    Args:
      keys: [n T].
      groups: of the same block.
      num_wanted: int [n 1], tokens on the arc.
      num_text: int [n 1], tokens on the circle.
      limit: P.
      arrays: of this block.
    """
    length = keys.shape[1]
    first = arrays.column(arrays.first(keys, 1))  # [n 1]
    first = arrays.where(num_text > 0, first, 0)
    cut = arrays.start_of(first, groups)  # [n 1]
    keys = arrays.where(groups.is_start, keys, arrays.never)  # [n T]
    others = arrays.first(arrays.without(keys, cut), min(limit, length))  # [n P]
    columns = arrays.where(others != arrays.never, arrays.column(others), 0)
    columns = arrays.concat([cut, columns])  # [n 1+P]
    is_group = arrays.concat([num_text > 0, others != arrays.never])  # [n 1+P]

    # Ends are counted from the start of the arc.
    sizes = arrays.where(is_group, arrays.at(groups.lengths, columns), 0)  # [n 1+P]
    num_before = first - cut  # [n 1]
    is_whole = num_before == 0
    ends = arrays.cumsum(sizes) - num_before
    last_end = ends[:, :1] + arrays.where(is_whole, 0, num_text)  # of the group that is cut
    ends = arrays.concat([last_end, ends[:, 1:]])
    starts_on_arc = is_group & (ends - sizes < num_wanted)
    # The arc has no more tokens than the limit, so at most its last group exceeds that.
    not_taken = arrays.where(is_whole, 0, sizes[:, :1] - num_before)
    is_chosen = starts_on_arc & (ends - not_taken <= limit)

    fitting = arrays.first_fitting(keys, groups, limit, ~arrays.any(is_chosen))  # [n 1]
    is_fallback = fitting != arrays.never
    fallback = arrays.where(is_fallback, arrays.column(fitting), 0)
    return arrays.tokens_of_groups(
        arrays.concat([columns, fallback]), arrays.concat([is_chosen, is_fallback]), limit, groups
    )
