"""The words of the graph are those of the Python rule."""

import random

import pytest
import tensorflow as tf

from bert_tf.text import words
from bert_tf.text.graph_words import TextWords
from tests.reference import text_samples

SIGNATURE = [tf.TensorSpec([None], tf.string)]


@pytest.fixture(scope="module")
def split():
    """From texts to words, starts, ends and splits."""

    @tf.function(input_signature=SIGNATURE, autograph=False)
    def split(texts):
        found = TextWords(texts)
        return found.words, found.starts, found.ends, found.splits

    return split


@pytest.fixture(scope="module")
def check(split):
    def check(texts):
        found, starts, ends, splits = (x.numpy() for x in split(tf.constant(texts, tf.string)))
        assert len(splits) == len(texts) + 1
        for number, text in enumerate(texts):
            if isinstance(text, bytes):
                text = text.decode("utf-8", "ignore")
            part = slice(splits[number], splits[number + 1])
            spans = list(zip(starts[part].tolist(), ends[part].tolist(), strict=True))
            assert spans == words.split(text), ascii(text)
            assert [word.decode() for word in found[part]] == words.of(text), ascii(text)
        assert splits[-1] == len(found)

    return check


def test_equals_python_on_generated_texts(check):
    check(list(text_samples.strings(random.Random(61), 4001)))


def test_equals_python_on_bytes_that_are_not_utf8(check):
    check(list(text_samples.invalid_utf8(random.Random(67), 2003)))


def test_equals_python_on_every_kind_of_character(check):
    check([f"{c}a{c} .{c}1{c}." for c in text_samples.varied_characters()])


def test_equals_python_where_its_rules_meet(check):
    rng = random.Random(71)
    for alphabet in ("nN't’sSreEl d.-", "aU..-',:19 \u00ad北–", "'’.n\ufffft s\x00-,"):
        check(
            ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 12))) for _ in range(5003)]
        )


def test_equals_python_whatever_the_batch(check):
    parts = list(text_samples.strings(random.Random(73), 301))
    check([" ".join(parts), "".join(parts), "", "\n", "can't"])
    for texts in (
        [],
        [""],
        ["", ""],
        ["n't"],
        ["'"],
        ["x's"],
        [" "],
        *([part] for part in parts[:31]),
    ):
        check(texts)


def test_parts_of_texts_are_cut_out():
    texts = ["Neil  Armstrong, U.S.", "", "東京\u200b\uffff x"]
    found = TextWords(tf.constant(texts))
    whole = found.cut(tf.constant([0, 2, 4]), tf.constant([1, 3, 7]))
    assert [text.decode() for text in whole.numpy()] == [
        "Neil  Armstrong",
        ", U.S.",
        "東京\u200b\uffff x",
    ]


def test_uses_no_op_that_a_serving_image_lacks(split):
    graph = split.get_concrete_function().graph.as_graph_def()
    ops = {node.op for node in graph.node}
    ops |= {node.op for function in graph.library.function for node in function.node_def}
    assert all(hasattr(tf.raw_ops, op) for op in ops)
