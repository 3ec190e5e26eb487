import random
import sys
import unicodedata

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from bert_tf.text import characters
from tests.reference import full_tokenizer

EVERY_CHARACTER = [chr(c) for c in range(sys.maxunicode + 1)]


def test_classes_are_those_of_the_reference():
    for char in EVERY_CHARACTER[:0x3000] + EVERY_CHARACTER[0x3000::41]:
        assert characters.is_deleted(char) == full_tokenizer.is_dropped(char), ascii(char)
        assert characters.is_punctuation(char) == full_tokenizer.is_symbol(char), ascii(char)


@pytest.mark.parametrize(
    ("char", "expected"),
    [("\u33ff", False), ("\u3400", True), ("\u4dbf", True), ("\u4dc0", False), ("\u9fff", True)]
    + [("\ua000", False), ("\uf8ff", False), ("\uf900", True), ("\ufaff", True), ("ひ", False)]
    + [("\U00020000", True), ("\U0002ceaf", True), ("\U0002ceb0", False), ("\U0002fa1f", True)],
)
def test_cjk_blocks(char, expected):
    assert characters.is_cjk(char) == expected


@pytest.mark.parametrize(
    ("char", "uncased", "cased"),
    [
        ("É", "e", "É"),
        ("\u0301", "", "\u0301"),
        ("İ", "i", "İ"),
        ("\u00ad", "", ""),
        ("\ufffd", "", ""),
        ("\n", " ", " "),
        ("\u2028", " ", " "),
        ("—", " — ", " — "),
        ("\u226e", " < ", "\u226e"),
        ("北", " 北 ", " 北 "),
        ("\uf900", " \u8c48 ", " \uf900 "),
        ("한", "한", "한"),
    ],
)
def test_normal_form(char, uncased, cased):
    expected = unicodedata.normalize("NFD", uncased)
    assert characters.normal_form(char, do_lower_case=True) == expected
    assert characters.normal_form(char, do_lower_case=False) == cased


def make_normalizer(replacements):
    buffer = characters.normalizer_model(replacements)
    return tf_text.FastBertNormalizer(model_buffer=tf.io.decode_raw(buffer, tf.uint8))


def test_replaces_the_characters_of_the_table_and_no_others():
    rng = random.Random(29)
    edges = [0, 1, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x10FFFF]
    points = edges + [rng.randrange(0xD800) for _ in range(1009)]
    points += [rng.randrange(0x10000, 0x110000) for _ in range(1009)]
    texts = ["", "x", " é ", "ẞ", "\U0001f600", "a" * 63]
    replacements = {point: rng.choice(texts) for point in points}
    normalizer = make_normalizer(replacements)

    neighbours = {point ^ (1 << bit) for point in points for bit in range(20)}
    asked = sorted(
        point
        for point in {*points, *neighbours}
        if point <= 0x10FFFF and not 0xD800 <= point < 0xE000
    )
    got = normalizer.normalize([f"<{chr(point)}>" for point in asked]).numpy()
    for point, text in zip(asked, got, strict=True):
        assert text.decode("utf-8") == f"<{replacements.get(point, chr(point))}>", hex(point)


@pytest.mark.parametrize("replacements", [{}, {0: ""}, {0x41: ""}, {0x10FFFF: "end"}])
def test_small_tables(replacements):
    text = "A\x00B\U0010ffff"
    expected = "".join(replacements.get(ord(char), char) for char in text)
    assert make_normalizer(replacements).normalize([text])[0].numpy().decode() == expected


def test_equal_subtrees_are_stored_once():
    one_plane = {point: " " for point in range(0x20000, 0x30000)}
    assert len(characters.normalizer_model(one_plane)) < 5000
