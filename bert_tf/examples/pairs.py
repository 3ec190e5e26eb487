"""Documents to pairs of texts: next sentence prediction and sentence order.

Next sentence (paper section 3.1, task 2): half of the pairs are a text and the one that follows
it; in the others the second text comes from another document. Sentence order (ALBERT, arXiv
1909.11942, section 3.1): half of the pairs are swapped. The form of a pair must not give its label
away, so

- the label is one fair toss, independent of the first text and of the lengths drawn;
- a random second text is about as long as the true one, as far as the ends of sentences allow; it
  fills the pair where the true one would; like that it never starts with the first sentence of a
  document;
- a document is used if it has two sentences or more. No pair is forced to be random.

"Sentence" is a line of the input, or a part of it where the line is longer than half a pair.
"""

import math
import random
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bert_tf.examples.packing import truncated_lengths
from bert_tf.examples.pool import Pool

_MIN_TARGET_LENGTH = 2  # released code
_MAX_DRAWS, _ACCURACY = 10, 10


class Pair(NamedTuple):
    """Two texts, given by their starts and ends in the ids of a pool; neither is empty.

    Attributes:
      label: 1: the second text is a random one, or the two are swapped.
    """

    start_a: int
    end_a: int
    start_b: int
    end_b: int
    label: int


def pairs(
    pool: Pool,
    documents: Iterable[int],
    rng: random.Random,
    *,
    room: int,
    short_seq_prob: float,
    swap: bool = False,
) -> Iterator[Pair]:
    """Yields the pairs of some documents, in one pass over each.

    Sentences are taken until a length is reached that is drawn for every pair: `room`, or with
    `short_seq_prob` anything from 2 to `room` (paper appendix A.2 and released code). As in the
    release that is a goal, reached at the end of a sentence; `room` is the limit. They are
    split into two texts between two sentences. If the second text is replaced by a random one,
    the next pair starts with what was replaced. A single sentence left at the end is paired with
    the one before it; left by a random pair, it is dropped: paired again it would repeat that pair.
    Texts are cut so that both fit into `room`.

    Args:
      pool: prepared for random texts unless `swap`.
      documents: of the pool, each of two sentences or more.
      rng: source of all draws.
      room: tokens of a pair without the special ones.
      short_seq_prob: in [0, 1].
      swap: whether label 1 means swapped texts, not a random second one.
    """
    bounds, draw = pool.bounds, rng.random
    for document in documents:
        start, last = pool.first_sentences[document], pool.first_sentences[document + 1]
        while True:
            start = min(start, last - 2)
            target = room
            if draw() < short_seq_prob:
                target = _MIN_TARGET_LENGTH + int(draw() * (room - _MIN_TARGET_LENGTH + 1))
            # The sentences are below `last`, so their bounds go up to that of `last` itself.
            end = bisect_left(bounds, bounds[start] + target, start + 2, last)
            middle = start + 1 + int(draw() * (end - start - 1))
            label = draw() < 0.5
            start_a, end_a, end_b = bounds[start], bounds[middle], bounds[end]
            start_b = end_a
            if label and swap:
                # Before they are cut, for of two long texts the second one is cut more.
                start_a, end_a, start_b, end_b = start_b, end_b, start_a, end_a
            elif label:
                length, left = end_b - start_b, room - (end_a - start_a)
                start_b, end_b = _random_text(
                    pool, document, length, left if length >= left else 0, rng
                )
            if end_a - start_a + end_b - start_b > room:
                keep_a, keep_b = truncated_lengths(end_a - start_a, end_b - start_b, room)
                start_a, end_a = _shortened(start_a, end_a, keep_a, rng, pool.goes_on)
                start_b, end_b = _shortened(start_b, end_b, keep_b, rng, pool.goes_on)
            yield Pair(start_a, end_a, start_b, end_b, int(label))
            is_replaced = label and not swap
            start = middle if is_replaced else end
            if start == last or (is_replaced and start == last - 1):
                break


def _random_text(
    pool: Pool, document: int, length: int, at_least: int, rng: random.Random
) -> tuple[int, int]:
    """Draws text of about `length` tokens from another document.

    Up to ten are drawn, until one is within 10 % of `length`; else the nearest of them is taken.
    One of fewer tokens than `at_least` counts as a bad one. It is given by start and end.
    """
    bounds = pool.bounds
    least_error, text = math.inf, (0, 0)
    for _ in range(_MAX_DRAWS):
        sentence, end_of_document = pool.random_start(document, rng)
        start = bounds[sentence]
        end = bounds[_nearest_end(bounds, sentence, end_of_document, start + length)]
        size = end - start
        error = abs(size - length) if size >= at_least else length
        if error < least_error:
            least_error, text = error, (start, end)
        if _ACCURACY * error <= length:
            break
    return text


def _nearest_end(bounds: list[int], sentence: int, end_of_document: int, wanted: int) -> int:
    """The end of a sentence from `sentence` on, in its document, that is nearest to `wanted`."""
    end = bisect_left(bounds, wanted, sentence + 1, end_of_document)
    if end > sentence + 1 and wanted - bounds[end - 1] < bounds[end] - wanted:
        return end - 1
    return end


def _shortened(
    start: int, end: int, keep: int, rng: random.Random, goes_on: bytes
) -> tuple[int, int]:
    """`keep` tokens of a text; what goes is split at random between front and back.

    Each token that goes does so in front with probability 1/2, as in the release. The cut in
    front then moves back to the start of a word.
    """
    excess = end - start - keep
    front = rng.getrandbits(excess).bit_count() if excess else 0
    while front and goes_on[start + front]:
        front -= 1
    return start + front, start + front + keep
