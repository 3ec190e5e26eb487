"""Properties of characters as tables of a TensorFlow graph, and how casing looks at characters."""

import functools
import itertools
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf.text import characters

_PAGE_BITS = 7
_PAGE = 1 << _PAGE_BITS  # code points
_NUM_CODEPOINTS = 0x110000

# Most characters are alike: ideographs of the CJK blocks, and those without any property, which are
# letters without case, private use, surrogates and what is not assigned. So tables are made by
# asking about one of each group and about all others, which are one in ten.
_IDEOGRAPH, _LETTER = "北", "ひ"
_OF_LETTERS = frozenset(["Lo", "Cn", "Co", "Cs"])


class CodePointTable(NamedTuple):
    """A number for every code point, 0 for those that `characters.WITH_PROPERTIES` leaves out.

    That of a code point `c` is `blocks[pages[c // _PAGE] * _PAGE + c % _PAGE]`.
    """

    pages: npt.NDArray[np.int32]
    blocks: npt.NDArray[np.int16]

    def lookup(self, points: tf.Tensor) -> tf.Tensor:
        """The numbers of code points, int32 of the same shape."""
        page = tf.gather(self.pages, tf.bitwise.right_shift(points, _PAGE_BITS))
        index = page * _PAGE + tf.bitwise.bitwise_and(points, _PAGE - 1)
        return tf.cast(tf.gather(self.blocks, index), tf.int32)

    def codepoints(self, number: int) -> list[int]:
        """The code points that have a number."""
        numbers = self.blocks.reshape(-1, _PAGE)[self.pages].ravel()
        return [int(codepoint) for codepoint in np.flatnonzero(numbers == number)]


def make_table(number_of: Callable[[str], int]) -> CodePointTable:
    """Makes a table of a function of characters, with values below 2**15.

    Args:
      number_of: must be the same for all ideographs of the CJK blocks that do not decompose, and
        for all characters without any property.
    """
    covered = _covered()
    numbers = np.zeros(_NUM_CODEPOINTS, np.int16)
    numbers[covered.ideographs] = number_of(_IDEOGRAPH)
    numbers[covered.letters] = number_of(_LETTER)
    numbers[covered.others] = [number_of(chr(codepoint)) for codepoint in covered.others]
    blocks, pages = np.unique(numbers.reshape(-1, _PAGE), axis=0, return_inverse=True)
    return CodePointTable(pages.ravel().astype(np.int32), blocks.ravel())


def codepoints_with(has_property: Callable[[str], bool]) -> list[int]:
    """Code points of the characters with a property, among those that the tables cover.

    Args:
      has_property: see `make_table` for what it must not tell apart.
    """
    covered = _covered()
    found = [codepoint for codepoint in covered.others if has_property(chr(codepoint))]
    for char, group in ((_IDEOGRAPH, covered.ideographs), (_LETTER, covered.letters)):
        found += group if has_property(char) else ()
    return sorted(found)


class _Covered(NamedTuple):
    """Code points that the tables cover.

    Attributes:
      ideographs, letters: those that are alike.
      others: those that are asked about one by one.
    """

    ideographs: list[int]
    letters: list[int]
    others: list[int]


@functools.cache
def _covered() -> _Covered:
    covered = _Covered([], [], [])
    for codepoint in itertools.chain(*characters.WITH_PROPERTIES):
        char = chr(codepoint)
        group = covered.others
        if unicodedata.category(char) in _OF_LETTERS and _is_caseless(char):
            group = covered.ideographs if characters.is_cjk(char) else covered.letters
        group.append(codepoint)
    return covered


def _is_caseless(char: str) -> bool:
    """Whether neither casing nor canonical decomposition or order knows it."""
    return (
        char.lower() == char
        and unicodedata.normalize("NFD", char) == char
        and not unicodedata.combining(char)
        and not is_cased(char)
        and not is_ignored_by_casing(char)
    )


# The final sigma: there must be a cased character before it and none after, past characters that
# casing ignores. Python does not publish the two classes, so they are derived from `str.lower`.


def is_cased(char: str) -> bool:
    """Whether it makes a sigma before it, or one behind it, part of a word."""
    return f"AΣ{char}".lower()[1] == "σ"


def is_ignored_by_casing(char: str) -> bool:
    """Whether the rule looks past it, at the character behind it."""
    return not is_cased(char) and f"AΣ{char}A".lower()[1] == "σ"


def ranges(codepoints: Iterable[int]) -> str:
    """The inside of a character class of a regular expression."""
    ascending = sorted(codepoints)
    parts: list[str] = []
    first = None
    for codepoint, following in zip(ascending, [*ascending[1:], None], strict=True):
        first = codepoint if first is None else first
        if following != codepoint + 1:
            parts.append(f"\\x{{{first:X}}}-\\x{{{codepoint:X}}}")
            first = None
    return "".join(parts)
