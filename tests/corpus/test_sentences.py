"""Sentences of running text: examples by hand, and that nothing is lost of any text."""

import random

import pytest

from bert_tf.corpus import sentences
from bert_tf.corpus.sentences import Splitter
from bert_tf.errors import InputError


def split(text, language="en"):
    return [text[start:end] for start, end in Splitter(language).spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Darcy met Dr. Watson at 5 p.m. in St. James's.", "It was No. 7."],
        ["J. R. R. Tolkien wrote it.", "C. S. Lewis read it, e.g. in the U.S. edition."],
        ["It costs $3.50, i.e. 2.75 pounds.", "See www.example.com for more."],
        ["Well... no.", "Is it?", "Yes!", "Good."],
        ["“Won’t you?” said he.", "She would."],
        ['"I came.', "I saw.", 'I won," said Caesar.', "Then he left."],
        ["“It’s late.", "Don’t go!” he said.", "“Why?", "I must.”"],
        ["He (Dr. No. 5, as it were) left.", "They stayed."],
        ["He said that it works (see Fig. 3).", "It does."],
    ],
)
def test_english(expected):
    assert split(" ".join(expected)) == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", ["Am 3. Oktober kam Dr. Müller, z. B. um 5 Uhr.", "Das ist Nr. 7."]),
        ("de", ["„Das ist gut.", "Ich gehe.“", "Er ging."]),
        ("fr", ["Le 3 mai, M\u00b2 et env. 5 amis sont là.", "Où est-il ?", "Ici !"]),
        ("ru", ["Он родился в 1799 г. в Москве.", "Потом он уехал."]),
        ("hi", ["यह एक वाक्य है।", "यह दूसरा है।"]),
    ],
)
def test_other_languages(language, expected):
    assert split(" ".join(expected), language) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["他来了。", "她走了！", "你呢？"],
        ["“你好。", "我走了。”", "他说。"],
        ["人口为3.5万。", "面积不大。"],
    ],
)
@pytest.mark.parametrize("language", ["zh", "zh-Hant", "ZH_cn"])
def test_chinese_has_no_spaces(language, expected):
    assert split("".join(expected), language) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\u3000\t"])
def test_white_space_has_no_sentence(text):
    assert Splitter().spans(text) == []


def test_offsets_are_those_of_the_text_given():
    text = "\u00a0 One is\nhere.\u2028Two\u3000is 😀. \t"
    assert Splitter().spans(text) == [(2, 14), (15, 24)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("A\u00a0. Bo", ["A\u00a0. Bo"]), ("ii. .A\x85.”>", ["ii.", ".A\x85.”>"])],
)
def test_white_space_of_several_bytes(text, expected):
    assert "".join(split(text)).split() == "".join(expected).split()


ALPHABET = [
    *"ab A.B!?…\"“”‘’'()[]<>{}\n\r\t\x85\u2028\u3000\xa0。！？「」«»1é😀\u0301`*-–\x00\x1c|@/։।Ж中"
]
ALPHABET += ["Dr.", "J. ", "z. B.", "3. ", "[1]", "a) ", "...", ". . .", " said he. ", "The "]


@pytest.mark.parametrize("language", ["en", "de", "zh", "ru", "el", "hy", "my"])
def test_nothing_is_lost_but_white_space(language):
    rng = random.Random(language)
    splitter = Splitter(language)
    for _ in range(997):
        text = "".join(rng.choices(ALPHABET, k=rng.randrange(41)))
        position = 0
        for start, end in splitter.spans(text):
            assert not text[position:start].strip()
            assert text[start:end] == text[start:end].strip() != ""
            position = end
        assert not text[position:].strip()


@pytest.mark.parametrize(
    "unit", ["Nine words make up a sentence of this text. ", "“No. ", "word ", "x", "。"]
)
def test_parts_of_a_long_text(monkeypatch, unit):
    text = unit * 401
    whole = Splitter().spans(text)
    monkeypatch.setattr(sentences, "_MAX_CHARS", 211)
    spans = Splitter().spans(text)
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(
        " ", ""
    )
    if unit.startswith("Nine"):
        assert spans == whole
        assert len(whole) == 401
    else:
        assert max(end - start for start, end in spans) <= 211


def test_a_sentence_beyond_the_limit_is_cut_at_white_space(monkeypatch):
    monkeypatch.setattr(sentences, "_MAX_CHARS", 23)
    assert split("one two three four five six seven eight. Nine.") == [
        "one two three four",
        "five six seven eight.",
        "Nine.",
    ]


def test_an_unknown_language():
    with pytest.raises(InputError) as error:
        Splitter("tlh")
    assert str(error.value).startswith("--language=tlh: no rules to split its text into sentences")
    assert " en es fi " in str(error.value)
