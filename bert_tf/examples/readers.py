"""Rows of a TSV file -> `TextExample`s: UTF-8, columns separated by tabs, no quoting."""

import dataclasses
import gzip
import logging
import math
import os
import zlib
from collections.abc import Callable, Collection
from typing import Any

from bert_tf.errors import InputError

LabelReader = Callable[[str], str | float]  # from a cell; raises ValueError

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class TextExample:
    """One row, before packing.

    Attributes:
      guid: the row's id in its file, or its number from 0 where the file has no ids.
      text_b: None in tasks of one text.
      label: str to classify, float to regress, None in a test set.
    """

    guid: str
    text_a: str
    text_b: str | None = None
    label: str | float | None = None


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


def find_file(directory: str, name: str) -> str:
    """The path of `name` in `directory`, or of `name`.gz where only that is there.

    Raises:
      InputError: neither is there; the message lists what the directory holds.
    """
    if not directory or not os.path.isdir(directory):
        raise InputError(f"--data_dir={directory} is not a directory; it must hold {name}.")
    for candidate in (name, f"{name}.gz"):
        if os.path.isfile(os.path.join(directory, candidate)):
            return os.path.join(directory, candidate)
    held = ", ".join(sorted(os.listdir(directory))[:20]) or "nothing"
    raise InputError(
        f"{name} (or {name}.gz) is not in --data_dir={directory}, which holds: {held}."
    )


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
        raise InputError(f"{path} is not UTF-8: line {line}, {error.reason}.") from None


def read_header(path: str) -> list[str]:
    """The column names in the first line of a TSV file."""
    return read_text(path).split("\n", 1)[0].rstrip("\r").split("\t")


def read_tsv(
    path: str,
    columns: Columns,
    read_label: LabelReader | None = None,
    skip_broken_rows: bool = False,
) -> list[TextExample]:
    """Reads the rows of a TSV file.

    A quotation mark is a character like any other (the GLUE files are not quoted), and only
    LF or CR LF ends a line: the texts hold other characters that Unicode calls line ends.

    Args:
      path: of the file, gzipped if its name ends in .gz.
      columns: of an example.
      read_label: from a cell to a label, raising ValueError; needed if there is a column `label`.
      skip_broken_rows: whether to log and skip a row of another width; else it is an error.

    Raises:
      InputError: see `read_text`; a column is not in the header; no rows; a row has more or
        fewer columns than the first; a label is refused.
    """
    lines = read_text(path).rstrip("\r\n").split("\n")
    rows = [line.rstrip("\r").split("\t") for line in lines]
    numbered = _numbered(path, columns, rows[0])
    width, first = len(rows[0]), int(columns.has_header)
    if len(rows) == first:
        raise InputError(f"{path} has a header and no rows.")
    examples, broken = [], []
    for index, row in enumerate(rows[first:]):
        line = index + first + 1
        if len(row) != width:
            broken.append(line)
            if skip_broken_rows:
                continue
            raise InputError(
                f"{path}, line {line}: {len(row)} columns found, {width} wanted as in line 1. "
                "Columns are separated by one tab; a text must hold neither a tab nor a line end."
            )
        examples.append(_example(path, line, index, row, numbered, read_label))
    if broken:
        _logger.warning("%s: skipped %d broken rows, lines %s.", path, len(broken), broken[:10])
    return examples


def _numbered(path: str, columns: Columns, first_row: list[str]) -> Columns:
    """`Columns` with every column as its index, checked against the first line."""
    if columns.has_header:
        if missing := [name for name in columns.wanted if name not in first_row]:
            raise InputError(
                f"{path}: the header has no column {', '.join(map(repr, missing))}; "
                f"it reads {first_row}, wanted {columns.wanted}."
            )
        numbers = {
            field: first_row.index(name)
            for field, name in dataclasses.asdict(columns).items()
            if name is not None
        }
        return Columns(**numbers)
    if max(columns.wanted) >= len(first_row):
        raise InputError(
            f"{path}, line 1: {len(first_row)} columns found, "
            f"at least {max(columns.wanted) + 1} wanted, separated by tabs."
        )
    return columns


def _example(
    path: str,
    line: int,
    index: int,
    row: list[str],
    columns: Any,
    read_label: LabelReader | None,
) -> TextExample:
    label = None
    if columns.label is not None and read_label is not None:
        try:
            label = read_label(row[columns.label])
        except ValueError as error:
            raise InputError(f"{path}, line {line}: {error}.") from None
    return TextExample(
        guid=str(index) if columns.row_id is None else row[columns.row_id],
        text_a=row[columns.text_a],
        text_b=None if columns.text_b is None else row[columns.text_b],
        label=label,
    )
