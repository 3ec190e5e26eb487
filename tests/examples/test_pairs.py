"""Next sentence pairs: statistics, provenance of every text, lengths, cuts.

In the documents made here an id is its document's number times `STRIDE` plus its place, so
that every id tells where it comes from.
"""

import collections
import math
import random

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.examples import pairs

STRIDE = 100_000
NO_CONTINUATIONS = bytes(STRIDE * 60)


def make_document(number, lengths, room=61):
    """A document with sentences of those lengths."""
    place, sentences = number * STRIDE, []
    for length in lengths:
        sentences.append(list(range(place, place + length)))
        place += length
    return pairs.document(number, sentences, 0, room, NO_CONTINUATIONS)


def random_pool(seed, num_documents, num_sentences, sentence_lengths=(1, 29)):
    rng = random.Random(seed)
    return pairs.Pool(
        [
            make_document(
                number,
                [rng.randint(*sentence_lengths) for _ in range(rng.randint(*num_sentences))],
            )
            for number in range(num_documents)
        ]
    )


def all_pairs(pool, num_passes=1, room=61, short_seq_prob=0.1, is_continuation=NO_CONTINUATIONS):
    """(document number, pair) of every pair of so many passes."""
    return [
        (document.number, pair)
        for number_of_pass in range(num_passes)
        for index, document in enumerate(pool.documents)
        for pair in pairs.pairs(
            pool,
            index,
            random.Random(f"{number_of_pass} {index}"),
            room=room,
            short_seq_prob=short_seq_prob,
            is_continuation=is_continuation,
        )
    ]


def within(count, total, probability, deviations=4):
    """Whether a binomial count is as near to its mean as chance allows."""
    deviation = math.sqrt(total * probability * (1 - probability))
    return abs(count - total * probability) < deviations * deviation


@pytest.mark.parametrize("num_sentences", [(2, 2), (2, 5), (30, 60)])
def test_half_of_the_pairs_are_random(num_sentences):
    made = all_pairs(random_pool(1, 40, num_sentences), num_passes=40)
    assert len(made) > 1500
    assert within(sum(pair.is_random_next for _, pair in made), len(made), 0.5)


