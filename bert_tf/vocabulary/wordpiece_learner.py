"""Word counts to wordpieces: merges pairs of tokens, then drops what greedy cutting needs least.

Merging the most frequent pair again and again (Sennrich et al. 2016, "Neural Machine
Translation of Rare Words with Subword Units") leaves tokens that only led to longer ones. The
tokenizer cuts words greedily and never uses many of them. So more tokens are merged than
wanted, all words are cut as the tokenizer will cut them, and the tokens whose loss costs least
are dropped.
"""

import collections
import heapq
from collections.abc import Iterator, Mapping, Sequence

from bert_tf.progress import Progress, status
from bert_tf.text import characters
from bert_tf.text.wordpiece import cut_into_wordpieces

MAX_TOKEN_CHARS = 64  # at most 256 bytes of UTF-8, the limit of the graph tokenizer

# Measured on 20 MB of English, for 8,000 and for 30,522 tokens: larger values gain nothing.
_MERGED_PER_KEPT = 1.5
_EXCESS_AFTER_ROUND = (0.4, 0.1, 0.0)

_Pair = tuple[int, int]  # ids of two neighbours
_Words = Sequence[tuple[str, int]]  # words and their counts


def choose_characters(counts: Mapping[str, int], coverage: float) -> tuple[list[str], list[str]]:
    """Chooses the characters that get tokens, the most frequent ones.

    Args:
      counts: word to count.
      coverage: in (0, 1], the share of the text's characters to cover.

    Returns:
      (chosen, left_out) in the order of code points. Half of a surrogate pair is always left out,
      because it cannot be written.
    """
    frequencies = collections.Counter[str]()
    for word, count in counts.items():
        for char in word:
            frequencies[char] += count
    wanted = coverage * sum(frequencies.values())
    chosen: list[str] = []
    covered = 0
    for char, frequency in sorted(frequencies.items(), key=lambda item: (-item[1], item[0])):
        if covered < wanted and not "\ud800" <= char <= "\udfff":
            chosen.append(char)
            covered += frequency
    return sorted(chosen), sorted(frequencies.keys() - set(chosen))


def alphabet(chars: Sequence[str]) -> list[str]:
    """Returns the tokens that spell every word of these characters.

    Each character can start a word. Each can also continue one, except punctuation and CJK
    characters, which are words of their own.
    """
    inside = [c for c in chars if not (characters.is_punctuation(c) or characters.is_cjk(c))]
    return [*chars, *(f"##{char}" for char in inside)]


def learn(
    counts: Mapping[str, int], spelling: Sequence[str], size: int, min_frequency: int
) -> list[str]:
    """Learns wordpieces.

    The result depends only on the counts: ties are broken by text.

    Args:
      counts: word to count.
      spelling: `alphabet` of characters; words with other characters are ignored.
      size: tokens wanted, at least as many as `spelling` has.
      min_frequency: how often the two parts of a merged token must be neighbours.

    Returns:
      `spelling`, then the others from the most to the least used. Shorter than `size` if the words
      give no more.
    """
    chars = {token for token in spelling if len(token) == 1}
    words = sorted((word, count) for word, count in counts.items() if chars.issuperset(word))
    tokens = merge(words, spelling, int(size * _MERGED_PER_KEPT), min_frequency)
    with status("Choosing the tokens that greedy cutting needs most"):
        return _without_least_needed(tokens, words, spelling, size)


def merge(words: _Words, spelling: Sequence[str], size: int, min_frequency: int) -> list[str]:
    """Merges the most frequent pair of neighbours until there are `size` tokens or no pair.

    Args:
      words: words of characters in `spelling`, and their counts.
      min_frequency: count below which a pair is not merged.

    Returns:
      `spelling`, then the merged tokens, oldest first. Of equally frequent pairs, the one that
      sorts first by the text of its two tokens is merged first.
    """
    merger = _Merger(words, spelling)
    merger.merge(size, min_frequency)
    return merger.tokens


