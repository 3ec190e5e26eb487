"""Tokens and offsets of texts in chunks against the Python tokenizer of the whole text."""

import random

import pytest
import tensorflow as tf

from bert_tf.text import characters, graph_spans
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.graph_tables import is_cased, is_ignored_by_casing
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.reference import text_samples


class Both:
    """The tokenizer in TensorFlow, in chunks of some bytes, and the one in Python."""

    def __init__(self, do_lower_case, chunk):
        vocabulary = Vocabulary(text_samples.vocabulary(do_lower_case))
        self.python = WordPieceTokenizer(vocabulary, do_lower_case)
        graph = GraphTokenizer(vocabulary, do_lower_case)
        self.function = tf.function(
            lambda texts: graph_spans.tokens_with_spans(texts, graph, chunk),
            input_signature=[tf.TensorSpec([None], tf.string)],
            autograph=False,
        )

    def check(self, texts):
        ids, *spans = self.function(tf.constant(texts, tf.string))
        assert ids.row_lengths().shape == len(texts)
        rows = zip(
            texts, ids.to_list(), *(ids.with_values(x).to_list() for x in spans), strict=True
        )
        for text, *got in rows:
            want_ids, offsets = self.python.encode_with_offsets(text)
            num_bytes = [len(text[:at].encode()) for at in range(len(text) + 1)]
            want = [want_ids, *map(list, zip(*offsets, strict=True))] if offsets else [[], [], []]
            want += [[num_bytes[at] for at in row] for row in want[1:]]
            assert got == want, ascii(text)[:1000]


@pytest.fixture(scope="module", params=[(True, 37), (False, 101)], ids=["uncased", "cased"])
def both(request):
    return Both(*request.param)


def test_equals_python_on_texts_longer_and_shorter_than_a_chunk(both):
    rng = random.Random(3)
    texts = list(text_samples.strings(rng, 301))
    both.check(texts)
    both.check(["", *texts[:31], "", ""])
    both.check(["".join(texts[:61]), "", " ".join(texts[61:]), "fox"])
    for text in ("", " ", "fox", "a" * 500, " " * 500, "北" * 100):
        both.check([text])
    both.check([])
    both.check([""] * 5)


def test_equals_python_where_a_chunk_may_end(both):
    """Accents, deleted characters and sigmas around the characters that end a chunk."""
    rng = random.Random(5)
    parts = ["A", "Σ", "a", "é", ".", "'", ",", "=", "!", "北", " ", "\n", "\u3000", "ー"]
    parts += ["\u0301", "\u0338", "\u302e", "\u1b44", "\ufe0f", "\xad", "\x00", "豈"]
    texts = ["".join(rng.choice(parts) for _ in range(rng.randint(30, 300))) for _ in range(101)]
    both.check(texts)


def test_a_chunk_ends_before_characters_that_no_rule_looks_past():
    may_end = graph_spans._ends_chunk()
    for byte in range(0x80):
        char = chr(byte)
        is_word = characters.is_punctuation(char) or not characters.cleaned(char).strip()
        is_safe = is_word and not is_cased(char) and not is_ignored_by_casing(char)
        assert not may_end[byte] or (is_safe and characters.cleaned(char)), ascii(char)
    for codepoint in range(0x80, 0x30000):
        if not 0xD800 <= codepoint < 0xE000 and may_end[chr(codepoint).encode()[0]]:
            assert characters.is_cjk(chr(codepoint)), hex(codepoint)
    assert not may_end[0x80:0xC0].any()
