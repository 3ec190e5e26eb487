"""Puts domain words into the [unused] slots of a released vocabulary; all other ids stay.

A model that was trained with the vocabulary keeps its weights: further training gives a meaning
only to the rows of the filled slots, which no text could reach before.
"""

import dataclasses
import heapq
import re
import unicodedata
from collections.abc import Iterable, Mapping

from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

_UNUSED = re.compile(r"\[unused\d+\]")


@dataclasses.dataclass(frozen=True)
class NewWord:
    """A word to add.

    Attributes:
      count: how often it occurs.
      num_tokens: tokens that it is cut into so far; 0 if it is [UNK].
    """

    word: str
    count: int
    num_tokens: int

    @property
    def saving(self) -> int:
        """By how many tokens the text gets shorter; [UNK] counts as its characters and one more."""
        return self.count * ((self.num_tokens or len(self.word) + 1) - 1)


def free_slots(vocabulary: Vocabulary) -> list[int]:
    """Returns the ids of the [unused] tokens, ascending: the order in which they are filled."""
    return [index for index, token in enumerate(vocabulary.tokens) if _UNUSED.fullmatch(token)]


def choose_words(
    counts: Mapping[str, int], tokenizer: WordPieceTokenizer, num_words: int, min_frequency: int
) -> list[NewWord]:
    """Chooses whole words by their saving; words of equal saving in the order of code points.

    Args:
      counts: word to count.
      tokenizer: of the vocabulary to extend.
      num_words: maximum number of words.
      min_frequency: minimum count of a word.

    Returns:
      Words with at least one letter that consist of letters, their marks and digits, the largest
      saving first.
    """
    unknown = [tokenizer.vocabulary.unk_id]
    candidates = []
    for word, count in counts.items():
        if count >= min_frequency and _is_of_letters(word):
            ids = tokenizer.cut(word)
            new = NewWord(word, count, 0 if ids == unknown else len(ids))
            if new.saving:
                candidates.append(new)
    return heapq.nsmallest(num_words, candidates, key=lambda new: (-new.saving, new.word))


def extended(vocabulary: Vocabulary, words: Iterable[str]) -> Vocabulary:
    """Returns the vocabulary with words in its first [unused] slots, of which it needs enough."""
    tokens = list(vocabulary.tokens)
    for slot, word in zip(free_slots(vocabulary), words, strict=False):
        tokens[slot] = word
    return Vocabulary(tokens)


def _is_of_letters(word: str) -> bool:
    kinds = {unicodedata.category(char) for char in word}
    return any(kind[0] == "L" for kind in kinds) and all(
        kind[0] in "LM" or kind == "Nd" for kind in kinds
    )
