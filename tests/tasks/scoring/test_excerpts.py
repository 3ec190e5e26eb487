"""Excerpts show what is marked, in the words of the text, and cut no character."""

import pytest

from bert_tf.tasks.evaluation import Part
from bert_tf.tasks.scoring import excerpts
from bert_tf.tasks.scoring.excerpts import Mark

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"  # three emoji joined to one
GERMANY, NORWAY = "\U0001f1e9\U0001f1ea", "\U0001f1f3\U0001f1f4"
WAVE = "\U0001f44b\U0001f3fd"  # an emoji and its colour of skin
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e007f"


def text_of(parts):
    assert all(part.joins for part in parts)
    return "".join(part.text for part in parts)


def marked(parts):
    return [(part.text, part.mark) for part in parts if part.mark]


def test_a_short_passage_is_whole():
    text = "Oslo (Norway) is a city."
    parts = excerpts.around(text, [Mark(6, 12, "right"), Mark(19, 23, "wrong")])
    assert parts == (
        *(Part("Oslo (", "", True), Part("Norway", "right", True), Part(") is a ", "", True)),
        *(Part("city", "wrong", True), Part(".", "", True)),
    )
    assert excerpts.around("", []) == ()
    assert excerpts.around("Oslo", [Mark(0, 4, "right")]) == (Part("Oslo", "right", True),)


def test_a_long_passage_is_cut_between_words_around_the_marks():
    words = [f"word{i:03}" for i in range(200)]  # eight characters with the space
    text = " ".join(words)
    first, second = text.index("word050"), text.index("word150")
    marks = [Mark(first, first + 7, "missed"), Mark(second, second + 7, "wrong")]
    parts = excerpts.around(text, marks)
    assert marked(parts) == [("word050", "missed"), ("word150", "wrong")]
    # 100 characters before word050 is the middle of word037; the margin behind it ends at a space.
    around = [" ".join(words[38:63]), " ".join(words[138:163])]
    assert text_of(parts) == f"... {around[0]} ... {around[1]} ..."


def test_without_marks_it_is_the_beginning():
    assert excerpts.around("Oslo.", []) == (Part("Oslo.", "", True),)
    assert text_of(excerpts.around("x" * 1000, [])) == "x" * 400 + " ..."


def test_marks_close_to_each_other_are_shown_together():
    text = "a " * 500
    marks = [Mark(400, 401, "right"), Mark(401, 420, "wrong"), Mark(500, 501, "missed")]
    parts = excerpts.around(text, marks)
    assert [mark for _, mark in marked(parts)] == ["right", "wrong", "missed"]
    assert text_of(parts).count("...") == 2


def test_the_middle_of_a_long_mark_is_left_out():
    text = "b" * 50 + "a" * 1000 + "c" * 50
    parts = excerpts.around(text, [Mark(50, 1050, "wrong")])
    assert text_of(parts) == "b" * 50 + "a" * 100 + " ... " + "a" * 100 + "c" * 50
    assert marked(parts) == [("a" * 100, "wrong")] * 2


def test_short_texts():
    assert excerpts.short("x" * 400) == "x" * 400
    assert excerpts.short("word " * 200) == f"{'word ' * 79}word ..."


@pytest.mark.parametrize(
    "character", [FAMILY, GERMANY, WAVE, SCOTLAND, "e\u0301\u0323", "\u0915\u093f", "\u2764\ufe0f"]
)
def test_a_character_is_not_cut(character):
    text = f"ab{character}c"
    for position in range(3, 2 + len(character)):
        assert excerpts.boundary(text, position) == 2
    for position in (0, 1, 2, 2 + len(character), len(text)):
        assert excerpts.boundary(text, position) == position
    long = "x" * 399 + character + "y"
    assert excerpts.short(long) == f"{'x' * 399} ..."


def test_a_cut_of_an_endless_character_is_made_anyway():
    text = "e" + "\u0301" * 1000
    assert excerpts.boundary(text, 500) == 500
    assert len(excerpts.short(text)) == 404
    assert excerpts.boundary("\u0301\u0301", 1) == 0


def test_half_a_surrogate_pair_is_replaced():
    """JSON can hold it, UTF-8 and so a page cannot."""
    assert excerpts.short("a\ud83d!") == "a?!"
    assert excerpts.around("a\ud83d!", [Mark(1, 2, "right")])[1] == Part("?", "right", True)


def test_a_passage_in_arabic_keeps_its_order():
    text = "تقع أوسلو في النرويج"
    parts = excerpts.around(text, [Mark(4, 9, "right")])
    assert text_of(parts) == text and marked(parts) == [("أوسلو", "right")]
