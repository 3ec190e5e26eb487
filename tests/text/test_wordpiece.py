import pickle
import random
import unicodedata

import pytest

from bert_tf.text import wordpiece
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from tests.reference import full_tokenizer, text_samples

BOTH_CASINGS = pytest.mark.parametrize("do_lower_case", [True, False])
WORDS = (
    "un ##aff ##able want ##want ##ed wa runn ##ing , . ! ? ' hello how are you he ##llo é ##é "
    "a b ##b cooperate i ##s is ss ß ##ß σ ##σ ς ##ς ᄒ ##ᅡ ##ᆫ 北 京 ` Hello HÉ x ##x"
).split()


def make_tokenizer(tokens=(), do_lower_case=True):
    tokens = [*text_samples.SPECIAL_TOKENS, *tokens]
    return WordPieceTokenizer(Vocabulary(tokens), do_lower_case)


def wordpieces(text, do_lower_case=True):
    tokenizer = make_tokenizer(WORDS, do_lower_case)
    return tokenizer.tokens(tokenizer.encode(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unwanted running", "un ##want ##ed runn ##ing"),
        ("UNwant\u00e9d,running", "un ##want ##ed , runn ##ing"),
        ("unwantedQ running", "[UNK] runn ##ing"),
        (" \tHeLLo!how  \n Are yoU?  ", "hello ! how are you ?"),
        ("H\u00e9llo He\u0301llo", "hello hello"),
        ("北京a", "北 京 a"),
        ("co\u00adope\u200brate", "cooperate"),
        ("a\x00b a\ufffdb a\u0085b a\x1cb", "a ##b a ##b a ##b a ##b"),
        ("a\u00a0b\u2009b\u3000b\u2028b", "a b b b b"),
        ("İs ß", "is ß"),
        ("Σ aΣ Σσ ΣΣ", "σ a ##ς σ ##σ σ ##ς"),
        ("\u1fef\u212b", "` a"),
        ("한", "ᄒ ##ᅡ ##ᆫ"),
        ("[MASK] ##x", "[UNK] [UNK] [UNK] [UNK] [UNK] x"),
        ("", ""),
        (" \t\r\n\u3000\u200b", ""),
    ],
)
def test_lower_casing_splits_as_the_released_code_does(text, expected):
    assert wordpieces(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello hello HELLO", "Hello hello [UNK]"),
        ("HÉ HE\u0301", "HÉ [UNK]"),
        ("a\u00adb,Hello", "a ##b , Hello"),
        ("ß Σ", "ß [UNK]"),
    ],
)
def test_keeping_case_keeps_accents_too(text, expected):
    assert wordpieces(text, do_lower_case=False) == expected.split()


def test_words_are_limited_in_characters_after_clean_up():
    assert wordpieces("x" * 200) == ["x"] + ["##x"] * 199
    assert wordpieces("x" * 201) == ["[UNK]"]
    assert wordpieces("x\u0301" * 200) == ["x"] + ["##x"] * 199
    assert wordpieces("\u00ad".join("x" * 200)) == ["x"] + ["##x"] * 199
    assert wordpieces("é" * 200 + "-", do_lower_case=False) == ["é"] + ["##é"] * 199 + ["[UNK]"]


@BOTH_CASINGS
def test_equals_the_reference_on_generated_texts(do_lower_case):
    tokens = text_samples.vocabulary(do_lower_case)
    tokenizer, known = WordPieceTokenizer(Vocabulary(tokens), do_lower_case), set(tokens)
    for text in text_samples.strings(random.Random(11), 4001):
        expected = full_tokenizer.tokenize(text, known, do_lower_case)
        assert tokenizer.tokens(tokenizer.encode(text)) == expected, ascii(text)
        ids, offsets = tokenizer.encode_with_offsets(text)
        assert tokenizer.tokens(ids) == expected, ascii(text)
        check_offsets(text, expected, offsets, do_lower_case)


def check_offsets(text, tokens, offsets, do_lower_case):
    """Each span holds the source of its wordpiece; text outside of all spans gives none."""
    covered = set()
    for token, (start, end) in zip(tokens, offsets, strict=True):
        assert 0 <= start < end <= len(text)
        source = "".join(full_tokenizer.split_into_words(text[start:end], do_lower_case))
        if token != "[UNK]":
            # A part of a word has another end than the word, so perhaps another sigma.
            assert token.removeprefix("##").replace("ς", "σ") in source.replace("ς", "σ")
        covered.update(range(start, end))
    for index, char in enumerate(text):
        is_dropped = full_tokenizer.is_dropped(char) or char.isspace()
        is_accent = do_lower_case and unicodedata.category(char) == "Mn"
        assert index in covered or is_dropped or is_accent, ascii(text)


