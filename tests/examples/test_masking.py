"""Masked LM: rates, the shares of [MASK] and random tokens, special tokens, groups."""

import math

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.examples.choices import MaskSettings
from bert_tf.examples.masking import Masker
from bert_tf.examples.numpy_masking import NumpyArrays
from bert_tf.examples.random_bits import RandomBits
from bert_tf.text.vocab import Vocabulary
from tests.reference.masked_rows import (
    CLS,
    MASK,
    NUMBERS_OF_PREDICTIONS,
    PAD,
    SEP,
    SHARES,
    SPECIAL,
    TAIL,
    UNK,
    UNUSED,
    VOCABULARY,
    WORD,
    assert_shares,
    assert_uniform_over_text,
    block,
    groups_of,
    random_block,
    sequence,
    within,
)


def masker(granularity="token", prob=0.15, limit=20, **kwargs):
    """A function of ids, starts of groups and random bits to `Masked`, in NumPy."""
    shares = {"masked_lm_prob": prob, **kwargs}
    masker = Masker(
        VOCABULARY, MaskSettings(max_predictions_per_seq=limit, granularity=granularity, **shares)
    )

    def mask(word_ids, group_starts, random):
        return masker(word_ids, NumpyArrays(word_ids.shape, random), group_starts)

    return mask


def counts_of(masked):
    """[n]: predictions of each row."""
    return masked.is_used.sum(axis=1)


def predicted(masked):
    """bool [n T]: where a prediction stands."""
    found = np.zeros(masked.word_ids.shape, bool)
    for row, (positions, count) in enumerate(zip(masked.positions, counts_of(masked), strict=True)):
        found[row, positions[:count]] = True
    return found


@pytest.mark.parametrize(("num_tokens", "limit", "least", "share_of_more"), NUMBERS_OF_PREDICTIONS)
def test_number_of_predictions(num_tokens, limit, least, share_of_more):
    word_ids = block(*[sequence(num_tokens)] * 1009)
    masked = masker(limit=limit)(word_ids, None, RandomBits(1))
    assert set(counts_of(masked).tolist()) <= {least, least + 1}
    assert within((counts_of(masked) > least).sum(), 1009, share_of_more)
    assert masked.is_capped.tolist() == [0.15 * num_tokens > limit] * 1009
    assert masked.positions.shape == masked.labels.shape == (1009, limit)
    for positions, count in zip(masked.positions, counts_of(masked), strict=True):
        assert len(set(positions[:count].tolist())) == count


def test_the_cap_is_flagged_where_it_is_met():
    """76.35 are wanted: 77 in 35 of 100 rows, where 76 may be."""
    masked = masker(limit=76)(block(*[sequence(509)] * 1009), None, RandomBits(1))
    assert set(counts_of(masked).tolist()) == {76}
    assert within(masked.is_capped.sum(), 1009, 0.35)


@pytest.mark.parametrize("granularity", ["word", "ngram", "span"])
def test_groups_flag_the_cap(granularity):
    masked = masker(granularity)(block(sequence(143), sequence(23)), None, RandomBits(1))
    assert masked.is_capped.tolist() == [True, False]  # 21.45 and 3.45 of 20
    assert counts_of(masked)[0] <= 20


@pytest.mark.parametrize("shares", SHARES, ids=str)
def test_rate_and_shares_on_a_million_tokens(shares):
    mask_prob, _, random_prob = (share / 100 for share in shares)
    word_ids = random_block(3, 11_000)
    is_text = word_ids >= WORD
    assert is_text.sum() > 1_000_000
    masked = masker(mask_prob=mask_prob, random_prob=random_prob)(word_ids, None, RandomBits(5))

    chosen = predicted(masked)
    assert within(chosen.sum(), is_text.sum(), 0.15)
    assert_shares(word_ids[chosen], masked.word_ids[chosen], shares)


def test_random_tokens_are_uniform_over_text():
    word_ids = random_block(7, 11_000)
    masked = masker(mask_prob=0.0, random_prob=1.0)(word_ids, None, RandomBits(11))
    assert_uniform_over_text(masked.word_ids[predicted(masked)])


