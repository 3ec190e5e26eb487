"""CoNLL column files: a word per line, a blank line behind each sentence.

Columns are separated by spaces, or by single tabs. Lines that begin with -DOCSTART- begin a
document, as in CoNLL-2003 (Tjong Kim Sang and De Meulder 2003). In Chinese files, such as MSRA's, a
word is a character.
"""

import dataclasses
import re
from collections.abc import Iterator

from bert_tf.errors import InputError
from bert_tf.examples.readers import text_files

DOCUMENT = "-DOCSTART-"
_SPACES = re.compile(" +")  # a word may be another kind of space, such as U+3000


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The lines of a sentence.

    Attributes:
      document: number of its document, from 0; None in a file that has no line for documents.
      lines: numbers of the lines, from 1.
      cells: of each line; all lines of a file have equally many.
    """

    document: int | None
    lines: tuple[int, ...]
    cells: tuple[list[str], ...]

    def column(self, index: int) -> tuple[str, ...]:
        """The cells of a column, from 0, or from -1 for the last."""
        return tuple(cells[index] for cells in self.cells)


def read(path: str, min_columns: int) -> list[Sentence]:
    """Reads the sentences of a file, at least one.

    Args:
      path: of the file, gzipped if its name ends in .gz.
      min_columns: that every line must have.

    Raises:
      InputError: see `text_files.read_text`; a line has too few columns, or another number of them
        than the first one; there is no sentence.
    """
    sentences = list(_sentences(path))
    if not sentences:
        raise InputError(f"{path} has no sentence, only {DOCUMENT} lines and blank ones.")
    first = sentences[0]
    width = len(first.cells[0])
    for sentence in sentences:
        for number, cells in zip(sentence.lines, sentence.cells, strict=True):
            _check_width(path, number, cells, min_columns, width, first.lines[0])
    return sentences


def _check_width(
    path: str, number: int, cells: list[str], min_columns: int, width: int, first_line: int
) -> None:
    shown = " ".join(cells)[:60]
    if len(cells) < min_columns:
        what = "a word without a tag" if len(cells) == 1 else f"{len(cells)} columns found"
        raise InputError(
            f"{path}, line {number}: {what} ({shown!r}), at least {min_columns} columns wanted, "
            "separated by spaces or tabs. Blank lines separate sentences."
        )
    if not all(cells):
        raise InputError(f"{path}, line {number}: a column is empty ({shown!r}).")
    if len(cells) != width:
        raise InputError(
            f"{path}, line {number}: {len(cells)} columns found ({shown!r}), {width} wanted as in "
            f"line {first_line}. A word must not hold a space."
        )


def _cells(line: str) -> list[str]:
    """The columns of a line: by tabs where it has some, so that words may hold spaces."""
    return line.split("\t") if "\t" in line else _SPACES.split(line)


def _sentences(path: str) -> Iterator[Sentence]:
    document: int | None = None
    lines: list[int] = []
    cells: list[list[str]] = []
    for number, line in enumerate([*text_files.read_text(path).split("\n"), ""], 1):
        stripped = line.strip(" \t\r")
        begins_document = stripped.startswith(DOCUMENT)
        if stripped and not begins_document:
            lines.append(number)
            cells.append(_cells(stripped))
            continue
        if cells:
            yield Sentence(document, tuple(lines), tuple(cells))
            lines, cells = [], []
        if begins_document:
            document = 0 if document is None else document + 1
