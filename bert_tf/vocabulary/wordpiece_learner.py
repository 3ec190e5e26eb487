"""Word counts to wordpieces: merges pairs of pieces, then drops what greedy cutting needs least.

Merging the most frequent pair again and again (Sennrich et al. 2016, "Neural Machine
Translation of Rare Words with Subword Units") leaves pieces that only led to longer ones. The
tokenizer cuts words greedily and never takes many of them. So more pieces are merged than
wanted, all words are cut as the tokenizer will cut them, and the pieces whose loss costs the
fewest tokens go.
"""

import collections
import heapq

from bert_tf.progress import Progress
from bert_tf.text import characters
from bert_tf.text.wordpiece import cut_into_wordpieces

MAX_TOKEN_CHARS = 64  # 256 bytes of UTF-8 at the most, the limit of the graph tokenizer

# Measured on 20 MB of English, for 8,000 and for 30,522 tokens: more gains nothing.
_MERGED_PER_KEPT = 1.5
_EXCESS_AFTER_ROUND = (0.4, 0.1, 0.0)


def choose_characters(counts, coverage):
    """Chooses the characters that get tokens, the most frequent ones.

    Args:
      counts: dict from word to count.
      coverage: float in (0, 1], share of the text's characters that they make up.

    Returns:
      (chosen, left_out): lists of str in the order of their code points. Half of a surrogate
      pair is left out always, for it cannot be written.
    """
    frequencies = collections.Counter()
    for word, count in counts.items():
        for char in word:
            frequencies[char] += count
    wanted = coverage * sum(frequencies.values())
    chosen, covered = [], 0
    for char, frequency in sorted(frequencies.items(), key=lambda item: (-item[1], item[0])):
        if covered < wanted and not "\ud800" <= char <= "\udfff":
            chosen.append(char)
            covered += frequency
    return sorted(chosen), sorted(frequencies.keys() - set(chosen))


def alphabet(chars):
    """Returns the tokens that spell every word of these characters.

    Each character can start a word; each can also go on with one, but for punctuation and CJK
    characters, which are words of their own.
    """
    inside = [c for c in chars if not (characters.is_punctuation(c) or characters.is_cjk(c))]
    return [*chars, *(f"##{char}" for char in inside)]


def learn(counts, spelling, size, min_frequency):
    """Learns wordpieces.

    The result depends on the counts alone: what is equal by number is ordered by text.

    Args:
      counts: dict from word to count.
      spelling: list of str, `alphabet` of characters; other words do not count.
      size: int, tokens wanted, at least as many as `spelling` has.
      min_frequency: int, how often the parts of a merged token must stand side by side.

    Returns:
      list of str: `spelling`, then the others from the most to the least used. Shorter than
      `size` if the words give no more.
    """
    chars = {token for token in spelling if len(token) == 1}
    words = sorted((word, count) for word, count in counts.items() if chars.issuperset(word))
    tokens = merge(words, spelling, int(size * _MERGED_PER_KEPT), min_frequency)
    return _without_least_needed(tokens, words, spelling, size)


def merge(words, spelling, size, min_frequency):
    """Merges the most frequent pair of neighbours until there are `size` tokens or no pair.

    Args:
      words: list of (str, count), of characters in `spelling`.
      spelling: list of str.
      size: int.
      min_frequency: int, count below which a pair is not merged.

    Returns:
      list of str: `spelling`, then what was merged, oldest first. Of equally frequent pairs,
      the one that sorts first by the text of its two tokens was merged first.
    """
    merger = _Merger(words, spelling)
    merger.merge(size, min_frequency)
    return merger.tokens


