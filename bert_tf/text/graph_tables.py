"""Properties of characters as tables of a TensorFlow graph, and how casing looks at characters."""

import itertools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf.text import characters

_PAGE_BITS = 7
_PAGE = 1 << _PAGE_BITS  # code points
_NUM_CODEPOINTS = 0x110000


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
    """Makes a table of a function of characters, with values below 2**15."""
    numbers = np.zeros(_NUM_CODEPOINTS, np.int16)
    for codepoint in itertools.chain(*characters.WITH_PROPERTIES):
        numbers[codepoint] = number_of(chr(codepoint))
    blocks, pages = np.unique(numbers.reshape(-1, _PAGE), axis=0, return_inverse=True)
    return CodePointTable(pages.ravel().astype(np.int32), blocks.ravel())


# The final sigma: there must be a cased character before it and none after, past characters that
# casing ignores. Python does not publish the two classes, so they are derived from `str.lower`.


def is_cased(char: str) -> bool:
    """Whether it makes a sigma before it, or one behind it, part of a word."""
    return f"AΣ{char}".lower()[1] == "σ"


def is_ignored_by_casing(char: str) -> bool:
    """Whether the rule looks past it, at the character behind it."""
    return not is_cased(char) and f"AΣ{char}A".lower()[1] == "σ"


def codepoints_with(has_property: Callable[[str], bool]) -> list[int]:
    """Code points of the characters with a property, among those that the tables cover."""
    codepoints = itertools.chain(*characters.WITH_PROPERTIES)
    return [codepoint for codepoint in codepoints if has_property(chr(codepoint))]


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
