"""What users pass as texts: one or many, alone or in pairs, as Python or NumPy objects."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

Text: TypeAlias = str | bytes
# One text or several: a string, a list of strings, an array of strings, a column of a table.
Column: TypeAlias = Text | Sequence[Text] | np.ndarray
# Single texts, or, as a tuple, first and second texts.
Texts: TypeAlias = Column | tuple[Column, Column]


class Given(NamedTuple):
    """Texts as they were given, in lists.

    Attributes:
      first: N texts.
      second: N texts, or None for single texts.
      is_one: whether it was one string or one pair, and not a list of one. Then answers have no
        batch axis.
    """

    first: list[Text]
    second: list[Text] | None
    is_one: bool

    def __len__(self) -> int:
        return len(self.first)

    @property
    def columns(self) -> tuple[list[Text], ...]:
        """The first texts and, if there are any, the second ones."""
        return (self.first,) if self.second is None else (self.first, self.second)


def are_plain(x: object) -> bool:
    """Whether `x` is meant as texts in memory: not a tensor, a dict of ids or a data set."""
    if isinstance(x, tuple):
        return bool(x) and all(map(are_plain, x))
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "USO"
    return isinstance(x, str | bytes | list) or _is_table_column(x)


def read(x: Texts, second: Column | None = None) -> Given:
    """Checks texts and puts them into lists.

    Args:
      x: a string, a list of strings, or a tuple (first texts, second texts) of these.
      second: the second texts, if `x` holds only the first ones.

    Raises:
      TypeError: something is not a string.
      ValueError: no text at all, or first and second texts differ in number.
    """
    if isinstance(x, tuple):
        if second is not None or len(x) != 2:
            raise TypeError(
                f"A tuple of {len(x)} was given as texts. A tuple is a pair, (first texts, second "
                "texts); give many texts as a list."
            )
        x, second = x
    first = _column(x, "texts")
    if second is None:
        return Given(first, None, isinstance(x, str | bytes))
    others = _column(second, "second texts")
    if isinstance(x, str | bytes) != isinstance(second, str | bytes) or len(first) != len(others):
        raise ValueError(
            f"There are {_count(x, first)} as first and {_count(second, others)} as second texts. "
            "Each first text needs its own second text."
        )
    return Given(first, others, isinstance(x, str | bytes))


def decoded(text: Text) -> str:
    """A text as a string; bytes that are not UTF-8 are ignored."""
    return text.decode("utf-8", "ignore") if isinstance(text, bytes) else text


def _column(x: Column, what: str) -> list[Text]:
    if isinstance(x, str | bytes):
        return [x]
    if isinstance(x, np.ndarray) or _is_table_column(x):
        x = cast(Any, x).tolist()
    if not isinstance(x, list | tuple):
        raise TypeError(f"{what}: a string or a list of strings was wanted, not {_described(x)}.")
    if not x:
        raise ValueError(f"{what}: the list is empty.")
    for index, text in enumerate(x):
        if not isinstance(text, str | bytes):
            advice = ""
            if isinstance(text, tuple | list):
                advice = " Pairs of texts are given as (first texts, second texts)."
            raise TypeError(f"{what}[{index}] is {_described(text)}; a string was wanted.{advice}")
    return list(x)


def _is_table_column(x: object) -> bool:
    """Whether it is a column of pandas or the like, without importing these."""
    return hasattr(x, "tolist") and hasattr(x, "index") and hasattr(x, "dtype")


def _described(x: object) -> str:
    text = repr(x)
    return f"{text if len(text) < 40 else text[:37] + '...'} ({type(x).__name__})"


def _count(x: Column, column: list[Text]) -> str:
    return "one string" if isinstance(x, str | bytes) else f"a list of {len(column)}"
