"""Pairs of texts: statistics, provenance of every text, lengths, cuts.

In the pools made here every id tells where it comes from, see `tests.reference.pools`.
"""

import collections
import math
import random
from typing import NamedTuple

import numpy as np
import pytest

from bert_tf.examples import pairs
from tests.reference.pools import STRIDE, pool_of, random_lengths


class Texts(NamedTuple):
    """The texts of a pair as lists of ids, and the document it was drawn for."""

    document: int
    ids_a: list
    ids_b: list
    label: int


def all_pairs(pool, num_passes=1, room=61, short_seq_prob=0.1, swap=False, documents=None):
    """The pairs of so many passes over all documents, one by one."""
    ids = pool.ids.tolist()
    if documents is None:
        documents = range(len(pool.first_sentences) - 1)
    return [
        Texts(document, ids[pair.start_a : pair.end_a], ids[pair.start_b : pair.end_b], pair.label)
        for number_of_pass in range(num_passes)
        for document in documents
        for pair in pairs.pairs(
            pool,
            range(document, document + 1),
            random.Random(f"{number_of_pass} {document}"),
            room=room,
            short_seq_prob=short_seq_prob,
            swap=swap,
        )
    ]


def within(count, total, probability, deviations=4):
    """Whether a binomial count is as near to its mean as chance allows."""
    deviation = math.sqrt(total * probability * (1 - probability))
    return abs(count - total * probability) < deviations * deviation


def best_guess(labels, lengths):
    """How often the best threshold on a length guesses the label."""
    thresholds = np.arange(lengths.min(), lengths.max() + 1)
    hits = ((lengths <= thresholds[:, None]) == labels).mean(axis=1)
    return max(hits.max(), 1 - hits.min())


def columns(made):
    """Labels bool [n], lengths of first and second texts int [n]."""
    found = [(pair.label, len(pair.ids_a), len(pair.ids_b)) for pair in made]
    labels, lengths_a, lengths_b = np.array(found).T
    return labels == 1, lengths_a, lengths_b


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("num_sentences", [(2, 2), (2, 5), (30, 60)])
def test_half_of_the_pairs_have_label_1(num_sentences, swap):
    pool = pool_of(random_lengths(1, 40, num_sentences))
    made = all_pairs(pool, num_passes=40, swap=swap)
    assert len(made) > 1500
    assert within(sum(pair.label for pair in made), len(made), 0.5)


@pytest.mark.parametrize("swap", [False, True])
def test_texts_are_contiguous_and_fit(swap):
    pool = pool_of(random_lengths(4, 7, (2, 40)))
    for pair in all_pairs(pool, num_passes=5, swap=swap):
        for text in (pair.ids_a, pair.ids_b):
            assert len(text) >= 1
            assert text == list(range(text[0], text[0] + len(text)))
        assert len(pair.ids_a) + len(pair.ids_b) <= 61


