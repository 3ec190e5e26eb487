"""Rows of a TSV or CSV file -> `TextExample`s, in UTF-8.

TSV: columns separated by tabs, no quoting, as in GLUE. CSV, by the file's ending: columns separated
by commas, quoting as in RFC 4180, so that a quoted text may hold commas, quotes and line ends.
"""

import csv
import dataclasses
import gzip
import io
import logging
import math
import os
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample

LabelReader = Callable[[str], str | float]  # from a cell; raises ValueError

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of an example: header names, or numbers from 0 if the file has no header.

    None where the file has no such column.
    """

    text_a: str | int
    text_b: str | int | None = None
    label: str | int | None = None
    row_id: str | int | None = None

    @property
    def wanted(self) -> list[Any]:
        """The columns to look for, in the order of the attributes."""
        return [c for c in dataclasses.astuple(self) if c is not None]

    @property
    def has_header(self) -> bool:
        """Columns that are named need a header line."""
        return isinstance(self.text_a, str)


def one_of(labels: Collection[str]) -> LabelReader:
    """A label reader that takes only `labels`."""

    def read(cell: str) -> str:
        if cell not in labels:
            raise ValueError(f"label {cell!r} is unknown; known: {', '.join(labels)}")
        return cell

    return read


def any_label(cell: str) -> str:
    """A label reader that takes any text, to find out which labels a file has."""
    if not cell.strip():
        raise ValueError("the label is empty")
    return cell


def number(low: float = -math.inf, high: float = math.inf) -> LabelReader:
    """A label reader of finite numbers from `low` to `high`."""

    def read(cell: str) -> float:
        try:
            value = float(cell)
        except ValueError:
            raise ValueError(f"label {cell!r} is not a number") from None
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(f"label {cell!r} is not a finite number from {low:g} to {high:g}")
        return value

    return read


def find_file(directory: str, *names: str) -> str:
    """The path of the first of some names that `directory` holds, plain or as NAME.gz.

    Raises:
      InputError: none is there; the message lists what the directory holds.
    """
    if not directory or not os.path.isdir(directory):
        raise InputError(
            f"--data_dir={directory} is not a directory; it must hold {' or '.join(names)}."
        )
    for name in names:
        if path := file_in(directory, name):
            return path
    held = ", ".join(sorted(os.listdir(directory))[:20]) or "nothing"
    wanted = " or ".join(names) + (f" (or {names[0]}.gz)" if len(names) == 1 else "")
    raise InputError(f"{wanted} is not in --data_dir={directory}, which holds: {held}.")


def file_in(directory: str, name: str) -> str | None:
    """The path of `name` in a directory, or of NAME.gz where only that is there; else None."""
    for candidate in (name, f"{name}.gz"):
        if os.path.isfile(os.path.join(directory, candidate)):
            return os.path.join(directory, candidate)
    return None


def read_text(path: str) -> str:
    """The text of a UTF-8 file, gzipped if its name ends in .gz, without a byte order mark.

    Raises:
      InputError: missing, empty, not UTF-8, or not a gzip file.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
        if path.endswith(".gz"):
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a complete gzip file: {error}.") from None
    if not data.strip():
        raise InputError(f"{path} is empty ({len(data)} bytes).")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        encoding = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
        raise InputError(
            f"{path} is not UTF-8: line {line}, {error.reason}. Save it as UTF-8, for instance "
            f"with `iconv -f {encoding} -t UTF-8`, if that is its encoding."
        ) from None


class _Row(NamedTuple):
    """A row of a file; `line` is where it begins, from 1."""

    line: int
    cells: list[str]


def is_csv(path: str) -> bool:
    """Whether the name of a file says that it is CSV; everything else is TSV."""
    return path.removesuffix(".gz").lower().endswith(".csv")


def _rows(path: str) -> Iterator[_Row]:
    """Yields every row of a file, blank lines too; these have no cell, or one that is empty."""
    text = read_text(path)
    if not is_csv(path):
        for number, text_line in enumerate(text.rstrip("\r\n").split("\n"), 1):
            yield _Row(number, text_line.rstrip("\r").split("\t"))
        return
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    limit, line = csv.field_size_limit(len(text) + 1), 1  # a text may have any length
    try:
        for cells in reader:
            yield _Row(line, cells)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}: the row that begins in line {line} is not CSV: {error}. A text with commas, "
            'quotes or line ends stands in quotes ("), and a quote in it is written twice ("").'
        ) from None
    finally:
        csv.field_size_limit(limit)


