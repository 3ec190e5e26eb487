"""Differences between recorded answers and those of today."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from serving.parity.responses import Outputs


@dataclasses.dataclass(frozen=True)
class RowDifference:
    """A row of an output that is not the same.

    Attributes:
      record: its number in the file, from 0.
      row: its number in the request, from 0.
      recorded, found: the values.
    """

    record: int
    row: int
    recorded: str
    found: str


@dataclasses.dataclass
class OutputDifference:
    """How far an output differs.

    Attributes:
      is_text: whether it holds strings, which are the same or not.
      rows, identical: rows that were compared, and those that are exactly the same.
      largest: absolute difference of numbers; 0 for strings.
      first: rows that differ by more than is tolerated.
    """

    is_text: bool
    rows: int = 0
    identical: int = 0
    largest: float = 0.0
    first: list[RowDifference] = dataclasses.field(default_factory=list)

    @property
    def identical_share(self) -> float:
        """Of all rows."""
        return self.identical / self.rows if self.rows else 1.0


class Comparison:
    """Collects differences.

    Args:
      tolerance: largest absolute difference of numbers that is the same.
      num_shown: rows to keep of each output that differs.

    Attributes:
      outputs: differences by the name of the output.
      problems: what cannot be compared, and requests that fail.
      requests: that were compared.
    """

    def __init__(self, tolerance: float, num_shown: int) -> None:
        self._tolerance, self._num_shown = tolerance, num_shown
        self.outputs: dict[str, OutputDifference] = {}
        self.problems: list[str] = []
        self.requests = 0

    def fail(self, record: int, message: str) -> None:
        """Notes a request that is not answered."""
        self.problems.append(f"record {record}: {message}")

    def add(self, record: int, recorded: Outputs, found: Outputs) -> None:
        """Compares the outputs of a request."""
        self.requests += 1
        for name in sorted(recorded.keys() | found.keys()):
            if name not in recorded or name not in found:
                where = "recorded" if name in found else "answered"
                self.fail(record, f"output {name} is not {where}")
            elif problem := _incomparable(recorded[name], found[name]):
                self.fail(record, f"output {name} {problem}")
            else:
                self._compare(record, name, recorded[name], found[name])

    def is_same(self, min_identical: float) -> bool:
        """Whether nothing differs by more than is tolerated.

        Args:
          min_identical: share of the rows of an output whose strings are the same.
        """
        if self.problems:
            return False
        return all(
            each.identical_share >= min_identical
            if each.is_text
            else each.largest <= self._tolerance
            for each in self.outputs.values()
        )

    def _compare(self, record: int, name: str, recorded: np.ndarray, found: np.ndarray) -> None:
        is_text = recorded.dtype.kind == "O"
        output = self.outputs.setdefault(name, OutputDifference(is_text))
        for row, (old, new) in enumerate(_rows(recorded, found)):
            difference = float(not np.array_equal(old, new)) if is_text else _largest(old, new)
            output.rows += 1
            output.identical += difference == 0
            output.largest = max(output.largest, 0.0 if is_text else difference)
            is_shown = difference > (0.0 if is_text else self._tolerance)
            if is_shown and len(output.first) < self._num_shown:
                output.first.append(RowDifference(record, row, *_shown(old, new)))


def _incomparable(recorded: np.ndarray, found: np.ndarray) -> str:
    if recorded.shape != found.shape:
        return f"has shape {list(found.shape)}; recorded was {list(recorded.shape)}"
    if (recorded.dtype.kind == "O") != (found.dtype.kind == "O"):
        return f"is of type {found.dtype}; recorded was {recorded.dtype}"
    return ""


def _rows(recorded: np.ndarray, found: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of both; an output without a batch dimension is one row."""
    yield from zip(np.atleast_1d(recorded), np.atleast_1d(found), strict=True)


def _largest(recorded: np.ndarray, found: np.ndarray) -> float:
    """The largest absolute difference; NaN and infinities are the same as themselves only."""
    old, new = np.asarray(recorded, np.float64), np.asarray(found, np.float64)
    is_same = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore"):
        differences = np.where(is_same, 0.0, np.abs(old - new))
    return float(np.nan_to_num(differences, nan=np.inf, posinf=np.inf).max(initial=0.0))


def _shown(recorded: np.ndarray, found: np.ndarray) -> tuple[str, str]:
    """The values that differ first, as text."""
    old, new = np.atleast_1d(recorded).ravel(), np.atleast_1d(found).ravel()
    index = int(np.argmax(old != new))
    return _text(old[index]), _text(new[index])


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return repr(value.decode(errors="replace")[:60])
    return f"{value:.7g}" if isinstance(value, float | np.floating) else str(value)
