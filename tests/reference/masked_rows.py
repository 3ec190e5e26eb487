"""Rows of tokens to mask, and what chance allows of the masks that are drawn."""

import math

import numpy as np

from bert_tf.text.vocab import Vocabulary

SPECIAL = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [f"word{number}" for number in range(53)]
TAILS = [f"##{number}" for number in range(29)]
VOCABULARY = Vocabulary(SPECIAL + WORDS + TAILS)
PAD, UNUSED, UNK, CLS, SEP, MASK = range(len(SPECIAL))
WORD, TAIL = len(SPECIAL), len(SPECIAL) + len(WORDS)
NUM_TEXT = len(WORDS) + len(TAILS)

# Per cent of [MASK], same and random, the columns of the table in appendix C.2 of the paper.
SHARES = [(80, 10, 10), (100, 0, 0), (80, 0, 20), (80, 20, 0), (0, 20, 80), (0, 0, 100)]

# Tokens of a row, slots, predictions at 15 %, and how often there is one more: rounded up as often
# as makes the share right on average.
NUMBERS_OF_PREDICTIONS = [
    (125, 20, 18, 0.75),  # 18.75
    (30, 20, 4, 0.5),
    (20, 20, 3, 0.0),
    (23, 20, 3, 0.45),
    (2, 20, 1, 0.0),  # at least one
    (0, 20, 0, 0.0),
    (133, 20, 19, 0.95),
    (509, 20, 20, 0.0),  # 76.35
    (509, 601, 76, 0.35),  # more slots than tokens
]


def block(*rows):
    """int32 [n T] of rows of different lengths."""
    length = max(map(len, rows))
    return np.array([list(row) + [PAD] * (length - len(row)) for row in rows], np.int32)


def sequence(num_tokens):
    """[CLS] a [SEP] b [SEP] with so many tokens of text, all different from their neighbours."""
    text = [WORD + place % 53 for place in range(num_tokens)]
    half = num_tokens // 2
    return [CLS, *text[:half], SEP, *text[half:], SEP]


def random_block(seed, num_rows, length=127, continued=0.0, special=0.02):
    """Rows of 60 tokens or more: words, tokens that go on with them, special tokens, padding."""
    generator = np.random.default_rng(seed)
    shape = (num_rows, length)
    word_ids = generator.integers(WORD, TAIL, shape)
    tails = generator.integers(TAIL, len(VOCABULARY), shape)
    word_ids = np.where(generator.random(shape) < continued, tails, word_ids)
    word_ids = np.where(
        generator.random(shape) < special, generator.choice([SEP, UNK, UNUSED], shape), word_ids
    )
    num_tokens = generator.integers(60, length + 1, num_rows)
    word_ids[np.arange(length) >= num_tokens[:, None]] = PAD
    return word_ids.astype(np.int32)


def groups_of(row, starts=None):
    """(start, end) of each group of a row, token by token; without `starts`, bool [T]: words."""
    groups = []
    for place, word_id in enumerate(row):
        goes_on = word_id >= TAIL if starts is None else not starts[place]
        if word_id < WORD:
            continue
        if goes_on and groups and groups[-1][1] == place:
            groups[-1][1] = place + 1
        else:
            groups.append([place, place + 1])
    return groups


def within(count, total, probability, deviations=4.5):
    """Whether so many of `total` independent draws may have come out."""
    deviation = math.sqrt(total * probability * (1 - probability))
    return abs(count - total * probability) <= deviations * deviation


def assert_shares(before, after, shares):
    """Of tokens to predict, what stood there and what stands there now, against `SHARES`."""
    mask_prob, same_prob, random_prob = (share / 100 for share in shares)
    total = len(after)
    itself = random_prob / NUM_TEXT  # a random token is the token itself once in 82
    assert within((after == MASK).sum(), total, mask_prob)
    assert within((after == before).sum(), total, same_prob + itself)
    assert within(((after != MASK) & (after != before)).sum(), total, random_prob - itself)


def assert_uniform_over_text(put_in):
    """Random tokens: none is special, the others are equally frequent."""
    assert put_in.min() == WORD
    counts = np.bincount(put_in, minlength=len(VOCABULARY))[WORD:]
    expected = counts.mean()
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = NUM_TEXT - 1
    assert abs(chi_square - freedom) < 5 * math.sqrt(2 * freedom)
