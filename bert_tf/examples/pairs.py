"""Documents to pairs of texts: next sentence prediction and sentence order.

Next sentence (paper section 3.1, task 2): half of the pairs are a text and the one that follows
it; in the others the second text comes from another document. Sentence order (ALBERT, arXiv
1909.11942, section 3.1): half of the pairs are swapped. What a pair looks like must not give
its label away, so

- the label is one fair toss, independent of the first text and of the lengths drawn;
- a random second text is as long as the true one would have been, as near as ends of sentences
  allow, fills the pair if that would have, and like a true one never starts with the first
  sentence of a document;
- a document is used if it has two sentences or more. No pair is forced to be random.

"Sentence" is a line of the input, or a part of it where the line is longer than half a pair.
"""

from bisect import bisect_left
from typing import NamedTuple

from bert_tf.examples.packing import truncated_lengths

_MIN_TARGET_LENGTH = 2  # released code
_MAX_DRAWS, _ACCURACY = 10, 10


class Pair(NamedTuple):
    """Two texts of a pool, as places in its ids.

    Attributes:
      start_a, end_a, start_b, end_b: int; neither text is empty.
      label: int; 1: the second text is a random one, or the two are swapped.
    """

    start_a: int
    end_a: int
    start_b: int
    end_b: int
    label: int


def pairs(pool, documents, rng, *, room, short_seq_prob, swap=False):
    """Yields the pairs of some documents, in one pass over each.

    Sentences are taken until a length is reached that is drawn for every pair: `room`, or with
    `short_seq_prob` anything from 2 to `room` (paper appendix A.2 and released code). As in the
    release that is a goal, reached at the end of a sentence; `room` is the limit. They are
    split into two texts between two sentences. If the second text is replaced by a random one,
    the next pair starts with what was replaced. A sentence left alone at the end takes the one
    before along; left by a random pair, it is dropped: paired again it would repeat that pair.

    Args:
      pool: `pool.Pool`, prepared for random texts unless `swap`.
      documents: range of documents of the pool, each of two sentences or more.
      rng: `random.Random`.
      room: int, tokens of a pair without the special ones.
      short_seq_prob: float in [0, 1].
      swap: bool; a label of 1 stands for swapped texts, not for a random second one.

    Yields:
      `Pair`, texts cut so that both fit into `room`.
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


def _random_text(pool, document, length, at_least, rng):
    """Draws text of about `length` tokens from another document.

    Up to ten are drawn, until the text from there is within 10 % of `length`; else it is the
    nearest of them. One of fewer tokens than `at_least` counts as a bad one.

    Returns:
      (start, end): ints, places in the ids of the pool.
    """
    bounds = pool.bounds
    least_error, text = None, None
    for _ in range(_MAX_DRAWS):
        sentence, end_of_document = pool.random_start(document, rng)
        start = bounds[sentence]
        end = bounds[_nearest_end(bounds, sentence, end_of_document, start + length)]
        found = end - start
        error = abs(found - length) if found >= at_least else length
        if text is None or error < least_error:
            least_error, text = error, (start, end)
        if _ACCURACY * error <= length:
            break
    return text


def _nearest_end(bounds, sentence, end_of_document, wanted):
    """The end behind `sentence`, in its document, that is nearest to the place `wanted`."""
    end = bisect_left(bounds, wanted, sentence + 1, end_of_document)
    if end > sentence + 1 and wanted - bounds[end - 1] < bounds[end] - wanted:
        return end - 1
    return end


def _shortened(start, end, keep, rng, goes_on):
    """`keep` tokens of a text; what goes is split at random between front and back.

    Each token that goes does so in front with probability 1/2, as in the release. The cut in
    front then moves back to the start of a word.
    """
    excess = end - start - keep
    front = rng.getrandbits(excess).bit_count() if excess else 0
    while front and goes_on[start + front]:
        front -= 1
    return start + front, start + front + keep
