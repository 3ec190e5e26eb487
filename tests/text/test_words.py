"""Text to words: those of CoNLL-2003, where no list of words is needed for it."""

import sys
import unicodedata

import pytest

from bert_tf.text import characters, words
from tests.reference import text_samples


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # Sentences of the task's description and of newspapers, split as the corpus splits them.
        (
            "U.N. official Ekeus heads for Baghdad.",
            "U.N.|official|Ekeus|heads|for|Baghdad|.",
        ),
        (
            "Germany's German-born striker didn't play in AL-AIN, they're 1-0 up.",
            "Germany|'s|German-born|striker|did|n't|play|in|AL-AIN|,|they|'re|1-0|up|.",
        ),
        (
            "He said: \"O'Brien'll pay $1,000 (5%) at 10:30 a.m...\".",
            "He|said|:|\"|O'Brien|'ll|pay|$|1,000|(|5|%|)|at|10:30|a.m|...|\"|.",
        ),
        ("GEORGE W. BUSH'S AT&T-U.S. deal -- 1996-08-28", None),
        ("players’ wives can’t; U.S.-based", "players|’|wives|ca|n’t|;|U.S.-based"),
        ("AT&T. X-Y. No.5. e.g. J.", "AT&T|.|X-Y|.|No.5|.|e.g.|J."),
        ("a--b wait!? [x](y)", "a|--|b|wait|!|?|[|x|]|(|y|)"),
        ("1996–97 and a–b, 3:2:1,5,x", "1996–97|and|a|–|b|,|3:2:1,5|,|x"),
        # Words that are split already stay as they are.
        ("Germany 's did n't they 're U.S. , ... --", None),
        # The tokenizer's CJK characters, and scripts of words.
        ("東京 and서울、です。", "東|京|and서울|、|です|。"),
        # Control and format characters are inside a word or of none.
        ("\ufeffca\u00adt\u200b \x00 \u200b", "ca\u00adt"),
        ("e\u0301 \u0301 👍🏽", "e\u0301|\u0301|👍🏽"),
        (" \t\n\u3000", ""),
        ("", ""),
    ],
)
def test_words_are_split_as_in_corpora(text, wanted):
    if wanted is None:
        wanted = "|".join(text.replace("BUSH'S", "BUSH 'S").split())
    assert words.of(text) == [word for word in wanted.split("|") if word]
    assert [text[start:end] for start, end in words.split(text)] == words.of(text)


def test_a_word_of_the_corpus_stays_one():
    kept = "'s n't 're 'm 'll 've 'd O'Neal l'Homme d'Italia N'DJAMENA S&P 1/2 6-4 2:29.34 1,000.5"
    kept += " F.C. J. a.m. Inzamam-ul-Haq 08/26/96 12,900-13,100 MORAV.CHEMIC X@Y.COM A_B ... -- ,"
    for word in kept.split():
        assert words.of(word) == [word]


def test_every_character_has_a_shape_of_its_own_length():
    for char in text_samples.varied_characters():
        assert len(words.shape(char)) == (0 if characters.is_deleted(char) else 1), ascii(char)


def test_characters_that_the_table_of_the_graph_leaves_out_are_no_letters_with_case():
    others = set(range(0x30000, sys.maxunicode + 1)) - set(range(0xE0000, 0xE1000))
    assert {unicodedata.category(chr(codepoint)) for codepoint in others} <= {"Cn", "Co", "Lo"}
    assert words.shape("\U00030000") == words.shape("\U000e1000") == words.OTHER
