"""The first ids of texts read in chunks against the Python tokenizer of the whole text."""

import itertools
import random
import sys
import unicodedata

import pytest
import tensorflow as tf

from bert_tf.text import characters, graph_reading
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.graph_reading import Sizes
from bert_tf.text.graph_tables import is_cased, is_ignored_by_casing
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.reference import text_samples

# Characters for every rule of the tokenizer: letters with and without case, of one to four bytes;
# sigmas; what casing ignores, breaks among it; accents with and without a combining class;
# combining characters that are kept; what is deleted; white space; CJK; no UTF-8.
HOSTILE = [
    *"aAéひ𝔘ΣΣσʰ'.:,≠\u037e北豈 \n\u3000\x00\xad\u200d\ufffd\ue000\uffff\u0378",
    *"\u0301\u0323\u0345\u0344\ufe0f\u034f\u302e\u1b44\U0001d165\U0001d16d한İ",
    *(b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80\x80\x80", b"\xed\xa0\x80"),
]


class Both:
    """The tokenizer in TensorFlow, which reads in chunks, and the one in Python."""

    def __init__(self, do_lower_case):
        vocabulary = Vocabulary(text_samples.vocabulary(do_lower_case))
        self.python = WordPieceTokenizer(vocabulary, do_lower_case)
        self.graph = GraphTokenizer(vocabulary, do_lower_case)
        self.largest = 0  # bytes of all texts that were tokenized at once

        def tokenize(texts):
            tf.py_function(self.note_size, [tf.strings.length(texts)], [])
            return self.graph(texts)

        numbers = [tf.TensorSpec([], tf.int32)] * 3

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string), *numbers], autograph=False)
        def first_ids(texts, limit, first, most):
            return graph_reading.first_ids(
                texts, limit, tokenize, do_lower_case, Sizes(first, most)
            )

        self.first_ids = first_ids

    def note_size(self, lengths):
        self.largest = max(self.largest, int(tf.reduce_sum(lengths)))

    def check(self, texts, limit, first, most=1 << 18):
        self.largest = 0
        rows = self.first_ids(tf.constant(texts, tf.string), limit, first, most).to_list()
        assert len(rows) == len(texts)
        for text, got in zip(texts, rows, strict=True):
            want = self.python.encode(text)
            where = (ascii(text)[:1000], limit, first, most)
            assert got == want[: len(got)] and len(got) >= min(limit, len(want)), where


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def both(request):
    return Both(request.param)


def as_bytes(part):
    return part if isinstance(part, bytes) else part.encode("utf-8")


def hostile_texts(rng, num_texts, longest_run):
    """Runs of hostile characters, alone and in turns."""
    for _ in range(num_texts):
        text = b""
        for _ in range(rng.randint(1, 12)):
            run = b"".join(as_bytes(rng.choice(HOSTILE)) for _ in range(rng.randint(1, 3)))
            text += run * int(longest_run ** rng.random())
        yield text


@pytest.mark.parametrize("first", [4, 5, 6, 7, 11, 16, 23, 64])
def test_equals_python_wherever_a_chunk_ends(both, first):
    rng = random.Random(first)
    texts = [
        *text_samples.strings(rng, 151),
        *text_samples.invalid_utf8(rng, 101),
        *hostile_texts(rng, 301, longest_run=5),
    ]
    both.check(texts, limit=rng.choice([1, 2, 5, 11]), first=first, most=1 << 12)


@pytest.mark.parametrize("limit", [1, 3, 17])
def test_equals_python_on_long_runs(both, limit):
    texts = list(hostile_texts(random.Random(limit), 211, longest_run=400))
    both.check(texts, limit, first=32, most=1 << 12)
    both.check(texts, limit, first=67, most=97)


def test_equals_python_on_sigmas_far_from_their_neighbours(both):
    rng = random.Random(5)
    parts = ["A", "Σ", ".", "'", "ʰ", "\u0301", "\ufe0f", "ひ", ",", " ", "b"]
    texts = [
        "".join(
            rng.choice(parts) * rng.choice([1, 1, 2, 70, 250]) for _ in range(rng.randint(2, 7))
        )
        for _ in range(401)
    ]
    texts += [
        f"{before}Σ{middle * 300}{behind}"
        for before, middle, behind in itertools.product(
            ["", "A", "A.", "ひ"], ["", ".", "ʰ", ".ʰ", "\u0301", "\ufe0f", "\xad"], ["", "a", " a"]
        )
    ]
    both.check(texts, limit=7, first=16, most=1 << 12)
    both.check(texts, limit=2, first=53, most=1 << 9)