def test_a_random_text_is_never_from_the_same_document_and_a_true_one_follows():
    for number, pair in all_pairs(random_pool(2, 3, (2, 40)), num_passes=30):
        assert {word_id // STRIDE for word_id in pair.ids_a} == {number}
        (number_b,) = {word_id // STRIDE for word_id in pair.ids_b}
        if pair.is_random_next:
            assert number_b != number
        else:
            assert number_b == number
            assert pair.ids_b[0] > pair.ids_a[-1]


def test_whole_texts_touch():
    pool = random_pool(3, 5, (9, 9), sentence_lengths=(1, 5))
    made = [pair for _, pair in all_pairs(pool, room=200) if not pair.is_random_next]
    assert made
    assert all(pair.ids_b[0] == pair.ids_a[-1] + 1 for pair in made)


def test_texts_are_contiguous_and_fit():
    for _, pair in all_pairs(random_pool(4, 7, (2, 40)), num_passes=5):
        for text in (pair.ids_a, pair.ids_b):
            assert len(text) >= 1
            assert text == list(range(text[0], text[0] + len(text)))
        assert len(pair.ids_a) + len(pair.ids_b) <= 61


def test_no_second_text_holds_the_first_sentence_of_a_document():
    pool = pairs.Pool([make_document(number, [7] * 5) for number in range(5)])
    for _, pair in all_pairs(pool, num_passes=20):
        assert pair.ids_b[0] % STRIDE >= 7


def test_every_sentence_is_used():
    pool = random_pool(5, 4, (2, 30))
    seen = collections.Counter()
    for _, pair in all_pairs(pool, num_passes=12, room=200):
        seen.update(pair.ids_a if pair.is_random_next else pair.ids_a + pair.ids_b)
    assert seen.keys() == {word_id for document in pool.documents for word_id in document.ids}


def test_long_documents_are_drawn_more_often_than_short_ones():
    """Uniform over sentences: 2 startable sentences against 38."""
    lengths = [5] * 3, [5] * 3, [5] * 39
    pool = pairs.Pool([make_document(number, each) for number, each in enumerate(lengths)])
    drawn = collections.Counter(
        pool.random_text(0, 5, 0, random.Random(seed))[0] // STRIDE for seed in range(2000)
    )
    assert drawn[0] == 0
    assert within(drawn[1], 2000, 2 / 40)


@pytest.mark.parametrize(("num_sentences", "num_passes"), [((2, 4), 200), ((20, 40), 15)])
def test_lengths_do_not_tell_the_label(num_sentences, num_passes):
    """No threshold on a length may guess the label much better than a coin."""
    made = [pair for _, pair in all_pairs(random_pool(6, 60, num_sentences), num_passes)]
    is_random = np.array([pair.is_random_next for pair in made])
    lengths_a, lengths_b = np.array([(len(pair.ids_a), len(pair.ids_b)) for pair in made]).T
    for lengths in (lengths_a, lengths_b, lengths_a + lengths_b):
        guesses = lengths[None, :] <= np.arange(1, 61)[:, None]
        hits = (guesses == is_random).mean(axis=1)
        assert max(hits.max(), 1 - hits.min()) < 0.53


def test_the_length_is_drawn_for_every_pair():
    """In one pass over one document about a tenth of the pairs is short on purpose."""
    pool = pairs.Pool([make_document(number, [1] * 40_000) for number in range(2)])
    lengths = [
        len(pair.ids_a) + len(pair.ids_b) for _, pair in all_pairs(pool) if not pair.is_random_next
    ][:-1]
    assert len(lengths) > 500
    # 59 of the 60 lengths from 2 to 61 are below 61.
    assert within(sum(length < 61 for length in lengths), len(lengths), 0.1 * 59 / 60)
    assert min(lengths) < 15
    assert len({length for length in lengths}) > 20


@pytest.mark.parametrize(("short_seq_prob", "shortest"), [(0.0, 61), (1.0, 2)])
def test_short_seq_prob_at_its_ends(short_seq_prob, shortest):
    pool = pairs.Pool([make_document(number, [1] * 5000) for number in range(2)])
    lengths = [
        len(pair.ids_a) + len(pair.ids_b)
        for number, pair in all_pairs(pool, short_seq_prob=short_seq_prob)
        if number == 0 and not pair.is_random_next
    ][:-1]
    assert min(lengths) == shortest


def test_a_cut_in_front_starts_a_word():
    """Words of three pieces; ids 1 and 2 of each go on with it."""
    is_continuation = bytes(place % 3 != 0 for place in range(STRIDE * 2))
    room = 31
    documents = [
        pairs.document(
            number,
            [list(range(number * 99_999 + start, number * 99_999 + start + 27))
             for start in range(0, 2700, 27)],
            0,
            room,
            is_continuation,
        )
        for number in range(2)
    ]  # fmt: skip
    made = all_pairs(pairs.Pool(documents), 3, room, is_continuation=is_continuation)
    assert len(made) > 300
    assert not any(is_continuation[pair.ids_a[0]] for _, pair in made)
    assert not any(is_continuation[pair.ids_b[0]] for _, pair in made)
    starts = {pair.ids_a[0] % 27 for _, pair in made}
    assert len(starts) > 3  # some were cut in front


def test_truncation_takes_each_id_from_the_front_with_probability_one_half():
    text = make_document(0, [40], room=100).ids
    fronts = [
        pairs._shortened(text, 30, random.Random(seed), NO_CONTINUATIONS)[0] for seed in range(3000)
    ]
    assert within(sum(fronts), 30_000, 0.5)
    assert np.var(fronts) == pytest.approx(2.5, rel=0.1)  # binomial, 10 ids: 10 / 4


@pytest.mark.parametrize(
    ("length", "longest", "expected"),
    [(7, 7, [7]), (8, 7, [4, 8]), (15, 7, [5, 10, 15]), (3, 1, [1, 2, 3])],
)
def test_long_sentences_are_cut_into_equal_parts(length, longest, expected):
    document = pairs.document(0, [list(range(length))], 0, 2 * longest, NO_CONTINUATIONS)
    assert list(document.bounds) == [0, *expected]


def test_sentences_are_cut_between_words_where_that_is_possible():
    starts_a_word = {0, 3, 4, 11}
    is_continuation = bytes(place not in starts_a_word for place in range(13))
    document = pairs.document(0, [list(range(13))], 0, 10, is_continuation)
    assert list(document.bounds) == [0, 4, 9, 13]  # no word starts from 5 to 9


def test_any_two_neighbouring_sentences_fit():
    document = make_document(0, [1, 500, 2, 61, 31, 30], room=61)
    assert max(np.diff(document.bounds)) <= 30
    assert list(document.ids) == list(range(625))


def test_empty_sentences_are_dropped():
    document = pairs.document(3, [[], [1, 2], [], [3]], 17, 61, NO_CONTINUATIONS)
    assert (document.number, document.num_bytes, document.num_sentences) == (3, 17, 2)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([5, 5, 5], [[5, 5, 5]]),
        ([50, 50, 5, 50, 60, 70], [[50, 50], [5, 50, 60, 70]]),
        ([200, 5, 5, 100, 7, 100, 3], [[200, 5], [5, 100], [7, 100, 3]]),  # two at the least
    ],
)
def test_pools_are_bounded_and_the_last_takes_the_rest(sizes, expected):
    documents = [make_document(number, [size // 2, size - size // 2], 999) for number, size
                 in enumerate(sizes)]  # fmt: skip
    found = [
        [len(document.ids) for document in pool.documents]
        for pool in pairs.pools(documents, num_tokens=100)
    ]
    assert found == expected


@pytest.mark.parametrize("num_documents", [0, 1])
def test_one_document_is_not_enough(num_documents):
    documents = [make_document(number, [5, 7]) for number in range(num_documents)]
    with pytest.raises(InputError, match="another document"):
        list(pairs.pools(documents, num_tokens=10))


def test_pools_read_no_more_than_two_pools_ahead():
    taken = []

    def stream():
        for number in range(20):
            taken.append(number)
            yield make_document(number, [25, 25])

    next(pairs.pools(stream(), num_tokens=100))
    assert len(taken) == 4
