"""Seeded texts of every kind a tokenizer can trip over, and vocabularies that tell them apart."""

import sys
import unicodedata

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

WORDS = (
    "the of and unaffable quick brown foxes naïve café Ångström résumé co-operate don't e-mail "
    "Straße MASSE große İstanbul DIŞARI ılık Iğdır ΟΔΥΣΣΕΥΣ Σίσυφος ΣΑΣ ΑΣ. σοφός ᾳ Ὀδυσσεύς "
    "ﬁnance eﬀect oﬃce ﬆ Ⅷ ½ m² №5 Ａｂｃ１２！ ﾃｽﾄ 한국어 한글 조선 日本語 東京タワー ひらがな が "
    "ガ 北京大学 漢字 豈更 שָׁלוֹם עברית العَرَبِيَّة ١٢٣ हिन्दी ক্ষ தமிழ் ไทย ကျွန် ខ្មែរ ᬩᬮᬶ᭄ ꦗꦮ꧀ "
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 👍🏽 🇩🇪 ☃ ✈\ufe0f "
    "𝔘𝔫𝔦 𝐀𝐁 𠜎𠜱 «да» „Haus“ ‘it’s’ — … ·x· ¿qué? ǅ Ǆ ǰ ΐ ﷺ \u212a \u212b \u2126"
).split()
FRAGMENTS = [
    *("[MASK]", "[CLS]", "[UNK]", "##x", "##", "#", "[unused1]", "x##y", "'s", "...", "@user", "_"),
    *("\u0301", "\u0307", "\u0345", "\u0338", "e\u0301\u0323", "\u0323\u0301e", "\u1b44\u302e"),
    *("\u302e\u1b44", "\U0001d16d\U0001d165", "\U0001d165\u0301\U0001d16d", "\U00016ff0\u302f"),
    *("\u1100\u1161\u11a8", "\uac01", "\u304b\u3099", "\u212b", "\u1e9b\u0323", "\u037e", "\u1fef"),
    *("\u03a3", "\u03c2", "A\u03a3", "\u03a3\u0301", "A\u03a3\u00ad", "A.\u03a3", "A\u03a3.\u03a3"),
    *("\x00", "\x01", "\x0b", "\x0c", "\x1c", "\x1f", "\x7f", "\x85", "\x9f", "\xad", "\u061c"),
    *("\u200b", "\u200c", "\u200d", "\u200e", "\u202e", "\u2060", "\ufeff", "\ufff9", "\U000e0041"),
    *(" ", "  ", "\t", "\n", "\r\n", "\xa0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f"),
    *("\u205f", "\u3000", "\ufffd", "\ue000", "\uf8ff", "\U000f0000", "\uffff", "\u0378", "\u2e5d"),
]
BLOCKS = (
    *((0x20, 0x7F), (0xA0, 0x250), (0x250, 0x370), (0x370, 0x400), (0x400, 0x530), (0x530, 0x700)),
    *((0x900, 0xE80), (0x1000, 0x1400), (0x1B00, 0x1C00), (0x1E00, 0x2000), (0x2000, 0x2C00)),
    *((0x3000, 0x3400), (0x4E00, 0x5000), (0xA640, 0xAC00), (0xAC00, 0xAE00), (0xF900, 0xFE00)),
    *((0xFE00, 0xFFFE), (0x10000, 0x10400), (0x11000, 0x11A00), (0x1D100, 0x1D800)),
    *((0x1E900, 0x1F700), (0x20000, 0x20100), (0x2F800, 0x2FA20)),
)


def assigned_characters():
    """Every assigned character that UTF-8 can hold; private use counts as assigned."""
    characters = map(chr, range(sys.maxunicode + 1))
    return [c for c in characters if unicodedata.category(c) not in ("Cn", "Cs")]


def varied_characters():
    """Assigned characters; of those past U+3400, one in 31 and what combines or decomposes."""
    return [
        char
        for char in assigned_characters()
        if ord(char) % 31 == 0
        or ord(char) < 0x3400
        or unicodedata.combining(char)
        or (unicodedata.decomposition(char) and unicodedata.category(char) != "Lo")
        or unicodedata.category(char) in ("Cc", "Cf", "Mn", "Zs")
        or unicodedata.category(char)[0] == "P"
    ]


def in_three_contexts(char):
    """A text with the character at the start, in the middle and at the end of a word."""
    return f"{char}ab a{char}b ab{char}"


def strings(rng, num_strings):
    """Yields texts: the kinds in `_KINDS` by turns, so that a few dozen show every kind."""
    for index in range(num_strings):
        yield _KINDS[index % len(_KINDS)](rng)


