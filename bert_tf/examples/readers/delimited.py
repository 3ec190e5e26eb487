"""TSV and CSV files, in UTF-8, as tables.

TSV: columns separated by tabs, no quoting, as in GLUE. CSV, by the file's ending: columns separated
by commas, quoting as in RFC 4180, so that a quoted text may hold commas, quotes and line ends.
"""

import csv
import dataclasses
import io
import logging
from collections.abc import Iterator, Sequence

from bert_tf.errors import InputError
from bert_tf.examples.readers import text_files
from bert_tf.examples.readers.tables import Column, Row, Table

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a file is written.

    Attributes:
      delimiter: between columns; None: by the file's ending, a comma in .csv and else a tab. Texts
        may be quoted unless it is a tab.
      skip_broken_rows: whether to log and skip a row of another width; else it is an error.
    """

    delimiter: str | None = None
    skip_broken_rows: bool = False

    def of(self, path: str) -> str:
        """The delimiter of a file."""
        by_ending = "," if text_files.ending(path) == ".csv" else "\t"
        return self.delimiter or by_ending


DIALECT = Dialect()  # by the file's ending
_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", " ": "space", "|": "vertical bar"}


def _name(delimiter: str) -> str:
    return _NAMES.get(delimiter, repr(delimiter))


def read_header(path: str, dialect: Dialect = DIALECT) -> list[str]:
    """The cells of the first line that is not blank.

    Raises:
      InputError: see `text_files.read_text`; or it is not CSV.
    """
    return next(list(row.cells) for row in _rows(path, dialect.of(path)) if any(row.cells))


def read(
    path: str,
    columns: Sequence[Column],
    dialect: Dialect = DIALECT,
    is_quiet: bool = False,
) -> Table:
    """Reads the rows of a TSV or CSV file; says how many blank lines it passes over.

    In TSV a quotation mark is a character like any other (the GLUE files are not quoted), and only
    LF or CR LF ends a line: the texts hold other characters that Unicode calls line ends. A blank
    line in TSV of one column is an empty text.

    Args:
      path: of the file, gzipped if its name ends in .gz.
      columns: that must be there; names if the first line is a header, or else numbers.
      dialect: of the file.
      is_quiet: whether to say nothing of blank lines.

    Raises:
      InputError: see `text_files.read_text`; it is not CSV; a column is not in the header; no
        rows; a row has more or fewer columns than the first.
    """
    first, *rows = _without_blank_lines(path, dialect.of(path), is_quiet)
    width, has_header = len(first.cells), isinstance(columns[0], str)
    if not has_header:
        rows = [first, *rows]
    hint = f" Is it separated by {_name(dialect.of(path))}s?" if width == 1 else ""
    names = list(first.cells) if has_header else None
    table = Table(path, names, width, rows or [first], hint=hint)
    table.require(columns)
    if not rows:
        raise InputError(f"{path} has a header and no rows.")
    rows = [row._replace(row_index=index) for index, row in enumerate(rows)]
    return dataclasses.replace(table, rows=list(_of_width(path, rows, first, dialect)))


def _rows(path: str, delimiter: str) -> Iterator[Row]:
    """Yields every row of a file, blank lines too; these have no cell, or one that is empty."""
    text = text_files.read_text(path)
    if delimiter == "\t":
        for index, text_line in enumerate(text.rstrip("\r\n").split("\n")):
            yield Row(index, index + 1, text_line.rstrip("\r").split("\t"))
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit, line = csv.field_size_limit(len(text) + 1), 1  # a text may have any length
    try:
        for cells in reader:
            yield Row(line - 1, line, cells)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}: the row that begins in line {line} is not CSV: {error}. A text with "
            f"{_name(delimiter)}s, quotes or line ends stands in quotes "
            '("), and a quote in it is written twice ("").'
        ) from None
    finally:
        csv.field_size_limit(limit)


def _without_blank_lines(path: str, delimiter: str, is_quiet: bool) -> list[Row]:
    rows = list(_rows(path, delimiter))
    if delimiter == "\t" and all(len(row.cells) == 1 for row in rows):
        return rows
    kept = [row for row in rows if len(row.cells) > 1 or "".join(row.cells).strip()]
    if not is_quiet:
        say_blank_lines(path, len(rows) - len(kept))
    return kept


def say_blank_lines(path: str, count: int) -> None:
    """Prints how many lines were passed over, if any."""
    if count:
        print(f"{path}: {count} blank line{'s' * (count > 1)} passed over.", flush=True)


def _of_width(path: str, rows: Sequence[Row], first: Row, dialect: Dialect) -> Iterator[Row]:
    """Yields the rows that are as wide as the first; the others are skipped or an error."""
    broken = []
    for row in rows:
        if len(row.cells) == len(first.cells):
            yield row
            continue
        broken.append(row.number)
        if not dialect.skip_broken_rows:
            raise _broken_row(path, row, first, dialect.of(path))
    if broken:
        _logger.warning("%s: skipped %d broken rows, lines %s.", path, len(broken), broken[:10])


def _broken_row(path: str, row: Row, first: Row, delimiter: str) -> InputError:
    name = _name(delimiter)
    kind = (
        f"Columns are separated by one {name}; a text with a {name} stands in quotes."
        if delimiter != "\t"
        else "Columns are separated by one tab; a text must hold neither a tab nor a line end. "
        "CSV with quoted texts is read from files that end in .csv."
    )
    return InputError(
        f"{path}, line {row.number}: {len(row.cells)} columns found, {len(first.cells)} wanted as "
        f"in line {first.number}. {kind}"
    )
