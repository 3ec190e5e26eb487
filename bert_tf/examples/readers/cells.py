"""Typed values of a table's cells; what is wrong with one is an error with file and line."""

from collections.abc import Callable
from typing import TypeVar

from bert_tf.errors import InputError
from bert_tf.examples.readers import labels
from bert_tf.examples.readers.tables import Column, Row, Table

Value = TypeVar("Value")


class Cells:
    """Makes functions from a row of a table to a value. They raise InputError."""

    def __init__(self, table: Table):
        self.table = table

    def read_by(
        self, cell: Callable[[Row], object], read: Callable[[object], Value]
    ) -> Callable[[Row], Value]:
        """A function from a row to the value that `read` makes of a cell."""

        def value(row: Row) -> Value:
            try:
                return read(cell(row))
            except InputError:
                raise
            except ValueError as error:
                raise self.table.wrong(row, error) from None

        return value

    def texts(self, column: Column | None) -> Callable[[Row], str | None]:
        """The text in a column; None without one."""
        if column is None:
            return lambda row: None

        def read(cell: object) -> str:
            try:
                return labels.as_text(cell)
            except ValueError as error:
                raise ValueError(f"column {column!r}: {error}") from None

        return self.read_by(self.table.cell_of(column), read)

    def guids(self, column: Column | None) -> Callable[[Row], str]:
        """The row's id, or its number from 0."""
        text = self.texts(column)
        return lambda row: str(row.row_index) if column is None else text(row) or ""

    def weights(self, column: Column | None) -> Callable[[Row], float]:
        """The row's weight; 1 without a column."""
        if column is None:
            return lambda row: 1.0
        return self.read_by(self.table.cell_of(column), labels.weight)

    def texts_or_nothing(self, column: Column) -> Callable[[Row], str]:
        """The text in a column; "" where it is null or not there."""
        if isinstance(self.table.rows[0].cells, list):
            text = self.texts(column)
            return lambda row: text(row) or ""

        def value(row: Row) -> str:
            assert isinstance(row.cells, dict)
            cell = row.cells.get(str(column))
            return "" if cell is None else self.read_by(lambda _: cell, labels.as_text)(row)

        return value

    def lists(self, column: Column) -> Callable[[Row], tuple[str, ...]]:
        """The texts of a list in a column; text is cut at spaces."""

        def read(cell: object) -> tuple[str, ...]:
            if isinstance(cell, str):
                return tuple(cell.split())
            if not isinstance(cell, list | tuple):
                raise ValueError(f"column {column!r}: a list was wanted, {cell!r:.40} was found")
            return tuple(labels.as_text(each) for each in cell)

        return self.read_by(self.table.cell_of(column), read)
