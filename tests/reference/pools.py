"""Pools of documents in which every id tells where it comes from: document * STRIDE + place."""

import random

import numpy as np

from bert_tf.examples.pool import Documents, Pool

STRIDE = 100_000


def part(lengths, first=0, group_starts=None):
    """`Documents` of a list of documents, each a list of the lengths of its sentences.

    Args:
      lengths: list of lists of int.
      first: int, number of the first document.
      group_starts: bool [tokens] or None.
    """
    ids, sentence_ends, document_ends = [], [], []
    for number, document in enumerate(lengths, first):
        place = number * STRIDE
        for length in document:
            ids += range(place, place + length)
            place += length
            sentence_ends.append(len(ids))
        document_ends.append(len(sentence_ends))
    return Documents(
        np.array(ids, np.int32),
        np.array(sentence_ends, np.int64),
        np.array(document_ends, np.int64),
        group_starts,
    )


def pool_of(*parts, continuations=None):
    """A `Pool` of parts given as lists of lists of lengths, ready for random texts if it can be."""
    firsts = np.cumsum([0, *(len(each) for each in parts)])
    if continuations is None:
        continuations = np.zeros(STRIDE * firsts[-1], bool)
    pool = Pool([part(each, first) for each, first in zip(parts, firsts, strict=False)],
                continuations)  # fmt: skip
    if firsts[-1] > 1:
        pool.prepare_random_texts()
    return pool


def random_lengths(seed, num_documents, num_sentences, sentence_lengths=(1, 29)):
    """Lists of lengths of random documents; ranges are (least, greatest)."""
    rng = random.Random(seed)
    return [
        [rng.randint(*sentence_lengths) for _ in range(rng.randint(*num_sentences))]
        for _ in range(num_documents)
    ]