@BOTH_CASINGS
def test_equals_the_reference_on_every_kind_of_character(do_lower_case):
    texts = [text_samples.in_three_contexts(c) for c in text_samples.varied_characters()]
    words = [full_tokenizer.split_into_words(text, do_lower_case) for text in texts]
    tokens = text_samples.spelling_vocabulary("".join(parts) for parts in words)
    tokenizer, known = WordPieceTokenizer(Vocabulary(tokens), do_lower_case), set(tokens)
    for text, parts in zip(texts, words, strict=True):
        expected = [token for word in parts for token in full_tokenizer.cut(word, known)]
        assert tokenizer.tokens(tokenizer.encode(text)) == expected, ascii(text)
        assert tokenizer.tokens(tokenizer.encode_with_offsets(text)[0]) == expected, ascii(text)


def test_ignores_bytes_that_are_not_utf8():
    tokens = text_samples.vocabulary(do_lower_case=True)
    tokenizer, known = WordPieceTokenizer(Vocabulary(tokens), do_lower_case=True), set(tokens)
    for data in text_samples.invalid_utf8(random.Random(13), 1009):
        expected = full_tokenizer.tokenize(data, known, do_lower_case=True)
        assert tokenizer.tokens(tokenizer.encode(data)) == expected, data
        assert tokenizer.encode_with_offsets(data) == tokenizer.encode_with_offsets(
            data.decode("utf-8", "ignore")
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unaffable.", [(0, 2), (2, 5), (5, 9), (9, 10)]),
        (" \n are\r\n  you", [(3, 6), (10, 13)]),
        ("he\u0301llo he\u0301", [(0, 6), (7, 10)]),  # the accent goes with its letter
        ("héllo", [(0, 5)]),
        ("\u0301he\u0301, ", [(1, 4), (4, 5)]),  # but there is none before the first
        ("a\u0301b\u0301", [(0, 2), (2, 4)]),
        (",\u0301a", [(0, 2), (2, 3)]),
        ("\u200bco\u00adoperate\u200b", [(1, 11)]),  # deleted inside, and at the edges
        ("un\u00adwant", [(0, 2), (3, 7)]),
        ("e\u200d\u0301", [(0, 3)]),
        ("\u0130s", [(0, 2)]),  # lower case has one character more
        ("x\u0130x", [(0, 3)]),  # [UNK] is the whole word
        ("한", [(0, 1), (0, 1), (0, 1)]),
        ("ΣΣ", [(0, 1), (1, 2)]),
        ("\u1fef", [(0, 1)]),
        ("a北b", [(0, 1), (1, 2), (2, 3)]),
        ("x" * 201 + "!", [(0, 201), (201, 202)]),
        ("\u0301 \u200b", []),
        ("", []),
    ],
)
def test_offsets(text, expected):
    tokenizer = make_tokenizer(WORDS)
    ids, offsets = tokenizer.encode_with_offsets(text)
    assert offsets == expected
    assert ids == tokenizer.encode(text)


def test_offsets_where_combining_characters_change_places():
    """NFD sorts class 9 before class 224, whatever the order in the text."""
    tokenizer = make_tokenizer(["a", "##\u1b44", "##\u302e"])
    ids, offsets = tokenizer.encode_with_offsets("a\u302e\u1b44")
    assert tokenizer.tokens(ids) == ["a", "##\u1b44", "##\u302e"]
    assert offsets == [(0, 1), (2, 3), (1, 2)]


def test_what_is_remembered_is_bounded_and_not_handed_out(monkeypatch):
    monkeypatch.setattr(wordpiece, "_MAX_CACHED_CHUNKS", 3)
    monkeypatch.setattr(wordpiece, "_MAX_CACHED_CHARS", 5)
    tokenizer = make_tokenizer(WORDS)
    text = "a b unaffable hello how are you a b unaffable"
    expected = wordpieces(text)
    for _ in range(2):
        ids = tokenizer.encode(text)
        assert tokenizer.tokens(ids) == expected
        ids.clear()
        assert len(tokenizer._ids_of_chunk) <= 3
    assert "unaffable" not in tokenizer._ids_of_chunk


def test_pickles_for_worker_processes():
    tokenizer = make_tokenizer(WORDS, do_lower_case=False)
    tokenizer.encode("Hello")
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.encode("Hello HÉ") == tokenizer.encode("Hello HÉ")
    assert copy.do_lower_case is False
