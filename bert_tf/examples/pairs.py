"""Documents to pairs of texts for next sentence prediction (paper section 3.1, task 2).

Half of the pairs are a text and the one that follows it; in the others the second text comes
from another document. What a pair looks like must not give its label away, so

- the label is one fair toss, independent of the first text and of the lengths drawn;
- a random second text is as long as the true one would have been, as near as ends of sentences
  allow, fills the pair if that would have, and like a true one never starts with the first
  sentence of a document;
- a document is used if it has two sentences or more. No pair is forced to be random.

"Sentence" is a line of the input, or a part of it where the line is longer than half a pair.
"""

import itertools
from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from bert_tf.errors import InputError
from bert_tf.examples.packing import truncated_lengths

NUM_SPECIAL_TOKENS = 3  # [CLS] a [SEP] b [SEP]
_MIN_TARGET_LENGTH = 2  # released code
_MAX_DRAWS, _ACCURACY = 10, 10


class Document(NamedTuple):
    """One document as ids, in 4 bytes a token.

    Attributes:
      number: int, its place in the input; random draws are seeded by it.
      ids: int array, all sentences in a row.
      bounds: int array, where each sentence starts in `ids`, and their end.
      num_bytes: int, size of the text it was made from.
    """

    number: int
    ids: array
    bounds: array
    num_bytes: int

    @property
    def num_sentences(self):
        """Sentences, parts of cut ones counted each."""
        return len(self.bounds) - 1


class Pair(NamedTuple):
    """Two lists of int, neither empty, and whether the second is from another document."""

    ids_a: list
    ids_b: list
    is_random_next: bool


