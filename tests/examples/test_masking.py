"""Masked LM: rates, the 80/10/10 rule, special tokens, whole words."""

import collections
import math
import random

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.masking import Masker
from bert_tf.text.vocab import Vocabulary

SPECIAL = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [f"word{number}" for number in range(53)]
PIECES = [f"##{number}" for number in range(29)]
VOCABULARY = Vocabulary(SPECIAL + WORDS + PIECES)
CLS, SEP, UNK, MASK = (VOCABULARY.ids[f"[{name}]"] for name in ("CLS", "SEP", "UNK", "MASK"))
FIRST_WORD, FIRST_PIECE = len(SPECIAL), len(SPECIAL) + len(WORDS)


def sequence(num_tokens):
    """[CLS] a [SEP] b [SEP] with so many tokens of text, all different from their neighbours."""
    text = [FIRST_WORD + place % 53 for place in range(num_tokens)]
    half = num_tokens // 2
    return [CLS, *text[:half], SEP, *text[half:], SEP]


def words_sequence(rng, num_words):
    """Words of one to seven tokens."""
    text = []
    for _ in range(num_words):
        text.append(FIRST_WORD + rng.randrange(53))
        text += [FIRST_PIECE + rng.randrange(29) for _ in range(rng.randrange(7))]
    half = len(text) // 2
    while text[half] >= FIRST_PIECE:
        half += 1
    return [CLS, *text[:half], SEP, *text[half:], SEP]


def within(count, total, probability, deviations=4):
    deviation = math.sqrt(total * probability * (1 - probability))
    return abs(count - total * probability) < deviations * deviation


@pytest.mark.parametrize(
    ("num_tokens", "limit", "expected", "is_capped"),
    [
        (125, 20, 19, False),  # 18.75
        (30, 20, 5, False),  # 4.5: half is rounded up
        (23, 20, 3, False),  # 3.45
        (2, 20, 1, False),  # at least one
        (509, 20, 20, True),
        (509, 76, 76, False),  # 76.35
    ],
)
def test_number_of_predictions(num_tokens, limit, expected, is_capped):
    masked = Masker(VOCABULARY, 0.15, limit)(sequence(num_tokens), random.Random(1))
    assert len(masked.positions) == len(masked.labels) == expected
    assert masked.is_capped == is_capped


def test_eighty_ten_ten_and_uniform_places():
    masker, word_ids = Masker(VOCABULARY, 0.15, 20), sequence(60)
    outcomes, places, replacements = collections.Counter(), collections.Counter(), set()
    total = 9 * 3000
    for seed in range(3000):
        masked = masker(word_ids, random.Random(seed))
        for place, label in zip(masked.positions, masked.labels, strict=True):
            found = masked.word_ids[place]
            assert label == word_ids[place]
            places[place] += 1
            outcomes["mask" if found == MASK else "kept" if found == label else "random"] += 1
            if found not in (MASK, label):
                replacements.add(found)
    assert sum(outcomes.values()) == total
    same = 0.1 / 82  # a random token is the token itself once in 82
    assert within(outcomes["mask"], total, 0.8)
    assert within(outcomes["random"], total, 0.1 - same)
    assert within(outcomes["kept"], total, 0.1 + same)
    assert len(places) == 60
    assert all(within(count, total, 1 / 60, deviations=5) for count in places.values())
    # Every token that stands for text may be put in, and no other.
    assert replacements == set(range(FIRST_WORD, len(VOCABULARY)))


def test_special_tokens_are_not_predicted():
    word_ids = [CLS, UNK, FIRST_WORD, SEP, FIRST_WORD + 1, UNK, 1, SEP]
    for seed in range(50):
        masked = Masker(VOCABULARY, 1.0, 20)(word_ids, random.Random(seed))
        assert masked.positions == [2, 4]
        assert [masked.word_ids[place] for place in (0, 1, 3, 5, 6, 7)] == [
            CLS,
            UNK,
            SEP,
            UNK,
            1,
            SEP,
        ]


