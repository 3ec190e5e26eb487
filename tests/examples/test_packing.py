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