def document(number, sentences, num_bytes, room, is_continuation):
    """Makes a `Document`; sentences longer than half of `room` are cut at starts of words.

    So two neighbouring sentences always fit into a pair.

    Args:
      number: int, place in the input.
      sentences: list of lists of int; empty ones are dropped.
      num_bytes: int, size of the text.
      room: int, tokens of a pair without the special ones.
      is_continuation: bytes [V], 1 for tokens that go on with a word.
    """
    ids, bounds = array("i"), array("i", [0])
    for sentence in filter(None, sentences):
        bounds.extend(len(ids) + end for end in _cuts(sentence, room // 2, is_continuation))
        ids.extend(sentence)
    return Document(number, ids, bounds, num_bytes)


def _cuts(sentence, longest, is_continuation):
    """Ends of the parts of a sentence: near-equal, none above `longest`, at starts of words.

    A word longer than `longest` is cut inside.
    """
    ends, start = [], 0
    while (left := len(sentence) - start) > longest:
        num_parts = -(-left // longest)
        end = whole = start + -(-left // num_parts)
        while end > start and is_continuation[sentence[end]]:
            end -= 1
        start = end if end > start else whole
        ends.append(start)
    return [*ends, len(sentence)]


class Pool:
    """Documents in memory together: each is the others' source of random second texts.

    Args:
      documents: list of `Document`, two or more, each of two sentences or more.

    Raises:
      InputError: fewer than two documents.
    """

    def __init__(self, documents):
        if len(documents) < 2:
            raise InputError(
                f"The input has {len(documents)} document(s) of two sentences or more; at least "
                "two were wanted, because a random next sentence must come from another "
                "document. Put one sentence on a line and a blank line between documents."
            )
        self.documents = documents
        # Sentences that may start a second text: all but the first of each document.
        counts = (document.num_sentences - 1 for document in documents)
        self._starts = list(itertools.accumulate(counts, initial=0))

    def random_text(self, index, length, at_least, rng):
        """Draws text of about `length` tokens from a document other than `index`.

        Every sentence of the other documents is as likely to be the start, so long documents are
        drawn more often than short ones. Up to ten are drawn, until the text from there is
        within 10 % of `length`; else it is the nearest of them.

        Args:
          index: int, place of the document not to draw from.
          length: int, wanted number of tokens.
          at_least: int, number of tokens below which a text is a bad one.
          rng: `random.Random`.

        Returns:
          int array.
        """
        least_error, text = None, None
        for _ in range(_MAX_DRAWS):
            _, ids, bounds, _, start = self._random_start(index, rng)
            end = _nearest_end(bounds, start, length)
            found = bounds[end] - bounds[start]
            error = abs(found - length) if found >= at_least else length
            if text is None or error < least_error:
                least_error, text = error, (ids, bounds[start], bounds[end])
            if _ACCURACY * error <= length:
                break
        ids, start, end = text
        return ids[start:end]

    def _random_start(self, index, rng):
        """Draws a sentence of another document: the document's fields and the sentence's number."""
        num_here = self._starts[index + 1] - self._starts[index]
        place = int(rng.random() * (self._starts[-1] - num_here))
        if place >= self._starts[index]:
            place += num_here
        other = bisect_right(self._starts, place) - 1
        return *self.documents[other], place - self._starts[other] + 1


def _nearest_end(bounds, start, length):
    """The end after `start` that makes the text as near to `length` as can be."""
    wanted = bounds[start] + length
    end = bisect_left(bounds, wanted, start + 1)
    if end == len(bounds):
        return end - 1
    if end > start + 1 and wanted - bounds[end - 1] < bounds[end] - wanted:
        return end - 1
    return end


def pools(documents, num_tokens):
    """Groups a stream of documents into `Pool`s, so that memory is bounded.

    Args:
      documents: iterable of `Document`, each of two sentences or more.
      num_tokens: int, a pool is full with so many and two documents. The last pool takes the
        rest of the stream in, so that it has two documents as well.

    Yields:
      `Pool`.

    Raises:
      InputError: fewer than two documents in all.
    """
    full, filling, size = [], [], 0
    for each in documents:
        filling.append(each)
        size += len(each.ids)
        if size >= num_tokens and len(filling) >= 2:
            if full:
                yield Pool(full)
            full, filling, size = filling, [], 0
    yield Pool(full + filling)


def pairs(pool, index, rng, *, room, short_seq_prob, is_continuation):
    """Yields the pairs of one document, in one pass over it.

    Sentences are taken until a length is reached that is drawn for every pair: `room`, or with
    `short_seq_prob` anything from 2 to `room` (paper appendix A.2 and released code). As in the
    release that is a goal, reached at the end of a sentence; `room` is the limit. They are
    split into two texts between two sentences. If the second text is replaced by a random one,
    the next pair starts with what was replaced. A sentence left alone at the end takes the one
    before along; left by a random pair, it is dropped: paired again it would repeat that pair.

    Args:
      pool: `Pool`.
      index: int, place of the document in the pool.
      rng: `random.Random`.
      room: int, tokens of a pair without the special ones.
      short_seq_prob: float in [0, 1].
      is_continuation: bytes [V], 1 for tokens that go on with a word.

    Yields:
      `Pair`, texts cut so that both fit into `room`.
    """
    _, ids, bounds, _ = pool.documents[index]
    last, start = len(bounds) - 1, 0
    while True:
        start = min(start, last - 2)
        target = _target_length(room, short_seq_prob, rng)
        end = bisect_left(bounds, bounds[start] + target, start + 1)
        end = min(last, max(end, start + 2))
        middle = start + 1 + int(rng.random() * (end - start - 1))
        text_a, text_b = ids[bounds[start] : bounds[middle]], ids[bounds[middle] : bounds[end]]
        is_random_next = rng.random() < 0.5
        if is_random_next:
            left = room - len(text_a)
            at_least = left if len(text_b) >= left else 0
            text_b = pool.random_text(index, len(text_b), at_least, rng)
        keep_a, keep_b = truncated_lengths(len(text_a), len(text_b), room)
        yield Pair(
            _shortened(text_a, keep_a, rng, is_continuation),
            _shortened(text_b, keep_b, rng, is_continuation),
            is_random_next,
        )
        start = middle if is_random_next else end
        if start == last or (is_random_next and start == last - 1):
            return


def _target_length(room, short_seq_prob, rng):
    if rng.random() < short_seq_prob:
        return _MIN_TARGET_LENGTH + int(rng.random() * (room - _MIN_TARGET_LENGTH + 1))
    return room


def _shortened(text, keep, rng, is_continuation):
    """`keep` ids of the text as a list; what goes is split at random between front and back.

    Each id that goes does so in front with probability 1/2, as in the release. The cut in front
    then moves back to the start of a word.
    """
    excess = len(text) - keep
    front = rng.getrandbits(excess).bit_count() if excess else 0
    while front and is_continuation[text[front]]:
        front -= 1
    return text[front : front + keep].tolist()