def read_header(path: str) -> list[str]:
    """The column names in the first line of a TSV or CSV file that is not blank.

    Raises:
      InputError: see `read_text`; or it is not CSV.
    """
    return next(row.cells for row in _rows(path) if any(row.cells))


def read_table(
    path: str,
    columns: Columns,
    read_label: LabelReader | None = None,
    skip_broken_rows: bool = False,
    is_quiet: bool = False,
) -> list[TextExample]:
    """Reads the rows of a TSV or CSV file; says how many blank lines it passes over.

    In TSV a quotation mark is a character like any other (the GLUE files are not quoted), and only
    LF or CR LF ends a line: the texts hold other characters that Unicode calls line ends. A blank
    line in TSV of one column is an empty text.

    Args:
      path: of the file, gzipped if its name ends in .gz.
      columns: of an example.
      read_label: from a cell to a label, raising ValueError; needed if there is a column `label`.
      skip_broken_rows: whether to log and skip a row of another width; else it is an error.
      is_quiet: whether to say nothing of blank lines.

    Raises:
      InputError: see `read_text`; a column is not in the header; no rows; a row has more or
        fewer columns than the first; a label is refused.
    """
    first, *rows = _without_blank_lines(path, is_quiet)
    numbered = _numbered(path, columns, first)
    rows = rows if columns.has_header else [first, *rows]
    if not rows:
        raise InputError(f"{path} has a header and no rows.")
    examples, broken = [], []
    for index, row in enumerate(rows):
        if len(row.cells) != len(first.cells):
            broken.append(row.line)
            if skip_broken_rows:
                continue
            raise _broken_row(path, row, first)
        examples.append(_example(path, index, row, numbered, read_label))
    if broken:
        _logger.warning("%s: skipped %d broken rows, lines %s.", path, len(broken), broken[:10])
    return examples


def _without_blank_lines(path: str, is_quiet: bool) -> list[_Row]:
    rows = list(_rows(path))
    if not is_csv(path) and all(len(row.cells) == 1 for row in rows):
        return rows
    kept = [row for row in rows if len(row.cells) > 1 or "".join(row.cells).strip()]
    blank = len(rows) - len(kept)
    if blank and not is_quiet:
        print(f"{path}: {blank} blank line{'s' * (blank > 1)} passed over.", flush=True)
    return kept


def _broken_row(path: str, row: _Row, first: _Row) -> InputError:
    kind = (
        "Columns are separated by one comma; a text with a comma stands in quotes."
        if is_csv(path)
        else "Columns are separated by one tab; a text must hold neither a tab nor a line end. "
        "CSV with quoted texts is read from files that end in .csv."
    )
    return InputError(
        f"{path}, line {row.line}: {len(row.cells)} columns found, {len(first.cells)} wanted as in "
        f"line {first.line}. {kind}"
    )


def _numbered(path: str, columns: Columns, first: _Row) -> Columns:
    """`Columns` with every column as its index, checked against the first line."""
    if columns.has_header:
        return _from_header(path, columns, first.cells)
    if max(columns.wanted) >= len(first.cells):
        raise InputError(
            f"{path}, line {first.line}: {len(first.cells)} columns found, "
            f"at least {max(columns.wanted) + 1} wanted, separated by tabs."
        )
    return columns


def _from_header(path: str, columns: Columns, header: list[str]) -> Columns:
    if missing := [name for name in columns.wanted if name not in header]:
        separator = "commas" if is_csv(path) else "tabs"
        hint = f" Is it separated by {separator}?" if len(header) == 1 else ""
        raise InputError(
            f"{path}: the header has no column {', '.join(map(repr, missing))}; "
            f"it reads {header}, wanted {columns.wanted}.{hint}"
        )
    if twice := [name for name in columns.wanted if header.count(name) > 1]:
        raise InputError(f"{path}: the header has {twice[0]!r} more than once: {header}.")
    names = dataclasses.asdict(columns).items()
    return Columns(**{field: header.index(name) for field, name in names if name is not None})


def _example(
    path: str, index: int, row: _Row, columns: Any, read_label: LabelReader | None
) -> TextExample:
    cells, label = row.cells, None
    if columns.label is not None and read_label is not None:
        try:
            label = read_label(cells[columns.label])
        except ValueError as error:
            raise InputError(f"{path}, line {row.line}: {error}.") from None
    return TextExample(
        guid=str(index) if columns.row_id is None else cells[columns.row_id],
        text_a=cells[columns.text_a],
        text_b=None if columns.text_b is None else cells[columns.text_b],
        label=label,
    )
