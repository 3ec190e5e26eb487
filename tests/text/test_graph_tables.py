"""Tables of characters against the functions that they are made of."""

import itertools

import numpy as np
import tensorflow as tf

from bert_tf.text import characters, graph_tables, words

# Every eleventh character that tables cover, and the last before and the first behind them.
CHARACTERS = [
    chr(c)
    for c in (
        *itertools.chain(*(span[::11] for span in characters.WITH_PROPERTIES)),
        *(0x2FFFF, 0x30000, 0xDFFFF, 0xE0FFF, 0xE1000, 0x10FFFF),
    )
]


def rules(char):
    """All that some table says of a character, but which other one it becomes."""
    forms = [characters.normal_form(char, is_lower) for is_lower in (True, False)]
    return (
        words.shape(char),
        characters.is_punctuation(char),
        graph_tables.is_cased(char),
        graph_tables.is_ignored_by_casing(char),
        *(form == char for form in forms),
        *(form == f" {char} " for form in forms),
        *(form.strip() == "" for form in forms),
    )


def test_characters_that_are_not_asked_about_are_like_those_that_are():
    seen = {rules("ひ"): 0}
    table = graph_tables.make_table(lambda char: seen.setdefault(rules(char), len(seen)))
    numbers = table.lookup(tf.constant([ord(char) for char in CHARACTERS])).numpy()
    assert 20 < len(seen) < 2000 and len(set(numbers)) > 10
    for char, number in zip(CHARACTERS, numbers, strict=True):
        assert seen[rules(char)] == number, ascii(char)


def test_few_characters_are_asked_about():
    asked = []
    graph_tables.make_table(lambda char: asked.append(char) or 0)
    assert len(asked) == len(set(asked)) < 30_000


def test_the_characters_with_a_property():
    found = set(graph_tables.codepoints_with(characters.is_cjk))
    cjk = [ord(char) for char in CHARACTERS if characters.is_cjk(char)]
    assert len(cjk) > 5000 and found.issuperset(cjk)
    assert not found & {ord(char) for char in CHARACTERS if not characters.is_cjk(char)}
    assert graph_tables.codepoints_with(str.isspace) == [
        c for c in range(0x30000) if chr(c).isspace()
    ]


def test_a_table_knows_the_code_points_of_a_number():
    table = graph_tables.make_table(lambda char: 3 if char in "aÉ" else 0)
    assert table.codepoints(3) == [ord("a"), ord("É")]
    assert np.size(table.blocks) < 1000


def test_ranges_of_a_character_class():
    assert graph_tables.ranges([0x61, 0x63, 0x62, 0x1F600]) == (
        "\\x{61}-\\x{63}\\x{1F600}-\\x{1F600}"
    )
