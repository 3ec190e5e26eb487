"""Single sequences: whole sentences in order, none lost, rows as full as sentences allow.

Spans are places in the ids of the pool, see `tests.reference.pools`.
"""

import collections
import math
import random

import pytest

from bert_tf.examples import sequences
from tests.reference.pools import pool_of, random_lengths

ROOM = 61


def sentences_of(lengths):
    """(start, end) of the sentences of each document."""
    found, place = [], 0
    for document in lengths:
        found.append([])
        for length in document:
            found[-1].append((place, place + length))
            place += length
    return found


def inside(span, sentences):
    """The sentences inside a span; it must start and end with one."""
    found = [each for each in sentences if span[0] <= each[0] and each[1] <= span[1]]
    assert (found[0][0], found[-1][1]) == tuple(span)
    return found


def greedy(sentences, room):
    """Sentences gathered one by one into spans of `room` tokens or fewer, in plain Python."""
    spans = []
    for start, end in sentences:
        if spans and end - spans[-1][0] <= room:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans


RANDOM = random_lengths(1, 83, (1, 23))


@pytest.mark.parametrize(
    ("document", "room", "expected"),
    [
        ([3, 4, 2, 7], 9, [(0, 9), (9, 16)]),
        ([3, 4, 3, 7], 9, [(0, 7), (7, 10), (10, 17)]),
        ([9], 9, [(0, 9)]),
        ([1], 1, [(0, 1)]),
        ([1, 1, 1], 1, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_sequences_of_a_document(document, room, expected):
    found = sequences.doc_sentences(pool_of([document]), range(1), room)
    assert list(found) == expected


def test_sequences_of_documents_are_those_of_each():
    """As full as whole sentences allow, in order, and across no end of a document."""
    documents = sentences_of(RANDOM)
    found = list(sequences.doc_sentences(pool_of(RANDOM), range(83), ROOM))
    assert found == [span for each in documents for span in greedy(each, ROOM)]
    assert all(end - start <= ROOM for start, end in found)


def test_only_the_documents_asked_for():
    documents = sentences_of(RANDOM)
    pool = pool_of(RANDOM[:31], RANDOM[31:])
    found = list(sequences.doc_sentences(pool, range(31, 83), ROOM))
    assert found == [span for each in documents[31:] for span in greedy(each, ROOM)]
    for rows in (
        sequences.full_sentences(pool, range(31, 83), random.Random(1), ROOM),
        sequences.packed(pool, range(31, 83), ROOM),
    ):
        spans = [span for row in rows for span in row]
        assert min(spans)[0] == documents[31][0][0]
        assert sum(end - start for start, end in spans) == sum(map(sum, RANDOM[31:]))


@pytest.mark.parametrize("room", [29, 61, 509])
def test_full_rows(room):
    """Walks the rows from start to end, holding them against the sentences that come next."""
    documents = sentences_of(RANDOM)
    document_of = {span: d for d, each in enumerate(documents) for span in each}
    all_sentences = list(document_of)
    rows = list(sequences.full_sentences(pool_of(RANDOM), range(83), random.Random(5), room))

    texts = [[inside(span, all_sentences) for span in row] for row in rows]
    in_order = [sentence for row in texts for text in row for sentence in text]
    assert sorted(in_order) == all_sentences  # nothing lost, nothing twice
    order = list(dict.fromkeys(document_of[sentence] for sentence in in_order))
    assert in_order == [sentence for document in order for sentence in documents[document]]

    crossings = 0
    for row, following in zip(texts, [*texts[1:], None], strict=True):
        # A text is of one document, and the next one of the next document.
        numbers = [{document_of[sentence] for sentence in text} for text in row]
        assert all(len(each) == 1 for each in numbers)
        assert len(set().union(*numbers)) == len(row)
        size = sum(text[-1][1] - text[0][0] for text in row) + len(row) - 1
        assert size <= room
        if following:
            start, end = following[0][0]
            has_sep = document_of[start, end] not in numbers[-1]
            assert size + has_sep + end - start > room
        crossings += len(row) - 1
    assert crossings > 10


def test_full_rows_take_documents_in_random_order():
    """The first row starts with each of three documents equally often."""
    pool = pool_of([[7], [7, 7], [7]])
    firsts = collections.Counter()
    for seed in range(3000):
        rows = sequences.full_sentences(pool, range(3), random.Random(seed), 7)
        firsts[next(rows)[0]] += 1
    assert firsts.keys() == {(0, 7), (7, 14), (21, 28)}
    assert all(abs(n - 1000) < 4 * math.sqrt(3000 * 2 / 9) for n in firsts.values())


@pytest.mark.parametrize(
    ("lengths", "room", "expected"),
    [
        ([[3], [3]], 7, [[3, 3]]),  # 3, [SEP], 3: full
        ([[3], [3]], 6, [[3], [3]]),
        ([[6], [1]], 7, [[6], [1]]),  # room for [SEP], but for nothing behind it
        ([[5], [1]], 7, [[5, 1]]),
        ([[1], [1]], 3, [[1, 1]]),
        ([[7], [7]], 7, [[7], [7]]),
        ([[1], [1]], 1, [[1], [1]]),
        ([[4], [4]], 8, [[4], [4]]),
        ([[2, 2]], 7, [[4]]),  # the last row is what is left
    ],
)
def test_a_separator_takes_a_position(lengths, room, expected):
    rows = sequences.full_sentences(pool_of(lengths), range(len(lengths)), random.Random(1), room)
    found = sorted(sorted(end - start for start, end in row) for row in rows)
    assert found == sorted(map(sorted, expected))


@pytest.mark.parametrize("max_seq_length", [31, 67, 128])
def test_packed_rows_hold_every_sequence_once(max_seq_length):
    pool = pool_of(RANDOM)
    rows = list(sequences.packed(pool, range(83), max_seq_length))
    wanted = sequences.doc_sentences(pool, range(83), max_seq_length - 2)
    assert sorted(span for row in rows for span in row) == list(wanted)
    assert all(sum(end - start + 2 for start, end in row) <= max_seq_length for row in rows)
    assert all(rows)


def test_packed_rows_are_nearly_full():
    """No fewer rows can hold so many tokens than `tokens / size`; best fit comes near."""
    lengths = random_lengths(2, 997, (1, 7))
    rows = list(sequences.packed(pool_of(lengths), range(997), 127))
    sizes = [sum(end - start + 2 for start, end in row) for row in rows]
    bound = math.ceil(sum(sizes) / 127)
    assert bound <= len(rows) <= 1.02 * bound
    alone = len(list(sequences.doc_sentences(pool_of(lengths), range(997), 125)))
    assert len(rows) < 0.7 * alone


@pytest.mark.parametrize(
    ("lengths", "max_seq_length", "expected"),
    [
        ([[3], [8], [2], [1]], 10, [[8], [3, 2], [1]]),  # 10; 5 + 4; 3
        ([[4], [4], [4]], 18, [[4, 4, 4]]),
        ([[4], [4], [4]], 17, [[4, 4], [4]]),
        ([[1]], 3, [[1]]),
        ([[2], [7], [5]], 11, [[7], [5, 2]]),  # into the row of 5 tokens, 9 are too many
    ],
)
def test_packed_by_hand(lengths, max_seq_length, expected):
    rows = sequences.packed(pool_of(lengths), range(len(lengths)), max_seq_length)
    assert sorted([e - s for s, e in row] for row in rows) == sorted(expected)


@pytest.mark.parametrize("documents", [range(0), range(1, 1)])
def test_no_documents_no_rows(documents):
    pool = pool_of([[2, 3]], [[5]])
    assert list(sequences.doc_sentences(pool, documents, 7)) == []
    assert list(sequences.full_sentences(pool, documents, random.Random(1), 7)) == []
    assert list(sequences.packed(pool, documents, 7)) == []
