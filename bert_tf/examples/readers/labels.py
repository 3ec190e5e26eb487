"""Label readers: the cell of a label column -> the label of an example, or a ValueError."""

import math
from collections.abc import Callable, Collection, Iterable

from bert_tf.examples.labelled import Label

# From a cell: text, a JSON value, or the labels of several columns. Raises ValueError.
LabelReader = Callable[[object], Label]


def as_text(cell: object) -> str:
    """A cell as text: what it is in JSON, so 1 gives "1" and true gives "true".

    Raises:
      ValueError: it is null, a list or an object.
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, int | float):
        return str(cell)
    raise ValueError(f"text was wanted, {_shown(cell)} was found")


def _shown(cell: object) -> str:
    return "null" if cell is None else f"{type(cell).__name__} {cell!r:.40}"


def one_of(labels: Collection[str]) -> LabelReader:
    """A label reader that takes only `labels`."""

    def read(cell: object) -> str:
        label = as_text(cell)
        if label not in labels:
            raise ValueError(f"label {label!r} is unknown; known: {', '.join(labels)}")
        return label

    return read


def any_label(cell: object) -> str:
    """A label reader that takes any text, to find out which labels a file has."""
    label = as_text(cell)
    if not label.strip():
        raise ValueError("the label is empty")
    return label


def number(low: float = -math.inf, high: float = math.inf) -> LabelReader:
    """A label reader of finite numbers from `low` to `high`."""

    def read(cell: object) -> float:
        try:
            value = float(as_text(cell))
        except ValueError:
            raise ValueError(f"label {cell!r} is not a number{_comma(cell)}") from None
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(f"label {cell!r} is not a finite number from {low:g} to {high:g}")
        return value

    return read


def _comma(cell: object) -> str:
    return "; numbers have a decimal point" if "," in str(cell) else ""


def several(read_label: LabelReader = any_label, separator: str = ",") -> LabelReader:
    """A label reader of all the labels that hold, which may be none.

    Args:
      read_label: of each of them.
      separator: between them, where the cell is text; a list has them apart.
    """

    def read(cell: object) -> tuple[str, ...]:
        found = [str(read_label(part)) for part in _parts(cell, separator)]
        if twice := [label for label in found if found.count(label) > 1]:
            raise ValueError(f"label {twice[0]!r} stands more than once in the cell")
        return tuple(found)

    return read


def _parts(cell: object, separator: str) -> Iterable[object]:
    if isinstance(cell, list | tuple):
        return cell
    text = as_text(cell)
    return [part.strip() for part in text.split(separator)] if text.strip() else []


def holds(cell: object) -> bool:
    """A label reader of a column of its own for each label: does it hold?

    Raises:
      ValueError: neither 0, 1, false nor true.
    """
    text = as_text(cell).strip().lower()
    if text not in _TRUTH:
        raise ValueError(f"{cell!r} is neither 1 (the label holds) nor 0")
    return _TRUTH[text]


_TRUTH = {"0": False, "false": False, "0.0": False, "1": True, "true": True, "1.0": True}


def weight(cell: object) -> float:
    """The weight of a row: a finite number from 0."""
    try:
        value = float(as_text(cell))
    except ValueError:
        raise ValueError(f"weight {cell!r} is not a number{_comma(cell)}") from None
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"weight {cell!r} is not a finite number from 0")
    return value