@pytest.mark.parametrize("granularity", ["token", "word", "ngram", "span"])
def test_every_position_is_equally_likely(granularity):
    """All tokens are words, so every group stands at every place alike."""
    num_rows, num_tokens = 20_000, 60  # 9 wanted
    word_ids = np.repeat(block(sequence(num_tokens)), num_rows, axis=0)
    masked = masker(granularity)(word_ids, None, RandomBits(13))
    counts = predicted(masked).sum(axis=0)[word_ids[0] >= WORD]
    assert all(within(count, num_rows, 9 / num_tokens, 5) for count in counts), counts


@pytest.mark.parametrize(("prob", "limit", "share"), [(0.15, 77, 0.15), (0.15, 3, 0.05)])
def test_tokens_are_drawn_in_pairs_without_preference(prob, limit, share):
    """Any two of 60 tokens are chosen together as often as theory says."""
    num_rows, num_chosen = 30_000, round(60 * share)
    word_ids = np.repeat(block(sequence(60)), num_rows, axis=0)
    chosen = predicted(masker(prob=prob, limit=limit)(word_ids, None, RandomBits(17)))
    chosen = chosen[:, word_ids[0] >= WORD].astype(np.float32)
    together = (chosen.T @ chosen)[np.triu_indices(60, 1)]
    probability = num_chosen / 60 * (num_chosen - 1) / 59
    assert all(within(count, num_rows, probability, 5) for count in together)


def choice_for(groups, keys, num_wanted, limit):
    """Chooses groups by laying a real circle: list of (start, end).

    Args:
      groups: list of (start, end).
      keys: [T], the numbers drawn.
      num_wanted: tokens on the arc, which starts at the token with the smallest number.
      limit: tokens at the most.
    """
    first = min((place for group in groups for place in range(*group)), key=lambda p: keys[p])
    cut = next(group for group in groups if first in range(*group))
    others = sorted(
        (group for group in groups if group is not cut), key=lambda group: keys[group[0]]
    )
    circle = [*range(first, cut[1])]
    circle += [place for group in others for place in range(*group)]
    circle += range(cut[0], first)
    group_at = {group[0]: group for group in groups}
    chosen, num_chosen = [], 0
    for place in circle[:num_wanted]:
        start, end = group_at.get(place, (0, 0))
        if end and num_chosen + end - start <= limit:
            chosen.append((start, end))
            num_chosen += end - start
    fitting = [group for group in groups if group[1] - group[0] <= limit]
    fallback = sorted(fitting, key=lambda group: keys[group[0]])[:1]
    return sorted(map(tuple, chosen or fallback))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(("prob", "limit"), [(0.15, 20), (0.4, 7), (0.02, 3), (1.0, 31), (0.9, 1)])
def test_groups_are_chosen_as_on_a_circle(given, prob, limit):
    generator = np.random.default_rng(19)
    num_rows, length = 200, 31
    word_ids = random_block(19, num_rows, 61, continued=0.5, special=0.2)[:, :length]
    starts = generator.random(word_ids.shape) < 0.4 if given else None
    masked = masker("span" if given else "word", prob, limit)(word_ids, starts, RandomBits(23))
    bits = RandomBits(23)
    keys, draws = bits.uint32((num_rows, length)), bits.uniform(num_rows)
    for row in range(num_rows):
        groups = groups_of(word_ids[row], None if starts is None else starts[row])
        num_text = sum(end - start for start, end in groups)
        num_wanted = min(max(1, int(prob * num_text + draws[row])), limit)
        chosen = choice_for(groups, keys[row].tolist(), num_wanted, limit)
        wanted = [place for group in chosen for place in range(*group)]
        assert masked.positions[row, : counts_of(masked)[row]].tolist() == wanted


