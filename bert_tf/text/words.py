"""Text to the words that a tagger gives tags: a rule without lists of words, in plain Python.

The words of corpora such as CoNLL-2003 are split already: "Germany's" is "Germany" and "'s", a
comma is a word, "U.S.", "German-born" and "1-0" are one word each. The rule comes near to that:

- White space separates words.
- A CJK character is a word, as in the wordpiece tokenizer, and so is a mark of punctuation (the
  tokenizer's: Unicode punctuation and ASCII symbols). A run of one mark is one word: "...", "--".
- `JOINERS` between letters or digits stay inside their word (AL-AIN, O'Brien, AT&T), and
  `NUMBER_JOINERS` between digits (1,000 or 2:29.34).
- A period stays behind a single letter that begins a word or follows a period: U.S., J. Smith.
- An apostrophe with s, m, d, re, ve or ll begins a word where these end one, and so does "n't".
- Control and format characters belong to a word if they are inside it, and to none at its edges.

`graph_words` does the same in TensorFlow.
"""

import re
import unicodedata

from bert_tf.text import characters

APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"
PERIOD = "."
JOINERS = f"-\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{MIDDLE DOT}/&@_+{PERIOD}{APOSTROPHES}"
NUMBER_JOINERS = ",:\N{EN DASH}"

# Shapes: what the rule tells apart. ASCII letters are lower-cased, marks stand for themselves.
SPACE, CJK, CASED, DIGIT, OTHER, DELETED = " ", "C", "L", "D", "W", ""

_CASED = f"[a-z{CASED}]"
_CHARS = f"a-z{CASED}{DIGIT}{OTHER}"
_CHAR = f"[{_CHARS}]"
_JOINER, _NUMBER_JOINER, _APOSTROPHE, _NO_PERIOD = (
    f"[{re.escape(marks)}]"
    for marks in (JOINERS, NUMBER_JOINERS, APOSTROPHES, JOINERS.replace(PERIOD, ""))
)
_NOT_SINGLE = f"[{_CHARS}{re.escape(JOINERS.replace(PERIOD, ''))}]{_CASED}"
_INSIDE = "|".join(
    (
        _CHAR,
        rf"(?<={_CASED})(?<!{_NOT_SINGLE})\.(?!\.)",  # of an abbreviation
        rf"(?<={_CHAR}){_JOINER}(?={_CHAR})",
        rf"(?<={_CASED}\.)(?<!{_NOT_SINGLE}\.){_NO_PERIOD}(?={_CHAR})",  # U.S.-based
        rf"(?<={DIGIT}){_NUMBER_JOINER}(?={DIGIT})",
    )
)
_CLITIC = f"{_APOSTROPHE}(?:[smd]|re|ve|ll)(?!{_INSIDE})"
_NOT = f"n{_APOSTROPHE}t(?!{_INSIDE})"
_WORD = re.compile(
    f"{_CLITIC}|(?:{_INSIDE})(?:(?!{_CLITIC}|{_NOT})(?:{_INSIDE}))*"
    rf"|{CJK}|([^{SPACE}])(?:(?!{_CLITIC})\1)*"
)


def split(text: str) -> list[tuple[int, int]]:
    """The words of a text, as the start of each and the character after its end.

    >>> text = "Germany's AL-AIN (U.S.) won 1-0."
    >>> [text[start:end] for start, end in split(text)]
    ['Germany', "'s", 'AL-AIN', '(', 'U.S.', ')', 'won', '1-0', '.']
    """
    shapes = [shape(char) for char in text]
    kept = [index for index, each in enumerate(shapes) if each]
    words = _WORD.finditer("".join(shapes))
    return [(kept[word.start()], kept[word.end() - 1] + 1) for word in words]


def of(text: str) -> list[str]:
    """The words of a text."""
    return [text[start:end] for start, end in split(text)]


def shape(char: str) -> str:
    """What the rule sees of a character: one of the shapes, a lower-case letter, or a mark."""
    clean = characters.cleaned(char)
    if clean != char:
        return clean if len(clean) < 2 else CJK
    if characters.is_punctuation(char):
        return char
    if char.isascii():
        return DIGIT if char.isdigit() else char.lower()
    category = unicodedata.category(char)
    return CASED if category in ("Lu", "Ll", "Lt") else DIGIT if category == "Nd" else OTHER