def test_equals_python_in_a_batch_of_all_sizes(both):
    rng = random.Random(7)
    texts = [*text_samples.strings(rng, 301), *hostile_texts(rng, 31, 300), "", "a" * 10_000]
    rng.shuffle(texts)
    for first, most in ((64, 64), (64, 1000), (512, 1 << 14), (1 << 15, 1 << 20)):
        both.check(texts, limit=13, first=first, most=most)
        both.check(texts[:1], limit=13, first=first, most=most)
    both.check([], 13, 64, 64)
    both.check([""], 13, 64, 64)
    both.check([""] * 1001, 13, 64, 64)


@pytest.mark.parametrize(
    "run",
    ["a", " ", "\x00", "\u0301", "\ufe0f", "a\ufe0f", "Σ", "Σ.", "a.", ".", "北", "\u302e", "aひ"]
    + ["ʰ", "A\u00ad", b"\xff", b"\x80", b"\xc3", b"\xf0\x9f\x98", "\u1b44\u302e", "한"],
    ids=ascii,
)
def test_what_is_tokenized_at_once_does_not_grow_with_the_text(both, run):
    """Also of what waits behind a sigma."""
    run = as_bytes(run)
    texts = [run * (60_000 // len(run)) + b" fox", b"A" + "Σ".encode() + run * 20_000 + b"a"]
    most = 1 << 11
    both.check(texts, limit=5, first=128, most=most)
    # A chunk of each text, and what waits: up to 5 words of 202 letters of 3 bytes with accents.
    assert both.largest < 2 * (most + 128) + 7_000


def test_what_is_left_out_does_not_join_bytes(both):
    """E2 82 AC is the euro sign; here its bytes do not follow each other."""
    texts = [
        b"ab\xe2\x82" + gap * n + b"\xac cd" for gap in (b"\0", b" ", b"a") for n in (1, 2, 900)
    ]
    for first in (4, 7, 64):
        both.check(texts, limit=7, first=first)


def test_ordinary_text_is_read_once(both):
    text = " ".join(text_samples.WORDS) * 300
    both.check([text] * 3, limit=100, first=1600)
    assert both.largest <= 3 * 1600


@pytest.mark.parametrize("char_range", [range(0x30000), range(0xE0000, 0xE1000)])
def test_the_rules_hold_for_every_character(char_range):
    """What the argument in the module says of classes of characters."""
    for char in map(chr, char_range):
        if 0xD800 <= ord(char) < 0xE000 or not characters.cleaned(char):
            continue
        parts = unicodedata.normalize("NFD", char.lower())
        kept = [part for part in parts if unicodedata.category(part) != "Mn"]
        if not kept:
            assert is_ignored_by_casing(char), ascii(char)
        # A break is no combining character, and no character is a break in part.
        are_breaks = set(map(characters.is_punctuation, kept))
        assert len(are_breaks) <= 1, ascii(char)
        if True in are_breaks:
            assert unicodedata.combining(parts[0]) == 0, ascii(char)
            assert not any(map(unicodedata.combining, kept)), ascii(char)
        if characters.is_cjk(char) or char.isspace():
            assert not is_cased(char) and not is_ignored_by_casing(char), ascii(char)


def test_characters_outside_the_tables_are_letters_without_case():
    for codepoint in (0x30000, 0x31350, 0xDFFFF, 0xE1000, 0xF0000, 0x10FFFF, sys.maxunicode):
        char = chr(codepoint)
        assert characters.normal_form(char, do_lower_case=True) == char
        assert not is_cased(char) and not is_ignored_by_casing(char)


def test_the_first_ids_of_the_tokenizer():
    tokenizer = Both(True).graph
    text = "quick fox " * 10_000
    ids = tf.function(lambda texts: tokenizer.first_ids(texts, 3))(tf.constant([text, "", "fox"]))
    quick, fox = (tokenizer.vocabulary.ids[token] for token in ("quick", "fox"))
    rows = ids.to_list()
    assert (rows[0][:3], rows[1:]) == ([quick, fox, quick], [[], [fox]])
    assert len(rows[0]) < 100
