"""The formats of tables: which one a file has, by its name.

.csv, .tsv, .jsonl, .json and .parquet, the text ones also with .gz; a directory that Hugging
Face `datasets` has saved. Every other name is TSV, as in GLUE and the released code.
"""

from collections.abc import Sequence

from bert_tf.examples.readers import delimited
from bert_tf.examples.readers.delimited import DIALECT, Dialect
from bert_tf.examples.readers.tables import Column, Table


def read(path: str, columns: Sequence[Column], dialect: Dialect, is_quiet: bool = False) -> Table:
    """Reads the rows of a file, see the module.

    Args:
      path: of the file or directory.
      columns: that must be there.
      dialect: of TSV and CSV.
      is_quiet: whether to say nothing of blank lines.

    Raises:
      InputError: the file is not as wanted, has no rows, or lacks a column.
    """
    return delimited.read(path, columns, dialect, is_quiet)


def read_header(path: str, dialect: Dialect = DIALECT) -> list[str]:
    """The names of a file's columns; the first row of a table that has no header.

    Raises:
      InputError: the file is not as wanted.
    """
    return delimited.read_header(path, dialect)


def has_columns(path: str, columns: Sequence[Column], dialect: Dialect) -> bool:
    """Whether the first row of a file names all `columns`, or has as many as their numbers."""
    header = read_header(path, dialect)
    if isinstance(columns[0], str):
        return set(columns) <= set(header)
    return len(header) == max(int(column) for column in columns) + 1
