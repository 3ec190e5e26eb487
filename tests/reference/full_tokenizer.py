"""BERT's tokenizer said once more, as plainly and slowly as possible: the tests' oracle.

Written from what the released tokenizer is described to do, step by step on whole strings, and
sharing nothing with `bert_tf.text`. `benchmarks/text/tokenizer_parity.py` holds it against the
released code itself.
"""

import unicodedata

CJK = [
    range(0x4E00, 0xA000),
    range(0x3400, 0x4DC0),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B820, 0x2CEB0),
    range(0xF900, 0xFB00),
    range(0x2F800, 0x2FA20),
]
ASCII_SYMBOLS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def tokenize(text, tokens, do_lower_case):
    """Returns the wordpieces of a text (str or bytes) under a set of tokens."""
    tokens_of_text = []
    for word in split_into_words(text, do_lower_case):
        tokens_of_text += cut(word, tokens)
    return tokens_of_text


def split_into_words(text, do_lower_case):
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="ignore")
    text = "".join(blank_or_same(c) for c in text if not is_dropped(c))
    text = "".join(f" {c} " if any(ord(c) in block for block in CJK) else c for c in text)
    words = []
    for word in text.split():
        if do_lower_case:
            word = unicodedata.normalize("NFD", word.lower())
            word = "".join(c for c in word if unicodedata.category(c) != "Mn")
        word = "".join(f" {c} " if is_symbol(c) else c for c in word)
        words += word.split()
    return words


def is_dropped(c):
    if c in ("\t", "\n", "\r"):
        return False
    return c in ("\0", "\ufffd") or unicodedata.category(c) in {"Cc", "Cf"}


def blank_or_same(c):
    return " " if c in ("\t", "\n", "\r") or unicodedata.category(c) == "Zs" else c


def is_symbol(c):
    return c in ASCII_SYMBOLS or unicodedata.category(c).startswith("P")


def cut(word, tokens):
    """The longest token that starts the word, then the longest that goes on, and so forth."""
    if len(word) > 200:
        return ["[UNK]"]
    tokens_of_text = []
    rest = word
    while rest:
        mark = "##" if tokens_of_text else ""
        fitting = [n for n in range(1, len(rest) + 1) if mark + rest[:n] in tokens]
        if not fitting:
            return ["[UNK]"]
        tokens_of_text.append(mark + rest[: fitting[-1]])
        rest = rest[fitting[-1] :]
    return tokens_of_text
