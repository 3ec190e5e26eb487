"""Packed ids to masked LM examples (paper section 3.1, task 1, and appendix A.1)."""

from typing import NamedTuple

from bert_tf.errors import InputError

# Paper section 3.1: of the chosen tokens 80 % become [MASK], 10 % a random token, 10 % stay.
MASK_PROB = 0.8
RANDOM_PROB = 0.1


class Masked(NamedTuple):
    """A masked sequence.

    Attributes:
      word_ids: list of int, as the model sees them.
      positions: list of int, ascending, of the tokens to predict.
      labels: list of int, the ids that stood at `positions`.
      is_capped: whether `max_predictions_per_seq` kept the share of masked tokens down.
    """

    word_ids: list
    positions: list
    labels: list
    is_capped: bool


class Masker:
    """Masks sequences; a function of the ids and the random numbers alone.

    Only tokens that stand for text are chosen or put in: none of `Vocabulary.special_ids`, so no
    [CLS], [SEP], [UNK] or [unused] slot. Of n such tokens `masked_lm_prob` * n are chosen,
    rounded half up, at least one and at most `max_predictions_per_seq`. A random replacement
    is uniform over those tokens, so with probability 1 / their number it is the token itself.

    With `do_whole_word_mask`, words are chosen: a token and the "##" tokens behind it. A word
    is masked, replaced or kept as a whole. Every word has the same probability, however long it
    is: the words are laid in random order around a circle as long as they are together, and one
    is chosen if it starts on an arc of as many tokens as are wanted, which starts anywhere. So
    the number of chosen tokens is right on average only; a word that would exceed
    `max_predictions_per_seq` is left out. Languages written without spaces, where every
    character is a token, have words of one token here.

    Args:
      vocabulary: `text.vocab.Vocabulary`.
      masked_lm_prob: float in (0, 1].
      max_predictions_per_seq: int, at least 1.
      do_whole_word_mask: bool.

    Raises:
      InputError: the vocabulary has special tokens only.
    """

    def __init__(
        self, vocabulary, masked_lm_prob, max_predictions_per_seq, do_whole_word_mask=False
    ):
        special = vocabulary.special_ids
        self._is_text = bytes(index not in special for index in range(len(vocabulary)))
        self._replacements = [index for index, is_text in enumerate(self._is_text) if is_text]
        if not self._replacements:
            raise InputError("The vocabulary holds special tokens only; none stands for text.")
        self._is_continuation = vocabulary.continuations
        self._mask_id = vocabulary.mask_id
        self._masked_lm_prob = masked_lm_prob
        self._max_predictions = max_predictions_per_seq
        self._choose = self._choose_words if do_whole_word_mask else _choose_tokens

    def __call__(self, word_ids, rng):
        """Masks one sequence.

        Args:
          word_ids: list of int, packed, without padding; stays as it is.
          rng: `random.Random`.

        Returns:
          `Masked`; without a prediction if no token stands for text.
        """
        is_text = self._is_text
        candidates = [place for place, word_id in enumerate(word_ids) if is_text[word_id]]
        if not candidates:
            return Masked(list(word_ids), [], [], False)
        wanted = max(1, int(self._masked_lm_prob * len(candidates) + 0.5))
        num_to_predict = min(wanted, self._max_predictions)
        words = self._choose(word_ids, candidates, num_to_predict, rng)
        positions = sorted(place for word in words for place in word)
        return Masked(
            self._corrupted(word_ids, words, rng),
            positions,
            [word_ids[place] for place in positions],
            wanted > num_to_predict,
        )

    def _corrupted(self, word_ids, words, rng):
        """A copy with the chosen words masked, replaced or kept, one draw a word."""
        word_ids = list(word_ids)
        for word in words:
            draw = rng.random()
            if draw < MASK_PROB:
                for place in word:
                    word_ids[place] = self._mask_id
            elif draw < MASK_PROB + RANDOM_PROB:
                for place in word:
                    choice = int(rng.random() * len(self._replacements))
                    word_ids[place] = self._replacements[choice]
        return word_ids

    def _choose_words(self, word_ids, candidates, num_to_predict, rng):
        """Chooses whole words with equal probability; see the class."""
        words = self._words(word_ids, candidates)
        _shuffle_front(words, len(words), rng)
        arc_start = rng.random() * len(candidates)
        chosen, num_chosen, start = [], 0, 0
        for word in words:
            on_arc = (start - arc_start) % len(candidates) < num_to_predict
            if on_arc and num_chosen + len(word) <= self._max_predictions:
                chosen.append(word)
                num_chosen += len(word)
            start += len(word)
        return chosen or [word for word in words if len(word) <= self._max_predictions][:1]

    def _words(self, word_ids, candidates):
        """Groups places into words: lists of int."""
        words = []
        for place in candidates:
            goes_on = self._is_continuation[word_ids[place]]
            if goes_on and words and words[-1][-1] == place - 1:
                words[-1].append(place)
            else:
                words.append([place])
        return words


def _choose_tokens(word_ids, candidates, num_to_predict, rng):
    """Chooses single tokens: each place with equal probability."""
    del word_ids
    _shuffle_front(candidates, num_to_predict, rng)
    return [(place,) for place in candidates[:num_to_predict]]


def _shuffle_front(items, num_wanted, rng):
    """Puts a random choice of the items, in random order, into the first places of the list."""
    for front in range(min(num_wanted, len(items) - 1)):
        other = front + int(rng.random() * (len(items) - front))
        items[front], items[other] = items[other], items[front]
