"""Ids to rows: truncation as the released loop does it, special tokens, types."""

import itertools

import pytest

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.text.vocab import Vocabulary

# [CLS] is 3 and [SEP] is 2 here, so that neither is where a released vocabulary has it.
VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[SEP]", "[CLS]", "[MASK]", "a", "b"])
CLS, SEP = 3, 2


def drop_one_by_one(length_a, length_b, budget):
    """What the documentation says, taken literally: the longer loses one; of equals the second."""
    a, b = list(range(length_a)), list(range(length_b))
    while len(a) + len(b) > budget:
        if len(a) > len(b):
            a.pop()
        else:
            b.pop()
    return len(a), len(b)


def test_truncated_lengths_are_those_of_dropping_one_by_one():
    for length_a, length_b, budget in itertools.product(range(14), range(14), range(18)):
        found = packing.truncated_lengths(length_a, length_b, budget)
        assert found == drop_one_by_one(length_a, length_b, budget), (length_a, length_b, budget)


def test_one_text():
    assert packing.pack([11, 12], None, VOCABULARY, 7) == ([CLS, 11, 12, SEP], [0, 0, 0, 0])


def test_one_text_that_fills_the_row_or_is_too_long():
    for ids in ([11, 12, 13], [11, 12, 13, 14]):
        assert packing.pack(ids, None, VOCABULARY, 5) == ([CLS, 11, 12, 13, SEP], [0] * 5)


def test_two_texts():
    word_ids, type_ids = packing.pack((11, 12), (13,), VOCABULARY, 7)
    assert word_ids == [CLS, 11, 12, SEP, 13, SEP]
    assert type_ids == [0, 0, 0, 0, 1, 1]


def test_an_empty_second_text_is_still_a_pair():
    assert packing.pack([11], [], VOCABULARY, 7) == ([CLS, 11, SEP, SEP], [0, 0, 0, 1])


def test_two_texts_that_are_too_long_lose_their_ends():
    word_ids, type_ids = packing.pack([11, 12, 13, 14, 15], [21, 22, 23], VOCABULARY, 8)
    assert word_ids == [CLS, 11, 12, 13, SEP, 21, 22, SEP]
    assert type_ids == [0, 0, 0, 0, 0, 1, 1, 1]


def test_a_row_is_never_longer_than_asked():
    for length_a, length_b, length in itertools.product(range(9), range(9), range(5, 12)):
        word_ids, type_ids = packing.pack([5] * length_a, [6] * length_b, VOCABULARY, length)
        assert len(word_ids) == len(type_ids) == min(length, length_a + length_b + 3)


def test_check_length():
    config = BertConfig(vocab_size=7, max_position_embeddings=17)
    packing.check_length(17, config, shortest=5)
    packing.check_length(5, config, shortest=5)
    with pytest.raises(InputError, match="--max_seq_length=18 is beyond .* 17 .*=17 or less"):
        packing.check_length(18, config, shortest=5)
    with pytest.raises(InputError, match="--max_seq_length=4 leaves no room.* at least 5"):
        packing.check_length(4, config, shortest=5)


WINDOWS = packing.Windows(max_windows=9, stride=2)


def test_windows_of_one_text_overlap_and_leave_nothing_out():
    rows, left = packing.pack_windows([5, 6, 7, 8, 9], None, VOCABULARY, 5, WINDOWS)
    assert rows == [
        ([3, 5, 6, 7, 2], [0] * 5),
        ([3, 7, 8, 9, 2], [0] * 5),
    ]
    assert left == 0


def test_windows_move_over_the_longer_text_of_a_pair():
    second, _ = packing.pack_windows([5], [6, 7, 8, 9], VOCABULARY, 6, WINDOWS)
    assert [row for row, _ in second] == [[3, 5, 2, 6, 7, 2], [3, 5, 2, 8, 9, 2]]
    assert second[0][1] == [0, 0, 0, 1, 1, 1]
    first, _ = packing.pack_windows([6, 7, 8, 9], [5], VOCABULARY, 6, WINDOWS)
    assert [row for row, _ in first] == [[3, 6, 7, 2, 5, 2], [3, 8, 9, 2, 5, 2]]
    assert first[0][1] == [0, 0, 0, 0, 1, 1]


def test_the_shorter_text_has_half_of_the_room_at_most():
    rows, _ = packing.pack_windows([5] * 6, [6] * 7, VOCABULARY, 10, packing.Windows(9))
    assert [word_ids.count(5) for word_ids, _ in rows] == [3, 3, 3]
    assert [word_ids.count(6) for word_ids, _ in rows] == [4, 4, 3]
    assert rows[0][1] == [0] * 5 + [1] * 5


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 30])
@pytest.mark.parametrize("stride", [None, 1, 5, 99])
def test_windows_of_every_length_and_stride(length, stride):
    """Every token is in one, no two are farther apart than the stride, all but the last full."""
    room = 8
    spans = packing.Windows(99, stride).spans(length, room)
    covered = {token for start, end in spans for token in range(start, end)}
    assert covered == set(range(length))
    steps = {after[0] - before[0] for before, after in itertools.pairwise(spans)}
    assert steps <= {min(stride or room // 2, room)}
    assert all(end - start == room for start, end in spans[:-1])
    assert len(spans) == 1 or spans[-2][1] < length, "the last one adds tokens"


def test_what_follows_the_last_window_is_counted():
    rows, left = packing.pack_windows([5] * 20, None, VOCABULARY, 6, packing.Windows(3, 4))
    assert len(rows) == 3 and left == 20 - 12


@pytest.mark.parametrize("text_b", [None, [7, 8]])
def test_a_text_that_fits_is_packed_as_without_windows(text_b):
    rows, left = packing.pack_windows([5, 6], text_b, VOCABULARY, 9, WINDOWS)
    assert rows == [packing.pack([5, 6], text_b, VOCABULARY, 9)] and left == 0
