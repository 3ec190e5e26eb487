"""Layouts: what the columns of a task's files mean. A layout turns a file into examples."""

import abc
import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from bert_tf.examples.labelled import Example, Label, TextExample
from bert_tf.examples.readers import formats, labels
from bert_tf.examples.readers.cells import Cells
from bert_tf.examples.readers.delimited import DIALECT, Dialect
from bert_tf.examples.readers.labels import LabelReader
from bert_tf.examples.readers.tables import Column, Row, Table
from bert_tf.examples.readers.text_files import expand

AnyExample = TypeVar("AnyExample", bound=Example)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout(abc.ABC, Generic[AnyExample]):
    """What the columns of a task's files mean.

    Attributes:
      dialect: of TSV and CSV files.
      alternatives: layouts that files may have instead. A file is read by the first one whose
        columns it has, this one before the others.
      set_column, set_name: column that tells the sets of one file apart, such as languages, and
        the set to read; see `of_set`.
    """

    dialect: Dialect = DIALECT
    alternatives: "tuple[Layout[AnyExample], ...]" = ()
    set_column: Column | None = None
    set_name: str = ""

    def of_set(self, set_name: str) -> "Layout[AnyExample]":
        """This layout, reading of files with a `set_column` only the rows of that set.

        The name "" means all rows.
        """
        others = tuple(layout.of_set(set_name) for layout in self.alternatives)
        return dataclasses.replace(self, set_name=set_name, alternatives=others)

    def read(
        self,
        path: str,
        read_label: LabelReader | None = None,
        *,
        is_test: bool = False,
        is_quiet: bool = False,
    ) -> list[AnyExample]:
        """Reads the examples of a file.

        Args:
          path: of the file; its ending tells the format, see `formats`.
          read_label: from a cell to a label, raising ValueError; None: examples have no label.
          is_test: whether it is a test file, which may have other columns and no labels.
          is_quiet: whether to say nothing of blank lines.

        Raises:
          InputError: a file, a row or a label is not as wanted; the message has file and line.
        """
        layout: Layout[AnyExample] = self
        if self.alternatives and not self.fits(path, is_test=is_test):
            fitting = (each for each in self.alternatives if each.fits(path, is_test=is_test))
            layout = next(fitting, self)
        return layout.read_as_is(path, read_label, is_test=is_test, is_quiet=is_quiet)

    @abc.abstractmethod
    def read_as_is(
        self, path: str, read_label: LabelReader | None, *, is_test: bool, is_quiet: bool
    ) -> list[AnyExample]:
        """Reads a file by this layout and none of its `alternatives`; see `read`."""

    @abc.abstractmethod
    def fits(self, path: str, *, is_test: bool = False) -> bool:
        """Whether a file has the columns of this layout, as far as its first row tells."""

    @abc.abstractmethod
    def has_ids(self, *, is_test: bool = False) -> bool:
        """Whether files have a column of ids; else the guids are numbers from 0."""

    def open(self, path: str, columns: Sequence[Column], is_quiet: bool) -> Table:
        """The table of a file, with the rows of the set alone.

        Raises:
          InputError: see `formats.read`.
        """
        wanted = (*columns, *flat(self.set_column))
        if self.set_column is None or not self.set_name:
            return formats.read(path, wanted, self.dialect, is_quiet)
        modified = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
        table = _table_of_sets(path, modified, wanted, self.dialect)
        cell = Cells(table).texts(self.set_column)
        rows = [row for row in table.rows if cell(row) == self.set_name]
        return dataclasses.replace(table, rows=rows)


@functools.lru_cache(maxsize=1)
def _table_of_sets(
    path: str, modified: int, columns: tuple[Column, ...], dialect: Dialect
) -> Table:
    """A table that is read for one set after the other; `modified` makes a changed file another."""
    return formats.read(path, columns, dialect)