def invalid_utf8(rng, num_strings):
    """Yields byte strings, most of them broken: cut, swapped, overlong, surrogates, too large."""
    broken = [
        *(b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xe2\x82", b"\xe0\x80\x80"),
        *(b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x9f\x98", b"\xf0\x80\x80\x80", b"\xf5\x80"),
        *(b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe", b"\xff", b"\xe2\x28\xa1", b"\x00"),
    ]
    for text in strings(rng, num_strings):
        data = bytearray(text[:40].encode("utf-8"))
        for _ in range(rng.randint(1, 4)):
            at = rng.randint(0, len(data))
            if rng.random() < 0.5:
                data[at:at] = rng.choice(broken)
            elif data:
                data[at % len(data)] = rng.randrange(256)
            if rng.random() < 0.2:
                del data[at : at + 1]
        yield bytes(data)


def _words(rng):
    """Words as written, in other casings, composed and decomposed, split at any place."""
    words = []
    for _ in range(rng.randint(1, 6)):
        word = rng.choice(WORDS)
        word = rng.choice((str, str.upper, str.lower, str.title, str.swapcase))(word)
        words.append(unicodedata.normalize(rng.choice(("NFC", "NFD", "NFKC")), word))
    return rng.choice((" ", "", "-", "\t", "\u3000")).join(words)


def _mixture(rng):
    """Words with control characters, odd spaces, marks and literals between and inside them."""
    kinds = (rng.choice((FRAGMENTS, WORDS)) for _ in range(rng.randint(1, 8)))
    parts = [rng.choice(kind) for kind in kinds]
    return "".join(part[rng.randint(0, 1) * len(part) // 2 :] for part in parts)


def _one_script(rng):
    first, end = rng.choice(BLOCKS)
    points = (rng.randrange(first, end) for _ in range(rng.randint(1, 24)))
    return "".join(" " if rng.random() < 0.15 else chr(point) for point in points)


def _any_characters(rng):
    points = (rng.randrange(*rng.choice(BLOCKS)) for _ in range(rng.randint(1, 12)))
    return "".join(map(chr, points))


def _marks(rng):
    """Sigmas, capitals, accents and combining characters of every class, close together."""
    alphabet = "aAΣΣΣσςΑ.'’:·İıIe\u200d\u00ad -"
    alphabet += "\u0301\u0323\u0345\u0338\u1b44\u302e\U0001d165\U0001d16d"
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 14)))


def _long_word(rng):
    """Words around the limit of 200 characters, of one to four bytes each."""
    word = rng.choice("a é ab1 e\u0301 ж ひ 한 क 𝔘 👍 Σ İ a\u00ad".split())
    length = rng.choice((50, 100, 199, 200, 201, 202, 400, 401))
    word = (word * length)[:length]
    return rng.choice(("{}", "x {} y", "({})", "{}.{}", "北{}")).format(word, word)


def _ascii(rng):
    return "".join(chr(rng.randrange(0x20, 0x7F)) for _ in range(rng.randint(0, 40)))


def _blank(rng):
    return "".join(rng.choice(" \t\n\r\xa0\u3000\u200b\x00") for _ in range(rng.randint(0, 5)))


_KINDS = (_words, _mixture, _one_script, _any_characters, _marks, _ascii, _words, _mixture)
_KINDS += (_one_script, _any_characters, _marks, _long_word, _words, _mixture, _ascii, _blank)


def vocabulary(do_lower_case):
    """Some hundred tokens: the characters of `WORDS`, alone and as suffix, and some words.

    With it, most samples have pieces, so that a wrong character shows as a wrong piece. A few
    tokens can match nothing, as a learned vocabulary may have them.
    """
    texts = [*WORDS, *FRAGMENTS, "abcdefghijklmnopqrstuvwxyz0123456789"]
    if do_lower_case:
        texts = [unicodedata.normalize("NFD", text.lower()) for text in texts]
    else:
        texts += [text.upper() for text in texts]
    whole = "the of un ##aff ##able fox ##es quick quick, don 日本 ##本 ... ## ab ##ab ##b1".split()
    return list(dict.fromkeys(spelling_vocabulary(texts) + whole))


def spelling_vocabulary(texts):
    """The special tokens, then every character of the texts, alone and as suffix."""
    letters = sorted(set().union(*texts))
    return [*SPECIAL_TOKENS, "[unused1]", *letters, *(f"##{char}" for char in letters)]