@pytest.mark.parametrize("granularity", ["word", "span"])
def test_long_groups_are_as_likely_as_short_ones(granularity):
    word_ids = random_block(29, 9000, continued=0.6)
    generator = np.random.default_rng(31)
    starts = generator.random(word_ids.shape) < 0.4 if granularity == "span" else None
    masked = masker(granularity, limit=77)(word_ids, starts, RandomBits(37))
    chosen = predicted(masked)
    num_text = (word_ids >= WORD).sum(axis=1)
    wanted = 0.15 * num_text
    seen, expected, found = np.zeros((3, 64))
    for row in range(len(word_ids)):
        for start, end in groups_of(word_ids[row], None if starts is None else starts[row]):
            seen[end - start] += 1
            expected[end - start] += wanted[row] / num_text[row]
            found[end - start] += chosen[row, start]
    for length in np.flatnonzero(seen > 1000):
        assert within(found[length], seen[length], expected[length] / seen[length]), length
    assert np.flatnonzero(seen > 1000)[-1] >= 7
    # The rate is right on average; a row strays by about a group, less than binomial draws do.
    assert within(chosen.sum(), num_text.sum(), wanted.sum() / num_text.sum())


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("granularity", ["word", "ngram", "span"])
def test_groups_are_never_split(granularity, given):
    """Also not by what is put in: a group is masked, replaced or kept as a whole."""
    word_ids = random_block(41, 2000, continued=0.5)
    starts = np.random.default_rng(43).random(word_ids.shape) < 0.5 if given else None
    masked = masker(granularity)(word_ids, starts, RandomBits(47))
    chosen = predicted(masked)
    num_groups = num_masked = num_kept = num_partly = 0
    for row in range(len(word_ids)):
        for start, end in groups_of(word_ids[row], starts[row] if given else None):
            assert len(set(chosen[row, start:end])) == 1
            if chosen[row, start] and end - start > 1:
                after = masked.word_ids[row, start:end]
                is_kept = after == word_ids[row, start:end]
                assert MASK not in after or set(after) == {MASK}
                num_groups += 1
                num_masked += after[0] == MASK
                num_kept += is_kept.all()
                num_partly += is_kept.any() and not is_kept.all()
    # Of the tenth that is replaced, a token in 82 becomes itself.
    assert num_partly < 0.01 * num_groups
    if granularity != "ngram":  # n-grams share a draw, so that their words are not independent
        assert within(num_masked, num_groups, 0.8)
        assert within(num_kept, num_groups, 0.1)


@pytest.mark.parametrize("granularity", ["token", "word", "ngram", "span"])
def test_positions_labels_and_what_stays(granularity):
    word_ids = random_block(53, 1500, continued=0.4, special=0.1)
    before = word_ids.copy()
    masked = masker(granularity)(word_ids, None, RandomBits(59))
    assert (word_ids == before).all()
    for array in masked[:3]:
        assert array.dtype == np.int32
    in_use = np.arange(20) < counts_of(masked)[:, None]
    assert (np.diff(masked.positions, axis=1)[in_use[:, 1:]] > 0).all()
    assert not masked.positions[~in_use].any()
    assert not masked.labels[~in_use].any()
    labels = np.take_along_axis(word_ids, masked.positions, axis=1)
    assert (masked.labels == labels)[in_use].all()
    assert (masked.labels[in_use] >= WORD).all()
    chosen = predicted(masked)
    assert (masked.word_ids == word_ids)[~chosen].all()
    put_in = masked.word_ids[chosen]
    assert ((put_in >= WORD) | (put_in == MASK)).all()


@pytest.mark.parametrize("max_ngram", [1, 2, 3, 5])
def test_lengths_of_ngrams(max_ngram):
    """One n-gram a row: n has a probability in proportion to 1 / n, but for cuts at the ends."""
    num_rows, num_words = 6000, 499
    word_ids = np.repeat(block(sequence(num_words)), num_rows, axis=0)
    masked = masker("ngram", 1e-6, max_ngram=max_ngram)(word_ids, None, RandomBits(61))
    lengths = np.bincount(counts_of(masked), minlength=max_ngram + 1)[1:]
    numbers = np.arange(1, max_ngram + 1)
    shares = 1 / numbers / (1 / numbers).sum()
    mean = (shares * numbers).sum()
    # Of about num_words / mean n-grams each of the four ends of the two texts cuts at most one.
    slack = 4 * mean / num_words * (max_ngram > 1)
    for found, share in zip(lengths, shares, strict=True):
        deviation = math.sqrt(num_rows * share * (1 - share))
        assert abs(found - num_rows * share) <= 4 * deviation + slack * num_rows


