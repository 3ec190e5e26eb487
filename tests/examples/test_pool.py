"""Documents as arrays: long sentences, pools, random starts, units grouped to pools."""

import collections
import itertools
import math
import random

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.examples import pool
from bert_tf.examples.choices import EXAMPLE_TYPES
from tests.reference.pools import STRIDE, part, pool_of


def cut(lengths, longest, goes_on=()):
    """Ends and numbers of parts of sentences of those lengths; places in `goes_on` continue."""
    continued = np.isin(np.arange(sum(lengths)), list(goes_on))
    ends, parts = pool.cut_long_sentences(np.cumsum(lengths, dtype=np.int64), continued, longest)
    return ends.tolist(), parts.tolist()


@pytest.mark.parametrize(
    ("length", "longest", "expected"),
    [(7, 7, [7]), (8, 7, [4, 8]), (15, 7, [5, 10, 15]), (3, 1, [1, 2, 3]), (0, 1, [0])],
)
def test_long_sentences_are_cut_into_equal_parts(length, longest, expected):
    assert cut([length], longest) == (expected, [len(expected)])


def test_sentences_are_cut_between_words_where_that_is_possible():
    starts_a_word = {0, 3, 4, 11}
    goes_on = set(range(13)) - starts_a_word
    # No word starts from 5 to 9, so that there the cut is inside one.
    assert cut([13], 5, goes_on)[0] == [4, 9, 13]
    # The same sentence behind another one.
    assert cut([2, 13], 5, {place + 2 for place in goes_on})[0] == [2, 6, 11, 15]


def test_parts_count_for_their_sentence_and_empty_sentences_stay():
    lengths = [0, 3, 0, 11, 5, 23, 0]
    ends, parts = cut(lengths, 5)
    assert parts == [1, 1, 1, 3, 1, 5, 1]
    assert ends == [0, 3, 3, 7, 11, 14, 19, 24, 29, 34, 38, 42, 42]


def test_nothing_to_cut():
    assert cut([], 5) == ([], [])
    assert cut([5, 1, 0, 5], 5) == ([5, 6, 6, 11], [1, 1, 1, 1])


def test_no_part_is_too_long_and_none_is_empty():
    """Words of 1 to 9 tokens, some of them longer than a part may be."""
    rng = random.Random(3)
    lengths = [rng.randint(1, 97) for _ in range(53)]
    word_starts = set(itertools.accumulate(rng.randint(1, 9) for _ in range(sum(lengths))))
    bounds = {0, *itertools.accumulate(lengths)}
    goes_on = set(range(sum(lengths))) - word_starts - bounds
    for longest in (1, 2, 7, 31):
        ends, parts = cut(lengths, longest, goes_on)
        found = np.diff([0, *ends])
        assert found.min() >= 1
        assert found.max() <= longest
        assert bounds - {0} <= set(ends)
        assert sum(parts) == len(ends)
        # Each part belongs to the sentence it is counted for.
        assert [ends[n - 1] for n in itertools.accumulate(parts)] == list(np.cumsum(lengths))
        if longest > 9:
            assert not goes_on & set(ends)


def test_a_pool_counts_over_all_its_parts():
    found = pool_of([[2, 3], [5]], [[1, 1, 7]], [[4, 4]])
    assert found.bounds == [0, 2, 5, 10, 11, 12, 19, 23, 27]
    assert found.first_sentences == [0, 2, 3, 6, 8]
    assert found.first_documents == [0, 2, 3, 4]
    assert found.ids.dtype == np.int32
    starts = [0, 1, STRIDE, 2 * STRIDE, 3 * STRIDE]
    assert found.ids[[0, 1, 5, 10, 19]].tolist() == starts
    assert found.group_starts is None


def test_a_part_without_documents_takes_no_place():
    found = pool_of([[2, 3]], [], [[5, 7]], [])
    assert found.bounds == [0, 2, 5, 10, 17]
    assert found.first_sentences == [0, 2, 4]
    assert found.first_documents == [0, 1, 1, 2, 2]


def test_what_goes_on_with_a_word():
    continuations = np.isin(np.arange(STRIDE * 2), [1, 2, STRIDE + 4])
    found = pool_of([[3]], [[2, 3]], continuations=continuations)
    assert list(found.goes_on) == [0, 1, 1, 0, 0, 0, 0, 1]


