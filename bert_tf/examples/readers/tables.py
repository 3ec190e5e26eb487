"""A file of rows, in any format: its rows, and the cells of a column."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bert_tf.errors import InputError

Column = str | int  # name, or number from 0 where the file names no columns


class Row(NamedTuple):
    """A row of a file.

    Attributes:
      row_index: from 0; rows that were left out count.
      number: for messages: the line where it begins, from 1, or the row's number, from 1.
      cells: of a delimited file, as text; or values by their names.
    """

    row_index: int
    number: int
    cells: list[str] | dict[str, object]


@dataclasses.dataclass(frozen=True)
class Table:
    """The rows of a file, at least one.

    Attributes:
      path: of the file.
      names: of its columns; None where it has no header.
      width: number of columns.
      rows: as a file is read at least one.
      counts: what `Row.number` is, "line" or "row".
      hint: what may be wrong if a column is missing; "" for nothing to say.
    """

    path: str
    names: Sequence[str] | None
    width: int
    rows: list[Row]
    counts: str = "line"
    hint: str = ""

    def require(self, columns: Sequence[Column]) -> None:
        """Checks that every column is there once.

        Raises:
          InputError: one is not; the message has all the columns.
        """
        if self.names is None:
            self._require_width(1 + max((int(column) for column in columns), default=-1))
            return
        names = list(self.names)
        if missing := [name for name in columns if name not in names]:
            is_delimited = isinstance(self.rows[0].cells, list)
            what, verb = ("header has", "reads") if is_delimited else ("rows have", "has")
            raise InputError(
                f"{self.path}: the {what} no column {', '.join(map(repr, missing))}; "
                f"it {verb} {names}, wanted {list(columns)}.{self.hint}"
            )
        if twice := [name for name in columns if names.count(str(name)) > 1]:
            raise InputError(f"{self.path}: the header has {twice[0]!r} more than once: {names}.")

    def _require_width(self, wanted: int) -> None:
        if wanted > self.width:
            raise InputError(
                f"{self.path}, {self.counts} {self.rows[0].number}: {self.width} columns found, "
                f"at least {wanted} wanted, separated by tabs."
            )

    def cell_of(self, column: Column) -> Callable[[Row], object]:
        """A function from a row to its cell in a column that `require` has checked."""
        if self.names is None:
            index = int(column)
        elif not self.rows or isinstance(self.rows[0].cells, list):
            index = list(self.names).index(str(column))
        else:
            return self._value_of(str(column))

        def cell(row: Row) -> object:
            assert isinstance(row.cells, list)
            return row.cells[index]

        return cell

    def _value_of(self, name: str) -> Callable[[Row], object]:
        def value(row: Row) -> object:
            assert isinstance(row.cells, dict)
            if name not in row.cells:
                raise self.wrong(row, f"there is no {name!r}; it has {', '.join(row.cells)}")
            return row.cells[name]

        return value

    def wrong(self, row: Row, problem: object) -> InputError:
        """The error of a row: file, line, what is wrong."""
        return InputError(f"{self.path}, {self.counts} {row.number}: {problem}.")
