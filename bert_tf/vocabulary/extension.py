"""Domain words into the [unused] slots of a released vocabulary; every other id stays.

A model that was trained with the vocabulary keeps its weights: only the rows of the filled
slots, which no text could reach before, get a meaning in further training.
"""

import heapq
import re
import unicodedata
from typing import NamedTuple

from bert_tf.text.vocab import Vocabulary

_UNUSED = re.compile(r"\[unused\d+\]")


class NewWord(NamedTuple):
    """A word to add.

    Attributes:
      word: str.
      count: int, how often it occurs.
      num_pieces: int, tokens it is cut into so far; 0 if it is [UNK].
    """

    word: str
    count: int
    num_pieces: int

    @property
    def saving(self):
        """Tokens that the text gets shorter; an unknown word counts as spelled, with one more."""
        return self.count * ((self.num_pieces or len(self.word) + 1) - 1)


def free_slots(vocabulary):
    """Returns the ids of the [unused] tokens, ascending: the order they are filled in."""
    return [index for index, token in enumerate(vocabulary.tokens) if _UNUSED.fullmatch(token)]


def choose_words(counts, tokenizer, num_words, min_frequency):
    """Chooses whole words by what they save; equal savings in the order of their code points.

    Args:
      counts: dict from word to count.
      tokenizer: `WordPieceTokenizer` of the vocabulary to extend.
      num_words: int, words at the most.
      min_frequency: int, count that a word must have.

    Returns:
      list of NewWord, the largest saving first. Each has a letter, and nothing but letters,
      their marks and digits.
    """
    unknown = [tokenizer.vocabulary.unk_id]
    candidates = []
    for word, count in counts.items():
        if count >= min_frequency and _is_of_letters(word):
            pieces = tokenizer.cut(word)
            new = NewWord(word, count, 0 if pieces == unknown else len(pieces))
            if new.saving:
                candidates.append(new)
    return heapq.nsmallest(num_words, candidates, key=lambda new: (-new.saving, new.word))


def extended(vocabulary, words):
    """Returns the vocabulary with words in its first [unused] slots.

    Args:
      vocabulary: `Vocabulary` with at least as many slots.
      words: list of str.
    """
    tokens = list(vocabulary.tokens)
    for slot, word in zip(free_slots(vocabulary), words, strict=False):
        tokens[slot] = word
    return Vocabulary(tokens)


def _is_of_letters(word):
    kinds = {unicodedata.category(char) for char in word}
    return any(kind[0] == "L" for kind in kinds) and all(
        kind[0] in "LM" or kind == "Nd" for kind in kinds
    )