class _Merger:
    """Words as sequences of token ids, and the pairs of neighbours in them.

    Attributes:
      tokens: the spelling and the merged tokens, oldest first.
    """

    def __init__(self, words: _Words, spelling: Sequence[str]) -> None:
        self.tokens = list(spelling)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        self._words = [self._spell(word) for word, _ in words]
        self._counts = [count for _, count in words]
        self._pair_counts = collections.Counter[_Pair]()
        # Words that have or had the pair; a merge checks each of them again.
        self._words_of_pair: dict[_Pair, list[int]] = collections.defaultdict(list)
        for index, (ids, count) in enumerate(zip(self._words, self._counts, strict=True)):
            for pair in zip(ids, ids[1:], strict=False):
                self._pair_counts[pair] += count
                self._words_of_pair[pair].append(index)
        self._queue = [self._entry(pair) for pair in self._pair_counts]
        heapq.heapify(self._queue)

    def _spell(self, word: str) -> list[int]:
        return [self._ids[word[0]], *(self._ids[f"##{char}"] for char in word[1:])]

    def _entry(self, pair: _Pair) -> tuple[int, str, str, _Pair]:
        """Sorts by count, then by text; the count may be out of date when it leaves the queue."""
        first, second = pair
        return -self._pair_counts[pair], self.tokens[first], self.tokens[second], pair

    def merge(self, size: int, min_frequency: int) -> None:
        with Progress("merge tokens", size - len(self.tokens), "tokens") as progress:
            while self._queue and len(self.tokens) < size:
                negative_count, first, second, pair = heapq.heappop(self._queue)
                count = self._pair_counts[pair]
                token = first + second.removeprefix("##")
                if count < min_frequency or len(token.removeprefix("##")) > MAX_TOKEN_CHARS:
                    continue
                if count != -negative_count:
                    heapq.heappush(self._queue, self._entry(pair))
                    continue
                num_before = len(self.tokens)
                self._merge_pair(pair, self._id_of(token))
                progress.advance(len(self.tokens) - num_before)

    def _id_of(self, token: str) -> int:
        """The id of a token, new or not: a + ##bc and ab + ##c give the same one."""
        if token not in self._ids:
            self._ids[token] = len(self.tokens)
            self.tokens.append(token)
        return self._ids[token]

    def _merge_pair(self, pair: _Pair, merged_id: int) -> None:
        grown = set()
        for index in self._words_of_pair.pop(pair):
            ids = self._words[index]
            starts = _starts(ids, pair)
            for old, new in _changed_pairs(ids, pair, merged_id, starts):
                self._pair_counts[old] -= self._counts[index]
                self._pair_counts[new] += self._counts[index]
                self._words_of_pair[new].append(index)
                grown.add(new)
            for start in reversed(starts):
                ids[start : start + 2] = [merged_id]
        del self._pair_counts[pair]
        for new in grown:
            heapq.heappush(self._queue, self._entry(new))


def _starts(ids: list[int], pair: _Pair) -> list[int]:
    """Indices of a pair from left to right, without overlaps."""
    first, second = pair
    starts, at, last = [], 0, len(ids) - 1
    while at < last:
        if ids[at] == first and ids[at + 1] == second:
            starts.append(at)
            at += 1
        at += 1
    return starts


def _changed_pairs(
    ids: list[int], pair: _Pair, merged_id: int, starts: list[int]
) -> Iterator[tuple[_Pair, _Pair]]:
    """Yields (old, new) for each pair of neighbours of which one or both get merged.

    The merged pair itself is not among the old ones, unless it overlaps: it goes anyway.
    """
    first, second = pair
    end = None
    for start in starts:
        if end is not None and end < start and end < len(ids):
            yield (second, ids[end]), (merged_id, ids[end])
        if start:
            before = ids[start - 1]
            yield (before, first), (merged_id if end == start else before, merged_id)
        end = start + 2
    if end is not None and end < len(ids):
        yield (second, ids[end]), (merged_id, ids[end])


def _without_least_needed(
    tokens: Sequence[str], words: _Words, spelling: Sequence[str], size: int
) -> list[str]:
    """Drops tokens in rounds, counting again in each which ones greedy cutting uses.

    The loss of a token costs its uses times (the number of tokens it would be cut into - 1).
    Among equal losses, the token that was merged last is dropped first.
    """
    age = {token: index for index, token in enumerate(tokens)}
    kept = {token: token for token in tokens}
    excess = max(0, len(tokens) - size)
    for share in _EXCESS_AFTER_ROUND:
        uses = _uses(kept, words)
        costs = [
            (uses[token] * (_num_tokens_without(token, kept) - 1), -age[token])
            for token in tokens[len(spelling) :]
            if token in kept
        ]
        num_dropped = max(0, len(kept) - size) - int(share * excess)
        for _, negative_age in heapq.nsmallest(num_dropped, costs):
            del kept[tokens[-negative_age]]
    uses = _uses(kept, words)
    learned = sorted(kept.keys() - set(spelling), key=lambda token: (-uses[token], token))
    return [*spelling, *learned]


def _uses(kept: Mapping[str, str], words: _Words) -> Mapping[str, int]:
    """How often each token is used when the words are cut greedily."""
    uses = collections.Counter[str]()
    for word, count in words:
        for token in _cut(word, kept):
            uses[token] += count
    return uses


def _num_tokens_without(token: str, kept: dict[str, str]) -> int:
    del kept[token]
    num_tokens = len(_cut(token, kept))
    kept[token] = token
    return num_tokens


def _cut(word: str, kept: Mapping[str, str]) -> list[str]:
    """The tokens of a word; all of its characters have one."""
    return cut_into_wordpieces(word, kept, MAX_TOKEN_CHARS + len("##")) or []