def read_all(
    layout: Layout[AnyExample],
    pattern: str,
    read_label: LabelReader | None,
    *,
    is_test: bool = False,
    is_quiet: bool = False,
) -> list[AnyExample]:
    """Reads a file, or the files of a pattern with `*`, `?` or `[...]` in order of their names.

    Raises:
      InputError: no file matches; see `Layout.read`.
    """
    paths = expand(pattern)
    if paths == [pattern]:
        return layout.read(pattern, read_label, is_test=is_test, is_quiet=is_quiet)
    found = [
        example
        for path in paths
        for example in layout.read(path, read_label, is_test=is_test, is_quiet=is_quiet)
    ]
    if layout.has_ids(is_test=is_test):
        return found
    without_ids: list[Any] = found  # these have guids that are fields
    return [dataclasses.replace(example, guid=str(i)) for i, example in enumerate(without_ids)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a `TextExample`: names, or numbers from 0 if the file has no header.

    None where the file has no such column.

    Attributes:
      label: a tuple where each label has a column of its own, with 1 where it holds.
      row_id: the example's guid; None: rows are numbered from 0.
      weight: of the row's loss.
    """

    text_a: Column
    text_b: Column | None = None
    label: Column | tuple[Column, ...] | None = None
    row_id: Column | None = None
    weight: Column | None = None

    @property
    def wanted(self) -> list[Column]:
        """The columns to look for, in the order of the attributes."""
        return flat(self.text_a, self.text_b, self.label, self.row_id, self.weight)


def flat(*columns: Column | tuple[Column, ...] | None) -> list[Column]:
    """The columns that are not None, in a row."""
    found: list[Column] = []
    for column in columns:
        if column is not None:
            found += column if isinstance(column, tuple) else (column,)
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextLayout(Layout[TextExample]):
    """Files with a text or a pair of texts in each row.

    Attributes:
      columns: of train and dev files.
      test_columns: of test files; mostly without labels.
      renamed_labels: from a label of the files to the task's name for it.
      refuses_empty_text: whether a row with a label and an empty text is an error.
    """

    columns: Columns
    test_columns: Columns
    renamed_labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    refuses_empty_text: bool = False

    @property
    def num_texts(self) -> int:
        """1 for single texts, 2 for pairs."""
        return 1 if self.columns.text_b is None else 2

    def read_as_is(
        self, path: str, read_label: LabelReader | None, *, is_test: bool, is_quiet: bool
    ) -> list[TextExample]:
        columns = self.test_columns if is_test else self.columns
        table = self.open(path, columns.wanted, is_quiet)
        cells = Cells(table)
        text_a, text_b = cells.texts(columns.text_a), cells.texts(columns.text_b)
        label = self._labels(cells, columns, read_label)
        guid, weight = cells.guids(columns.row_id), cells.weights(columns.weight)
        examples = [
            TextExample(guid(row), text_a(row) or "", text_b(row), label(row), weight(row))
            for row in table.rows
        ]
        if self.refuses_empty_text and not is_test:
            _check_texts(table, examples)
        return examples

    def fits(self, path: str, *, is_test: bool = False) -> bool:
        columns = self.test_columns if is_test else self.columns
        return formats.has_columns(path, columns.wanted + flat(self.set_column), self.dialect)

    def has_ids(self, *, is_test: bool = False) -> bool:
        return (self.test_columns if is_test else self.columns).row_id is not None

    def _labels(
        self, cells: Cells, columns: Columns, read_label: LabelReader | None
    ) -> Callable[[Row], Label | None]:
        if columns.label is None or read_label is None:
            return lambda row: None
        if isinstance(columns.label, tuple):
            return cells.read_by(_holding(cells, columns.label), read_label)
        renamed = self.renamed_labels

        def read(cell: object) -> Label:
            return read_label(renamed.get(cell, cell) if isinstance(cell, str) else cell)

        return cells.read_by(cells.table.cell_of(columns.label), read)


def _holding(cells: Cells, columns: tuple[Column, ...]) -> Callable[[Row], object]:
    """A function from a row to the names of those columns in which it has a 1."""
    cell_of = cells.table.cell_of
    by_name = {str(name): cells.read_by(cell_of(name), labels.holds) for name in columns}
    return lambda row: tuple(name for name, is_held in by_name.items() if is_held(row))


def _check_texts(table: Table, examples: list[TextExample]) -> None:
    for row, example in zip(table.rows, examples, strict=True):
        empty = [text for text in (example.text_a, example.text_b) if text is not None]
        if any(not text.strip() for text in empty):
            raise table.wrong(
                row, "the text is empty; a row to learn from needs one. Delete the row, or fill it"
            )