def test_nothing_to_predict():
    masked = Masker(VOCABULARY, 0.15, 20)([CLS, UNK, SEP, UNK, SEP], random.Random(1))
    assert masked == ([CLS, UNK, SEP, UNK, SEP], [], [], False)


@pytest.mark.parametrize("whole_words", [False, True])
def test_positions_ascend_and_the_rest_stays(whole_words):
    rng = random.Random(3)
    masker = Masker(VOCABULARY, 0.15, 20, whole_words)
    for seed in range(200):
        word_ids = words_sequence(rng, 20)
        before = list(word_ids)
        masked = masker(word_ids, random.Random(seed))
        assert word_ids == before
        assert masked.positions == sorted(set(masked.positions))
        restored = list(masked.word_ids)
        for place, label in zip(masked.positions, masked.labels, strict=True):
            restored[place] = label
        assert restored == word_ids


def word_spans(word_ids):
    """(start, end) of each word."""
    starts = [p for p, i in enumerate(word_ids) if FIRST_WORD <= i < FIRST_PIECE]
    spans = []
    for start in starts:
        end = start + 1
        while word_ids[end] >= FIRST_PIECE:
            end += 1
        spans.append((start, end))
    return spans


def test_words_are_masked_whole_and_long_ones_as_often_as_short_ones():
    masker, rng = Masker(VOCABULARY, 0.15, 77, do_whole_word_mask=True), random.Random(5)
    seen, chosen, outcomes = collections.Counter(), collections.Counter(), collections.Counter()
    for _ in range(3000):
        word_ids = words_sequence(rng, 25)
        masked = masker(word_ids, rng)
        for start, end in word_spans(word_ids):
            seen[end - start] += 1
            inside = [place for place in masked.positions if start <= place < end]
            if inside:
                assert inside == list(range(start, end))
                chosen[end - start] += 1
                found = [masked.word_ids[place] for place in inside]
                assert MASK not in found or set(found) == {MASK}
                outcomes[MASK in found] += 1
    assert set(seen) == set(range(1, 8))
    for length, total in seen.items():
        assert chosen[length] / total == pytest.approx(0.15, rel=0.08), length
    assert within(outcomes[True], sum(outcomes.values()), 0.8)


def test_whole_words_reach_the_rate_on_average_and_respect_the_limit():
    rng = random.Random(7)
    masker = Masker(VOCABULARY, 0.15, 20, do_whole_word_mask=True)
    num_tokens = num_predictions = 0
    for _ in range(2000):
        word_ids = words_sequence(rng, 25)
        masked = masker(word_ids, rng)
        assert 1 <= len(masked.positions) <= 20
        num_tokens += len(word_ids) - 3
        num_predictions += len(masked.positions)
    assert num_predictions / num_tokens == pytest.approx(0.15, rel=0.03)


def test_a_word_longer_than_the_limit_is_left_out():
    word_ids = [CLS, FIRST_WORD, FIRST_PIECE, SEP, FIRST_WORD + 1, SEP]
    for seed in range(30):
        masked = Masker(VOCABULARY, 0.9, 1, True)(word_ids, random.Random(seed))
        assert masked.positions == [4]


def test_pieces_behind_a_special_token_are_a_word_of_their_own():
    word_ids = [CLS, FIRST_WORD, SEP, FIRST_PIECE, FIRST_PIECE + 1, SEP]
    chosen = {
        tuple(Masker(VOCABULARY, 0.3, 20, True)(word_ids, random.Random(seed)).positions)
        for seed in range(100)
    }
    assert chosen <= {(1,), (3, 4), (1, 3, 4)}
    assert {(1,), (3, 4)} <= chosen


def test_refuses_a_vocabulary_without_words():
    with pytest.raises(InputError, match="special tokens only"):
        Masker(Vocabulary(SPECIAL), 0.15, 20)