class _Merger:
    """Words as sequences of pieces, and the pairs of neighbours in them.

    Attributes:
      tokens: list of str, the spelling and what was merged, oldest first.
    """

    def __init__(self, words, spelling):
        self.tokens = list(spelling)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        self._pieces = [self._spell(word) for word, _ in words]
        self._counts = [count for _, count in words]
        self._pair_counts = collections.Counter()
        # Words that have or had the pair; each is looked at again when it is merged.
        self._words_of_pair = collections.defaultdict(list)
        for index, (pieces, count) in enumerate(zip(self._pieces, self._counts, strict=True)):
            for pair in zip(pieces, pieces[1:], strict=False):
                self._pair_counts[pair] += count
                self._words_of_pair[pair].append(index)
        self._queue = [self._entry(pair) for pair in self._pair_counts]
        heapq.heapify(self._queue)

    def _spell(self, word):
        return [self._ids[word[0]], *(self._ids[f"##{char}"] for char in word[1:])]

    def _entry(self, pair):
        """Sorts by count, then by text; the count may be out of date when its turn comes."""
        first, second = pair
        return -self._pair_counts[pair], self.tokens[first], self.tokens[second], pair

    def merge(self, size, min_frequency):
        progress = Progress("Merging pieces", size - len(self.tokens), "pieces")
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
        progress.close()

    def _id_of(self, token):
        """Two pairs may give the same token, such as a + ##bc and ab + ##c."""
        if token not in self._ids:
            self._ids[token] = len(self.tokens)
            self.tokens.append(token)
        return self._ids[token]

    def _merge_pair(self, pair, merged_id):
        grown = set()
        for index in self._words_of_pair.pop(pair):
            pieces = self._pieces[index]
            starts = _starts(pieces, pair)
            for old, new in _changed_pairs(pieces, pair, merged_id, starts):
                self._pair_counts[old] -= self._counts[index]
                self._pair_counts[new] += self._counts[index]
                self._words_of_pair[new].append(index)
                grown.add(new)
            for start in reversed(starts):
                pieces[start : start + 2] = [merged_id]
        del self._pair_counts[pair]
        for new in grown:
            heapq.heappush(self._queue, self._entry(new))


def _starts(pieces, pair):
    """Places of a pair from left to right, none overlapping."""
    first, second = pair
    starts, at, last = [], 0, len(pieces) - 1
    while at < last:
        if pieces[at] == first and pieces[at + 1] == second:
            starts.append(at)
            at += 1
        at += 1
    return starts


def _changed_pairs(pieces, pair, merged_id, starts):
    """Yields (old, new) for each pair of neighbours of which one or both get merged.

    The merged pair itself is not among the old ones, unless it overlaps: it has to go anyway.
    """
    first, second = pair
    end = None
    for start in starts:
        if end is not None and end < start and end < len(pieces):
            yield (second, pieces[end]), (merged_id, pieces[end])
        if start:
            before = pieces[start - 1]
            yield (before, first), (merged_id if end == start else before, merged_id)
        end = start + 2
    if end is not None and end < len(pieces):
        yield (second, pieces[end]), (merged_id, pieces[end])


def _without_least_needed(tokens, words, spelling, size):
    """Drops tokens round by round, counting anew which ones greedy cutting takes.

    The loss of a token costs its uses times the pieces that it would be cut into, less one.
    Equal losses: the token that was merged last goes first.
    """
    age = {token: index for index, token in enumerate(tokens)}
    kept = {token: token for token in tokens}
    excess = max(0, len(tokens) - size)
    for share in _EXCESS_AFTER_ROUND:
        uses = _uses(kept, words)
        costs = [
            (uses[token] * (_num_pieces_without(token, kept) - 1), -age[token])
            for token in tokens[len(spelling) :]
            if token in kept
        ]
        num_dropped = max(0, len(kept) - size) - int(share * excess)
        for _, negative_age in heapq.nsmallest(num_dropped, costs):
            del kept[tokens[-negative_age]]
    uses = _uses(kept, words)
    learned = sorted(kept.keys() - set(spelling), key=lambda token: (-uses[token], token))
    return [*spelling, *learned]


def _uses(kept, words):
    """How often each token is taken when the words are cut greedily."""
    uses = collections.Counter()
    for word, count in words:
        for piece in cut_into_wordpieces(word, kept, MAX_TOKEN_CHARS + len("##")):
            uses[piece] += count
    return uses


def _num_pieces_without(token, kept):
    del kept[token]
    pieces = cut_into_wordpieces(token, kept, MAX_TOKEN_CHARS + len("##"))
    kept[token] = token
    return len(pieces)
