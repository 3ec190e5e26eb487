"""Which characters the released tokenizer deletes, splits at and strips.

The classes follow `unicodedata` of the running Python, as those of the released code do, so a
newer Python may class a newer character otherwise. Both forms of the tokenizer read them here.
"""

import unicodedata

# Released code; blocks known in 2018, so later extensions and kana are not in it.
_CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def is_deleted(char):
    """Whether clean-up drops it: control and format characters, and the replacement character.

    They go before anything is split, so what stood on both sides becomes one word.
    """
    if char in "\t\n\r":
        return False
    return char == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(char) in ("Cc", "Cf")


def is_cjk(char):
    """Whether it is a word of its own wherever it stands."""
    codepoint = ord(char)
    return any(first <= codepoint <= last for first, last in _CJK_BLOCKS)


def is_punctuation(char):
    """Whether it is a word of its own: Unicode punctuation, and every ASCII symbol."""
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char)[0] == "P"


def cleaned(char):
    """First pass: nothing for a deleted character, one space for white space, space around CJK."""
    if is_deleted(char):
        return ""
    if char.isspace():
        return " "
    return f" {char} " if is_cjk(char) else char


def separated(char):
    """Last pass: space around punctuation."""
    return f" {char} " if is_punctuation(char) else char


def stripped_and_separated(char):
    """Last pass after decomposition: without accents, space around punctuation."""
    return "" if unicodedata.category(char) == "Mn" else separated(char)


def normal_form(char, do_lower_case):
    """What becomes of a character that stands alone, spaces being word boundaries.

    A text's normal form is the concatenation of its characters' but for two rules that look at
    neighbours, both only under `do_lower_case`: a final sigma, and the order of combining
    characters that are not accents.
    """
    text = cleaned(char)
    if not do_lower_case:
        return "".join(map(separated, text))
    return "".join(map(stripped_and_separated, unicodedata.normalize("NFD", text.lower())))