def test_a_random_text_is_never_from_the_same_document_and_a_true_one_follows():
    for pair in all_pairs(pool_of(random_lengths(2, 3, (2, 40))), num_passes=30):
        assert {word_id // STRIDE for word_id in pair.ids_a} == {pair.document}
        (document_b,) = {word_id // STRIDE for word_id in pair.ids_b}
        if pair.label:
            assert document_b != pair.document
        else:
            assert document_b == pair.document
            assert pair.ids_b[0] > pair.ids_a[-1]


def test_swapped_texts_are_of_one_document_and_their_order_is_the_label():
    for pair in all_pairs(pool_of(random_lengths(2, 3, (2, 40))), num_passes=30, swap=True):
        found = {word_id // STRIDE for word_id in pair.ids_a + pair.ids_b}
        assert found == {pair.document}
        if pair.label:
            assert pair.ids_a[0] > pair.ids_b[-1]
        else:
            assert pair.ids_b[0] > pair.ids_a[-1]


@pytest.mark.parametrize("swap", [False, True])
def test_whole_texts_touch(swap):
    """None is cut where two pairs of the longest sentences fit."""
    pool = pool_of(random_lengths(3, 5, (9, 9), sentence_lengths=(1, 5)))
    made = [pair for pair in all_pairs(pool, room=200, swap=swap) if swap or not pair.label]
    assert made
    for pair in made:
        first, second = (pair.ids_b, pair.ids_a) if pair.label else (pair.ids_a, pair.ids_b)
        assert second[0] == first[-1] + 1


def test_no_second_text_holds_the_first_sentence_of_a_document():
    for pair in all_pairs(pool_of([[7] * 5] * 5), num_passes=20):
        assert pair.ids_b[0] % STRIDE >= 7


@pytest.mark.parametrize("swap", [False, True])
def test_every_sentence_is_used(swap):
    pool = pool_of(random_lengths(5, 4, (2, 30)))
    seen = collections.Counter()
    for pair in all_pairs(pool, num_passes=12, room=200, swap=swap):
        seen.update(pair.ids_a if pair.label and not swap else pair.ids_a + pair.ids_b)
    assert seen.keys() == set(pool.ids.tolist())


def test_swapped_pairs_use_every_sentence_once_but_for_one_left_alone():
    """No document is longer than a pair may be, so that no text is cut."""
    lengths = random_lengths(7, 53, (2, 20), sentence_lengths=(1, 5))
    pool, extra = pool_of(lengths), set()
    for document, sentences in enumerate(lengths):
        made = all_pairs(pool, room=100, short_seq_prob=1, swap=True, documents=[document])
        seen = collections.Counter(i for pair in made for i in pair.ids_a + pair.ids_b)
        assert len(seen) == sum(sentences)
        taken_along = sum(sentences[:-2]), sum(sentences[:-1])
        twice = {word_id % STRIDE for word_id, count in seen.items() if count == 2}
        assert twice in (set(), set(range(*taken_along)))
        assert max(seen.values()) <= 2
        extra.add(bool(twice))
    assert extra == {False, True}


def test_documents_are_taken_in_order_with_one_stream_of_draws():
    """One call for two documents: the pairs of the first come first."""
    pool = pool_of([[5] * 30, [5] * 40], [[5] * 30])
    made = list(pairs.pairs(pool, range(1, 3), random.Random(3), room=61, short_seq_prob=0.1))
    documents = [int(pool.ids[pair.start_a]) // STRIDE for pair in made]
    assert documents == sorted(documents)
    assert set(documents) == {1, 2}


def test_long_documents_are_drawn_more_often_than_short_ones():
    """Uniform over sentences: 2 startable sentences against 38."""
    pool = pool_of([[5] * 3, [5] * 3, [5] * 39])
    drawn = collections.Counter(
        int(pool.ids[pairs._random_text(pool, 0, 5, 0, random.Random(seed))[0]]) // STRIDE
        for seed in range(2000)
    )
    assert drawn[0] == 0
    assert within(drawn[1], 2000, 2 / 40)


def test_a_random_text_is_as_long_as_wanted_where_sentences_allow():
    """Sentences of 3 tokens, so ends are 3 apart: the nearest end is at most 1 token away."""
    pool = pool_of([[3] * 5], [[3] * 400])
    for seed in range(300):
        wanted = 10 + seed % 41
        start, end = pairs._random_text(pool, 0, wanted, 0, random.Random(seed))
        assert pool.ids[start] // STRIDE == 1
        # Ten draws that all start among the last 17 of 399 sentences are out of question.
        assert abs(end - start - wanted) <= 1


@pytest.mark.parametrize(("at_least", "num_short"), [(0, 500), (20, 1)])
def test_a_random_text_is_as_long_as_it_must_be(at_least, num_short):
    """Sentences of 19 or 21 tokens, as many of each, where 20 are wanted: both are near enough.

    If it must not be shorter, it is if all ten draws start with 19, once in 1024 times.
    """
    pool = pool_of([[3] * 5], [[1] + [19, 21] * 499 + [19]])
    spans = [pairs._random_text(pool, 0, 20, at_least, random.Random(seed)) for seed in range(1000)]
    lengths = [end - start for start, end in spans]
    assert set(lengths) <= {19, 21}
    deviation = math.sqrt(num_short)
    assert abs(lengths.count(19) - num_short) < 4 * deviation


def test_a_random_text_fills_the_pair_where_the_true_one_would_have():
    """Two sentences of 30 fill it; random texts have 28 or 32 tokens, as many of each.

    All ten draws of a pair start with 28 once in 1024 times.
    """
    pool = pool_of([[30] * 2001], [[1] + [28, 32] * 499 + [28]])
    made = all_pairs(pool, room=60, short_seq_prob=0, documents=[0])
    labels, lengths_a, lengths_b = columns(made)
    assert set(lengths_a) == {30}
    assert sum(labels) > 600
    assert sum(lengths_b[labels] < 30) < 7


@pytest.mark.parametrize(("num_sentences", "num_passes"), [((2, 4), 200), ((20, 40), 15)])
def test_lengths_do_not_tell_a_random_text(num_sentences, num_passes):
    """No threshold on a length may guess the label much better than a coin."""
    made = all_pairs(pool_of(random_lengths(6, 60, num_sentences)), num_passes)
    labels, lengths_a, lengths_b = columns(made)
    for lengths in (lengths_a, lengths_b, lengths_a + lengths_b):
        assert best_guess(labels, lengths) < 0.53


def test_lengths_do_not_tell_swapped_texts():
    """The last sentence of a pair is the one that reached the length wanted, so it is longer than
    others and the text it belongs to as well: half a token here, next to texts of 30."""
    made = all_pairs(pool_of(random_lengths(6, 60, (20, 40), (5, 13))), 30, swap=True)
    labels, lengths_a, lengths_b = columns(made)
    for lengths in (lengths_a, lengths_b, lengths_a + lengths_b, lengths_a - lengths_b):
        assert best_guess(labels, lengths) < 0.53


def test_an_odd_token_does_not_tell_swapped_texts():
    """Both texts longer than half of the pair: the first keeps one token more, swapped or not."""
    made = all_pairs(pool_of([[30] * 2] * 211), room=31, swap=True)
    assert {(len(pair.ids_a), len(pair.ids_b)) for pair in made} == {(16, 15)}
    assert within(sum(pair.label for pair in made), 211, 0.5)


def test_the_length_is_drawn_for_every_pair():
    """In one pass over one document about a tenth of the pairs is short on purpose."""
    lengths = [
        len(pair.ids_a) + len(pair.ids_b)
        for pair in all_pairs(pool_of([[1] * 40_000] * 2))
        if not pair.label
    ][:-1]
    assert len(lengths) > 500
    # 59 of the 60 lengths from 2 to 61 are below 61.
    assert within(sum(length < 61 for length in lengths), len(lengths), 0.1 * 59 / 60)
    assert min(lengths) < 15
    assert len(set(lengths)) > 20


@pytest.mark.parametrize(("short_seq_prob", "shortest"), [(0.0, 61), (1.0, 2)])
def test_short_seq_prob_at_its_ends(short_seq_prob, shortest):
    made = all_pairs(pool_of([[1] * 5000] * 2), short_seq_prob=short_seq_prob, documents=[0])
    lengths = [len(pair.ids_a) + len(pair.ids_b) for pair in made if not pair.label][:-1]
    assert min(lengths) == shortest


def test_the_split_between_the_texts_is_uniform():
    """Ten sentences of one token fill a pair; each of nine splits is as likely."""
    pool = pool_of([[1] * 20_000])
    splits = collections.Counter(
        len(pair.ids_b if pair.label else pair.ids_a)
        for pair in all_pairs(pool, room=10, short_seq_prob=0, swap=True)
    )
    assert splits.keys() == set(range(1, 10))
    assert all(within(count, 2000, 1 / 9) for count in splits.values())


@pytest.mark.parametrize("swap", [False, True])
def test_the_smallest_pair(swap):
    """Five positions leave room for one token in each text."""
    made = all_pairs(pool_of([[1] * 7, [1] * 2]), num_passes=40, room=2, swap=swap)
    assert {(len(pair.ids_a), len(pair.ids_b)) for pair in made} == {(1, 1)}


def test_a_cut_in_front_starts_a_word():
    """Words of three tokens; ids 1 and 2 of each go on with it."""
    # 100 sentences of nine words; each document starts with a word.
    goes_on = np.concatenate([np.arange(STRIDE) % 3 != 0] * 2)
    made = all_pairs(pool_of([[27] * 100] * 2, continuations=goes_on), 3, room=31)
    assert len(made) > 300
    assert not any(goes_on[pair.ids_a[0]] for pair in made)
    assert not any(goes_on[pair.ids_b[0]] for pair in made)
    starts = {pair.ids_a[0] % STRIDE % 27 for pair in made}
    assert len(starts) > 3  # some were cut in front


def test_truncation_takes_each_id_from_the_front_with_probability_one_half():
    fronts = [pairs._shortened(0, 40, 30, random.Random(seed), bytes(40)) for seed in range(3000)]
    assert all(end - start == 30 for start, end in fronts)
    starts = [start for start, _ in fronts]
    assert within(sum(starts), 30_000, 0.5)
    assert np.var(starts) == pytest.approx(2.5, rel=0.1)  # binomial, 10 ids: 10 / 4


def test_what_was_replaced_starts_the_next_pair():
    """In order of drawing: after a true pair comes what follows it, else its second text."""
    pool = pool_of([[3] * 200, [3] * 200])
    made = list(pairs.pairs(pool, range(1), random.Random(5), room=60, short_seq_prob=0))
    assert len(made) > 10
    for pair, following in zip(made, made[1:-1], strict=False):
        assert following.start_a == (pair.end_a if pair.label else pair.end_b)
