"""Offsets of the graph tokenizer against those of the Python tokenizer."""

import random

import pytest
import tensorflow as tf

from bert_tf.text import graph_offsets
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.reference import full_tokenizer, text_samples

BOTH_CASINGS = pytest.mark.parametrize("do_lower_case", [True, False])


class Both:
    """The tokenizer in TensorFlow and the one in Python."""

    def __init__(self, tokens, do_lower_case):
        vocabulary = Vocabulary(tokens)
        self.graph = GraphTokenizer(vocabulary, do_lower_case)
        self.python = WordPieceTokenizer(vocabulary, do_lower_case)
        self.function = tf.function(
            self.graph.tokens_with_offsets,
            input_signature=[tf.TensorSpec([None], tf.string)],
            autograph=False,
        )

    def check(self, texts):
        ids, starts, ends = (x.to_list() for x in self.function(tf.constant(texts, tf.string)))
        for row in zip(texts, ids, starts, ends, strict=True):
            text, *got = row
            want_ids, want = self.python.encode_with_offsets(text)
            pairs = list(zip(*got[1:], strict=True))
            assert (got[0], pairs) == (want_ids, want), ascii(text)


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def both(request):
    return Both(text_samples.vocabulary(request.param), request.param)


def test_equals_python_on_generated_texts(both):
    both.check(list(text_samples.strings(random.Random(29), 3001)))


def test_equals_python_on_bytes_that_are_not_utf8(both):
    both.check(list(text_samples.invalid_utf8(random.Random(31), 2003)))


def test_equals_python_on_long_texts_and_on_each_alone(both):
    rng = random.Random(37)
    parts = list(text_samples.strings(rng, 401))
    both.check([" ".join(parts), "".join(parts), "", "".join(parts[::-1]), "\n"])
    for text in parts[:31]:
        both.check([text])
    both.check([])
    both.check([""])


@BOTH_CASINGS
def test_equals_python_on_every_kind_of_character(do_lower_case):
    texts = [text_samples.in_three_contexts(c) for c in text_samples.varied_characters()]
    words = [full_tokenizer.split_into_words(text, do_lower_case) for text in texts]
    Both(text_samples.spelling_vocabulary("".join(w) for w in words), do_lower_case).check(texts)


@BOTH_CASINGS
def test_equals_python_with_few_tokens_and_with_long_ones(do_lower_case):
    texts = list(text_samples.strings(random.Random(41), 503))
    Both([*text_samples.SPECIAL_TOKENS, "a", "##b"], do_lower_case).check(texts)
    letters = text_samples.vocabulary(do_lower_case)
    pairs = [a + b for a, b in zip(letters[7:], letters[8:], strict=False) if "##" not in a + b]
    tokens = [*letters, *pairs, *(f"##{pair}" for pair in pairs)]
    Both(list(dict.fromkeys(tokens)), do_lower_case).check(texts)


def test_marks_that_are_reordered(both):
    alphabet = "ab \u0301\u0323\u1b44\u302e\U0001d165\U0001d16d\u0345\u200bé北.ế"
    rng = random.Random(43)
    both.check(
        ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 9))) for _ in range(4001)]
    )


def test_characters_that_only_one_side_knows(both):
    """ICU decomposes and sorts characters that are newer than Python's tables."""
    newer = "\U000113c5\U000105c9\U00011383\U00016121\U0001611e\U00010d69\U00010d6d\u0897\u1c89"
    rng = random.Random(83)
    alphabet = f"{newer}aΣé\u0301\u302e ."
    both.check(
        ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 9))) for _ in range(1009)]
    )


@pytest.mark.parametrize(
    ("text", "starts", "ends"),
    [
        # From the definition of `encode_with_offsets`: an accent goes with its letter, what is
        # deleted inside a word belongs to it, and a Hangul syllable gives two letters here.
        ("he\u0301 \u0301ab", [0, 1, 5, 6], [1, 3, 6, 7]),
        ("\ufeffa\u200bb\u200b, 👍🏽", [1, 3, 5, 7], [2, 4, 6, 9]),
        ("b한a", [0, 1, 1, 1, 2], [1, 2, 2, 2, 3]),
        ("İ北\u0301a", [0, 1, 3], [1, 2, 4]),
        (b"a\xff\xc3b", [0, 1], [1, 2]),
        ("a" + "x" * 201 + " b", [0, 203], [202, 204]),
        ("", [], []),
    ],
)
def test_offsets_are_characters_of_the_text(text, starts, ends):
    letters = "a b h e i ᄒ ᅡ ᆫ 北 ,".split()
    both = Both([*text_samples.SPECIAL_TOKENS, *letters, *(f"##{x}" for x in letters)], True)
    _, got_starts, got_ends = both.graph.tokens_with_offsets([text])
    assert (got_starts.to_list(), got_ends.to_list()) == ([starts], [ends])


def test_uses_no_op_that_a_serving_image_lacks(both):
    graph = both.function.get_concrete_function().graph.as_graph_def()
    ops = {node.op for node in graph.node}
    ops |= {node.op for function in graph.library.function for node in function.node_def}
    text_ops = {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets", "NormalizeUTF8"}
    assert all(hasattr(tf.raw_ops, op) for op in ops - text_ops)


def test_rows_of_values_and_bytes_of_texts():
    assert graph_offsets.segment_ids(tf.constant([0, 0, 2, 2, 3, 3]), 3).numpy().tolist() == [
        1,
        1,
        3,
    ]
    data = graph_offsets.joined_bytes(tf.constant(["é", "", "a"]))
    assert bytes(data.numpy()) == "é  a ".encode()
    assert graph_offsets.starts_char(data).numpy().tolist() == [True, False, True, True, True, True]
    assert graph_offsets.joined_bytes(tf.constant([], tf.string)).shape == (0,)