def test_ngrams_are_whole_words_in_a_row():
    word_ids = random_block(67, 1500, continued=0.3, special=0.1)
    masked = masker("ngram", 1e-6, 127)(word_ids, None, RandomBits(71))
    numbers = set()
    for row, (positions, count) in enumerate(zip(masked.positions, counts_of(masked), strict=True)):
        start, end = positions[0], positions[0] + count
        assert positions[:count].tolist() == list(range(start, end))
        inside = [group for group in groups_of(word_ids[row]) if start <= group[0] < end]
        assert (inside[0][0], inside[-1][1]) == (start, end)
        numbers.add(len(inside))
        after = masked.word_ids[row, start:end]
        assert MASK not in after or set(after) == {MASK}
    assert numbers == {1, 2, 3}


def test_ngrams_of_one_word_are_words():
    word_ids = random_block(73, 300, continued=0.4)
    words = masker("word")(word_ids, None, RandomBits(79))
    ngrams = masker("ngram", max_ngram=1)(word_ids, None, RandomBits(79))
    assert (words.positions == ngrams.positions).all()


def test_special_tokens_are_not_predicted():
    row = [CLS, UNK, WORD, SEP, WORD + 1, UNK, UNUSED, MASK, SEP]
    word_ids = np.repeat(block(row), 300, axis=0)
    for granularity in ("token", "word", "ngram", "span"):
        masked = masker(granularity, 1.0)(word_ids, np.ones_like(word_ids, bool), RandomBits(83))
        assert (masked.positions[:, :3] == [2, 4, 0]).all()
        assert (counts_of(masked) == 2).all()
        stays = [0, 1, 3, 5, 6, 7, 8]
        assert (masked.word_ids[:, stays] == word_ids[:, stays]).all()


@pytest.mark.parametrize("granularity", ["token", "word", "ngram", "span"])
def test_rows_without_text(granularity):
    word_ids = block([CLS, UNK, SEP, UNK, SEP], [CLS, WORD, SEP], [PAD])
    masked = masker(granularity)(word_ids, None, RandomBits(89))
    assert counts_of(masked).tolist() == [0, 1, 0]
    assert masked.positions[:, 0].tolist() == [0, 1, 0]
    assert masked.labels[:, 0].tolist() == [0, WORD, 0]
    for rows in (word_ids[:1], word_ids[:0]):
        masked = masker(granularity)(rows, None, RandomBits(89))
        assert (masked.word_ids == rows).all()
        assert masked.positions.shape == (len(rows), 20)
        assert not counts_of(masked).any()


def test_a_group_longer_than_the_limit_is_left_out():
    rows = [CLS, WORD, TAIL, SEP, WORD + 1, SEP], [CLS, WORD, TAIL, SEP]
    word_ids = np.repeat(block(*rows), 50, axis=0)
    masked = masker("word", 1.0, 1)(word_ids, None, RandomBits(97))
    assert masked.positions[:, 0].tolist() == [4] * 50 + [0] * 50
    assert counts_of(masked).tolist() == [1] * 50 + [0] * 50
    assert masked.is_capped.all()


def test_what_is_behind_a_special_token_is_a_group_of_its_own():
    word_ids = np.repeat(block([CLS, WORD, SEP, TAIL, TAIL + 1, SEP]), 100, axis=0)
    one_group = np.zeros(word_ids.shape, bool)
    one_group[:, 1] = True
    for granularity, starts in (
        ("word", None),
        ("word", one_group),
        ("span", one_group),
        ("ngram", None),
    ):
        masked = masker(granularity, 0.3)(word_ids, starts, RandomBits(101))
        chosen = {tuple(np.flatnonzero(row)) for row in predicted(masked)}
        assert chosen == {(1,), (3, 4)}


def test_the_same_bits_give_the_same_masks():
    word_ids = random_block(103, 100, continued=0.4)
    for granularity in ("token", "ngram"):
        first, again, other = (
            masker(granularity)(word_ids, None, RandomBits(key)) for key in (107, 107, 109)
        )
        assert all((a == b).all() for a, b in zip(first, again, strict=True))
        assert (first.positions != other.positions).any()


def test_refuses_a_vocabulary_without_words():
    with pytest.raises(InputError, match="special tokens only"):
        Masker(Vocabulary(SPECIAL), MaskSettings(max_predictions_per_seq=20))


def test_refuses_an_unknown_granularity():
    with pytest.raises(ValueError, match="token, word, ngram, span"):
        masker("sentence")
