"""Dynamic masks: counts, rates, shares, whole words; a function of seed and number alone."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.examples.choices import MaskSettings
from bert_tf.records.read.dynamic_masking import DynamicMasker, restored
from bert_tf.text.vocab import Vocabulary
from tests.reference import masked_rows
from tests.reference.masked_rows import (
    CLS,
    MASK,
    NUM_TEXT,
    NUMBERS_OF_PREDICTIONS,
    PAD,
    SEP,
    SHARES,
    SPECIAL,
    TAIL,
    UNK,
    VOCABULARY,
    WORD,
)


def masker(granularity="token", prob=0.15, limit=20, seed=3, **kwargs):
    settings = MaskSettings(
        masked_lm_prob=prob, max_predictions_per_seq=limit, granularity=granularity, **kwargs
    )
    return DynamicMasker(VOCABULARY, settings, seed)


def masked(masker, word_ids, first=0):
    """Arrays of what a masker makes of rows with numbers from `first` on."""
    numbers = tf.range(first, first + len(word_ids), dtype=tf.int64)
    found = masker(tf.constant(word_ids, tf.int32), numbers)
    return {name: values.numpy() for name, values in found.items()}


def predicted(found):
    """bool [n T]: where a prediction stands."""
    places = np.zeros(found["input_word_ids"].shape, bool)
    rows, slots = np.nonzero(found["masked_lm_weights"])
    places[rows, found["masked_lm_positions"][rows, slots]] = True
    return places


@pytest.mark.parametrize(
    ("num_tokens", "limit", "least", "share_of_more"),
    [*NUMBERS_OF_PREDICTIONS, (509, 76, 76, 0.0)],
)
@pytest.mark.parametrize("granularity", ["token", "word"])
def test_number_of_predictions(num_tokens, limit, least, share_of_more, granularity):
    word_ids = masked_rows.block(*[masked_rows.sequence(num_tokens)] * 1009)
    found = masked(masker(granularity, limit=limit), word_ids)
    counts = found["masked_lm_weights"].sum(axis=1)
    assert set(counts.tolist()) <= {least, least + 1}
    assert masked_rows.within((counts > least).sum(), 1009, share_of_more)
    assert found["masked_lm_positions"].shape == found["masked_lm_ids"].shape == (1009, limit)


@pytest.mark.parametrize("granularity", ["token", "word"])
@pytest.mark.parametrize("limit", [7, 20, 131])
def test_slots_are_ascending_and_hold_what_stood_there(granularity, limit):
    word_ids = masked_rows.random_block(5, 211, continued=0.3)
    found = masked(masker(granularity, limit=limit), word_ids)
    positions, labels = found["masked_lm_positions"], found["masked_lm_ids"]
    used = found["masked_lm_weights"] > 0
    assert (used[:, :-1] >= used[:, 1:]).all()
    assert (positions[~used] == 0).all() and (labels[~used] == 0).all()
    assert (np.diff(positions, axis=1)[used[:, 1:]] > 0).all()
    stood = np.take_along_axis(word_ids, positions, axis=1)
    np.testing.assert_array_equal(labels[used], stood[used])
    assert labels[used].min() >= WORD  # none of the special tokens
    elsewhere = ~predicted(found)
    np.testing.assert_array_equal(found["input_word_ids"][elsewhere], word_ids[elsewhere])


@pytest.mark.parametrize("shares", SHARES, ids=str)
def test_rate_and_shares_on_a_million_tokens(shares):
    mask_prob, _, random_prob = (share / 100 for share in shares)
    word_ids = masked_rows.random_block(3, 11_000)
    is_text = word_ids >= WORD
    assert is_text.sum() > 1_000_000
    found = masked(masker(mask_prob=mask_prob, random_prob=random_prob), word_ids)
    chosen = predicted(found)
    # Rounding is all that the number of a row leaves to chance: a variance of 1/4 at the most.
    assert abs(chosen.sum() - 0.15 * is_text.sum()) < 4.5 * math.sqrt(len(word_ids) / 4)
    masked_rows.assert_shares(word_ids[chosen], found["input_word_ids"][chosen], shares)


def test_random_tokens_are_uniform_over_text():
    found = masked(masker(mask_prob=0.0, random_prob=1.0), masked_rows.random_block(7, 11_000))
    masked_rows.assert_uniform_over_text(found["input_word_ids"][predicted(found)])


def test_every_token_is_as_likely_and_examples_are_independent():
    """The same text again and again, numbers one behind the other and beyond 2**32."""
    num_rows = 8000
    word_ids = np.repeat(masked_rows.block(masked_rows.sequence(101)), num_rows, axis=0)
    for first in (0, 2**32 - num_rows // 2):
        chosen = predicted(masked(masker(prob=15 / 101), word_ids, first))
        assert chosen.sum() == 15 * num_rows
        counts = chosen.sum(axis=0)[word_ids[0] >= WORD]
        deviation = math.sqrt(num_rows * 15 / 101 * 86 / 101)
        assert abs(counts - num_rows * 15 / 101).max() < 4.5 * deviation
        for distance in (1, 2, 64):
            both = (chosen[:-distance] & chosen[distance:]).sum()
            # Hypergeometric: 15 of 101, of which 15 were chosen before.
            mean, variance = 15 * 15 / 101, 15 * 15 / 101 * (86 / 101) * (86 / 100)
            pairs = num_rows - distance
            assert abs(both - pairs * mean) < 4.5 * math.sqrt(pairs * variance)


def test_a_function_of_seed_and_number():
    word_ids = masked_rows.random_block(11, 17, continued=0.3)
    for granularity in ("token", "word"):
        whole = masked(masker(granularity), word_ids, 100)
        part = masked(masker(granularity), word_ids[5:12], 105)
        for name, values in part.items():
            np.testing.assert_array_equal(values, whole[name][5:12])
        for other in (
            masked(masker(granularity, seed=4), word_ids, 100),
            masked(masker(granularity), word_ids),
        ):
            same = (predicted(other) == predicted(whole)).all(axis=1)
            assert not same.any()


def lowbias32(x):
    """The published hash, in whole numbers without end."""
    x = ((x ^ x >> 16) * 0x7FEB352D) % 2**32
    x = ((x ^ x >> 15) * 0x846CA68B) % 2**32
    return x ^ x >> 16


def drawn(seed, number, place):
    """32 bits for a place of an example."""
    keys = []
    for salt in (0x9E3779B9, 0x7F4A7C15):
        key = lowbias32((seed + salt) % 2**32)
        key = lowbias32((key + number) % 2**32)
        keys.append(lowbias32((key + number // 2**32) % 2**32))
    return lowbias32((lowbias32((place + keys[0]) % 2**32) + keys[1]) % 2**32)


@pytest.mark.parametrize("number", [0, 7, 2**32 + 1, 2**40 - 1])
def test_masks_stay_what_they_are(number):
    """A run that goes on with a later version goes on with the same masks."""
    row = masked_rows.sequence(29)
    places = [place for place, word_id in enumerate(row) if word_id >= WORD]
    # The high bits decide; the last 5 of 31 hold the column.
    best = sorted(places, key=lambda place: drawn(3, number, place) >> 6, reverse=True)
    best = best[: int(0.35 * 29 + drawn(3, number, 3 * 2**20) / 2**32)]  # 10.15
    found = masked(masker(prob=0.35, limit=12), masked_rows.block(row), number)
    assert found["masked_lm_positions"].tolist() == [sorted(best) + [0] * (12 - len(best))]
    for place in best:
        draw = drawn(3, number, 2**20 + place) / 2**32
        choice = drawn(3, number, 2**21 + place) * NUM_TEXT // 2**32
        expected = MASK if draw < 0.8 else WORD + choice if draw < 0.9 else row[place]
        assert found["input_word_ids"][0, place] == expected


def test_whole_words_are_chosen_and_changed_together():
    word_ids = masked_rows.random_block(13, 500, continued=0.4)
    found = masked(masker("word"), word_ids)
    chosen, after = predicted(found), found["input_word_ids"]
    kinds = {"mask": 0, "kept": 0, "random": 0}
    for row in range(len(word_ids)):
        for start, end in masked_rows.groups_of(word_ids[row]):
            assert chosen[row, start:end].all() or not chosen[row, start:end].any()
            if chosen[row, start]:
                if (after[row, start:end] == MASK).all():
                    kinds["mask"] += 1
                elif (after[row, start:end] == word_ids[row, start:end]).all():
                    kinds["kept"] += 1
                else:
                    assert not (after[row, start:end] == MASK).any()
                    kinds["random"] += 1
    total = sum(kinds.values())
    assert total > 3000
    assert masked_rows.within(kinds["mask"], total, 0.8)
    assert masked_rows.within(kinds["kept"] + kinds["random"], total, 0.2)


def test_words_of_every_length_are_as_likely():
    """The same row of words of one to five tokens, often."""
    text = [part for size in (1, 2, 3, 4, 5) * 4 for part in (WORD + size, *[TAIL] * (size - 1))]
    row = [CLS, *text, SEP]
    word_ids = np.repeat(masked_rows.block(row), 20_000, axis=0)
    chosen = predicted(masked(masker("word", limit=60), word_ids))
    # 9 tokens of 60 lie on the arc, and a word is chosen if it starts there.
    starts = [start for start, _ in masked_rows.groups_of(row)]
    for start in starts:
        assert masked_rows.within(chosen[:, start].sum(), len(word_ids), 9 / 60)
    assert abs(chosen.sum() / len(word_ids) - 9) < 0.1


def test_words_keep_to_the_slots():
    word_ids = masked_rows.random_block(17, 1000, continued=0.6)
    found = masked(masker("word", limit=5), word_ids)
    counts = found["masked_lm_weights"].sum(axis=1)
    assert counts.max() == 5 and counts.min() >= 1


def test_a_word_that_exceeds_the_slots_gives_way_to_one_that_fits():
    fits = [CLS, WORD, *[TAIL] * 30, WORD + 1, SEP]
    none = [CLS, WORD, *[TAIL] * 31, SEP, PAD]
    found = masked(masker("word", limit=3), np.repeat(masked_rows.block(fits, none), 50, axis=0))
    assert (found["masked_lm_weights"].sum(axis=1) == [1] * 50 + [0] * 50).all()
    assert (found["masked_lm_positions"][:50, 0] == 32).all()


def test_words_end_at_special_tokens_and_rows():
    rows = masked_rows.block(
        [CLS, TAIL, SEP, TAIL, TAIL],
        [TAIL, WORD, UNK, TAIL, SEP],
    )
    found = masked(masker("word", prob=1.0, mask_prob=1.0, random_prob=0.0), rows)
    assert found["input_word_ids"].tolist() == [
        [CLS, MASK, SEP, MASK, MASK],
        [MASK, MASK, UNK, MASK, SEP],
    ]
    chosen = predicted(masked(masker("word", prob=0.01), np.repeat(rows, 99, axis=0)))
    # One word at a time, now this one, now that one.
    assert {tuple(np.flatnonzero(row)) for row in chosen[:99]} == {(1,), (3, 4)}
    assert {tuple(np.flatnonzero(row)) for row in chosen[99:]} == {(0,), (1,), (3,)}


@pytest.mark.parametrize("granularity", ["token", "word"])
def test_rows_without_text_have_no_prediction(granularity):
    found = masked(masker(granularity), masked_rows.block([CLS, UNK, SEP], [PAD, PAD, PAD]))
    assert found["masked_lm_weights"].sum() == 0
    assert found["input_word_ids"].tolist() == [[CLS, UNK, SEP], [PAD, PAD, PAD]]


@pytest.mark.parametrize("granularity", ["token", "word"])
def test_masks_are_undone(granularity):
    word_ids = masked_rows.random_block(19, 101, continued=0.3)
    found = masked(masker(granularity, random_prob=0.2), word_ids)
    names = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
    again = restored(found["input_word_ids"], *(found[name] for name in names))
    assert (found["input_word_ids"] != word_ids).any()
    np.testing.assert_array_equal(again, word_ids)


@pytest.mark.parametrize("granularity", ["token", "word"])
def test_shapes_are_static_in_a_graph(granularity):
    numbers = tf.data.Dataset.range(7).batch(7, drop_remainder=True)
    ids = tf.constant(masked_rows.random_block(23, 7))
    spec = numbers.map(lambda number: masker(granularity)(ids, number)).element_spec
    assert {name: (value.dtype.name, value.shape.as_list()) for name, value in spec.items()} == {
        "input_word_ids": ("int32", [7, 127]),
        "masked_lm_positions": ("int32", [7, 20]),
        "masked_lm_ids": ("int32", [7, 20]),
        "masked_lm_weights": ("float32", [7, 20]),
    }


def test_refusals():
    with pytest.raises(ValueError, match="ngram"):
        masker("ngram")
    with pytest.raises(InputError, match="special tokens only"):
        DynamicMasker(Vocabulary(SPECIAL), MaskSettings(max_predictions_per_seq=3), seed=1)
