import sys
import unicodedata

import pytest

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