def test_groups_of_the_corpus_take_the_place_of_words():
    first, second = np.array([1, 0, 1], bool), np.array([1, 0, 0, 1, 0], bool)
    parts = [part([[3]], 0, first), part([[2, 3]], 1, second)]
    found = pool.Pool(parts, np.ones(STRIDE * 2, bool))
    assert found.group_starts.tolist() == [*first, *second]
    assert list(found.goes_on) == [0, 1, 0, 0, 1, 1, 0, 1]


def test_random_starts_are_equally_likely_and_of_another_document():
    """Documents of 2, 4, 3 and 7 sentences; 1, 3, 2 and 6 of them may be drawn."""
    found = pool_of([[1] * 2, [1] * 4], [[1] * 3, [1] * 7])
    ends = {2: {1}, 6: {3, 4, 5}, 9: {7, 8}, 16: {10, 11, 12, 13, 14, 15}}
    for document, own_end in enumerate(ends):
        rng = random.Random(document)
        drawn = collections.Counter(found.random_start(document, rng) for _ in range(4000))
        wanted = {(sentence, end) for end in ends for sentence in ends[end] if end != own_end}
        assert drawn.keys() == wanted
        share = 1 / len(wanted)
        deviation = math.sqrt(4000 * share * (1 - share))
        assert all(abs(count - 4000 * share) < 4 * deviation for count in drawn.values())


def test_random_texts_need_a_second_document():
    with pytest.raises(InputError, match="another document"):
        pool_of([[5, 7]]).prepare_random_texts()


@pytest.mark.parametrize(
    ("num_documents", "example_type", "message"),
    [
        (0, "nsp", r"has 0 document\(s\).*another document"),
        (1, "nsp", r"has 1 document\(s\).*another document"),
        (0, "sop", "no document of two sentences"),
        (0, "full_sentences", "no document of any token"),
        (0, "packed", "no document of any token"),
    ],
)
def test_too_few_documents(num_documents, example_type, message):
    with pytest.raises(InputError, match=message):
        pool.check_documents(num_documents, EXAMPLE_TYPES[example_type])


@pytest.mark.parametrize(
    ("num_documents", "example_type"),
    [(2, "nsp"), (1, "sop"), (1, "full_sentences"), (1, "doc_sentences"), (1, "packed")],
)
def test_enough_documents(num_documents, example_type):
    pool.check_documents(num_documents, EXAMPLE_TYPES[example_type])


def units_of(sizes, num_documents=1):
    return [((0, number), size, num_documents) for number, size in enumerate(sizes)]


def test_pools_hold_every_unit_with_documents_once():
    units = [((number % 3, number), 100 + number, number % 5) for number in range(61)]
    found = pool.assign_pools(units, 1009, 1, 7)
    keys = [key for each in found for key in each]
    assert len(keys) == len(set(keys))
    assert set(keys) == {key for key, _, documents in units if documents}


def test_pools_are_full_and_bounded():
    rng = random.Random(5)
    sizes = [rng.randrange(1, 400) for _ in range(211)]
    for seed in range(11):
        found = pool.assign_pools(units_of(sizes), 1009, 1, seed)
        totals = [sum(sizes[number] for _, number in keys) for keys in found]
        assert len(totals) > 20
        # Full with the unit that reaches the size; the last one may hold half a pool more.
        assert all(1009 <= total < 1009 + 400 for total in totals[:-1])
        assert 1009 // 2 <= totals[-1] < 1009 + 400 + 1009 // 2


def test_a_pool_has_enough_documents():
    """Units above the size of a pool, but of one document each."""
    found = pool.assign_pools(units_of([500] * 7), 100, 2, 11)
    assert sorted(map(len, found)) == [2, 2, 3]


def test_few_units_are_one_pool():
    assert [sorted(keys) for keys in pool.assign_pools(units_of([5, 7]), 100, 2, 1)] == [
        [(0, 0), (0, 1)]
    ]
    assert pool.assign_pools(units_of([5]), 100, 2, 1) == [((0, 0),)]
    assert pool.assign_pools(units_of([5, 7], num_documents=0), 100, 2, 1) == []
    assert pool.assign_pools([], 100, 2, 1) == []


def test_pools_mix_the_corpus_and_depend_on_the_seed():
    units = units_of([100] * 101)
    found = pool.assign_pools(units, 1000, 2, 1)
    assert found == pool.assign_pools(units, 1000, 2, 1)
    assert found != pool.assign_pools(units, 1000, 2, 2)
    # Units that follow each other come into the same of ten pools with probability 1/10 or less.
    pool_of_unit = {key: number for number, keys in enumerate(found) for key in keys}
    together = sum(pool_of_unit[0, n] == pool_of_unit[0, n + 1] for n in range(100))
    assert together < 10 + 4 * math.sqrt(10)
