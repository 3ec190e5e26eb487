import collections
import itertools
import random

import pytest

from bert_tf.text.wordpiece import cut_into_wordpieces
from bert_tf.vocabulary import wordpiece_learner
from tests.reference import full_tokenizer

# Pairs by count: a+##b 5, x+##c 4, ##b+##a 3, ##a+##b 3, ##b+##c 2. After ab and xc: ##a+##b 3
# before ab+##a 3 by text; then ab+##ab 3, ab+##c 2.
COUNTS = {"abab": 3, "abc": 2, "xc": 4}
SPELLING = ["a", "b", "c", "x", "##a", "##b", "##c", "##x"]
MERGED = ["ab", "xc", "##ab", "abab", "abc"]


def random_counts(rng, num_words, letters="abcd"):
    words = ("".join(rng.choices(letters, k=rng.randint(1, 7))) for _ in range(num_words))
    return {word: rng.randint(1, 23) for word in words}


def spelling_of(counts):
    return wordpiece_learner.alphabet(sorted(set("".join(counts))))


def test_alphabet_starts_words_and_goes_on_with_them_unless_a_character_is_a_word():
    expected = ["!", "a", "é", "—", "北", "豈", "ひ", "##a", "##é", "##ひ"]
    assert wordpiece_learner.alphabet(["!", "a", "é", "—", "北", "豈", "ひ"]) == expected


def test_merges_the_most_frequent_pair_of_the_example():
    words = sorted(COUNTS.items())
    for num_merged in range(len(MERGED) + 1):
        tokens = wordpiece_learner.merge(words, SPELLING, 8 + num_merged, 1)
        assert tokens == SPELLING + MERGED[:num_merged]
    assert wordpiece_learner.merge(words, SPELLING, 99, 3) == SPELLING + MERGED[:-1]
    assert wordpiece_learner.merge(words, SPELLING, 99, 1) == SPELLING + MERGED


def naive_merges(counts, spelling, size):
    """The same by definition: all pairs are counted anew for every merge."""
    tokens = list(spelling)
    spelled = {word: [word[0], *(f"##{c}" for c in word[1:])] for word in counts}
    while len(tokens) < size:
        pairs = collections.Counter()
        for word, parts in spelled.items():
            for pair in itertools.pairwise(parts):
                pairs[pair] += counts[word]
        if not pairs:
            break
        first, second = min(pairs, key=lambda pair: (-pairs[pair], pair))
        token = first + second[2:]
        for parts in spelled.values():
            at = 0
            while at < len(parts) - 1:
                if (parts[at], parts[at + 1]) == (first, second):
                    parts[at : at + 2] = [token]
                at += 1
        if token not in tokens:
            tokens.append(token)
    return tokens


@pytest.mark.parametrize("seed", range(7))
def test_merges_as_defined(seed):
    counts = random_counts(random.Random(seed), 61, letters="ab" if seed % 2 else "abcd")
    spelling = spelling_of(counts)
    size = len(spelling) + 53
    merged = wordpiece_learner.merge(sorted(counts.items()), spelling, size, 1)
    assert merged == naive_merges(counts, spelling, size)


@pytest.mark.parametrize(
    ("size", "learned"),
    [
        (8, []),
        # Greedy cutting never takes ab nor ##ab; then abc costs 2, xc 4, abab 3, then 9.
        (9, ["abab"]),
        # Without abc, ab and ##ab: abc costs 4 as xc does and was merged later.
        (10, ["xc", "abab"]),
        (13, ["xc", "abab", "abc", "##ab", "ab"]),
        (14, ["xc", "abab", "abc", "##ab", "ab"]),
    ],
)
def test_keeps_what_greedy_cutting_needs(size, learned):
    assert wordpiece_learner.learn(COUNTS, SPELLING, size, 1) == SPELLING + learned


def test_min_frequency_keeps_rare_pairs_apart():
    assert "abc" not in wordpiece_learner.learn(COUNTS, SPELLING, 99, 3)


@pytest.mark.parametrize("seed", range(5))
def test_gives_the_size_asked_and_cuts_every_word(seed):
    counts = random_counts(random.Random(seed), 97)
    spelling = spelling_of(counts)
    for size in (len(spelling), len(spelling) + 1, len(spelling) + 31):
        tokens = wordpiece_learner.learn(counts, spelling, size, 1)
        assert len(tokens) == len(set(tokens)) == size
        assert tokens[: len(spelling)] == spelling
        assert all(full_tokenizer.cut(word, tokens) != ["[UNK]"] for word in counts)


@pytest.mark.parametrize("seed", range(5))
def test_needs_fewer_tokens_than_merging_alone(seed):
    counts = random_counts(random.Random(seed), 397)
    spelling = spelling_of(counts)
    size = len(spelling) + 61

    def num_tokens(tokens):
        ids = {token: token for token in tokens}
        return sum(n * len(cut_into_wordpieces(word, ids, 64)) for word, n in counts.items())

    merged = wordpiece_learner.merge(sorted(counts.items()), spelling, size, 1)
    learned = wordpiece_learner.learn(counts, spelling, size, 1)
    assert num_tokens(learned) < num_tokens(merged)


def test_does_not_depend_on_the_order_of_the_words():
    counts = random_counts(random.Random(29), 197)
    backwards = dict(reversed(counts.items()))
    spelling = spelling_of(counts)
    assert wordpiece_learner.learn(counts, spelling, 61, 1) == wordpiece_learner.learn(
        backwards, spelling, 61, 1
    )


def test_tokens_have_at_most_64_characters():
    counts = {"é" * 127: 11}
    tokens = wordpiece_learner.learn(counts, spelling_of(counts), 999, 1)
    assert max(len(token.removeprefix("##")) for token in tokens) == 64


def test_chooses_the_most_frequent_characters():
    counts = {"ab": 5, "b": 2, "dc": 1, "e\ud800": 1}  # b 7, a 5, c d e 1, half a pair 1
    assert wordpiece_learner.choose_characters(counts, 1.0) == (list("abcde"), ["\ud800"])
    assert wordpiece_learner.choose_characters(counts, 0.76) == (list("abc"), ["d", "e", "\ud800"])
    assert wordpiece_learner.choose_characters(counts, 0.75)[0] == ["a", "b"]
    assert wordpiece_learner.choose_characters(counts, 0.01)[0] == ["b"]


def test_words_beyond_the_spelling_do_not_count():
    assert wordpiece_learner.learn(COUNTS | {"abq": 99}, SPELLING, 10, 1) == (
        SPELLING + ["xc", "abab"]
    )
