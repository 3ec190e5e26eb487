"""The formats of tables: which one a file has, by its name.

| name | format |
|---|---|
| .csv | CSV as in RFC 4180 |
| .jsonl, .ndjson, .jsonlines | JSON Lines |
| .json | an array of objects, or JSON Lines |
| .parquet, or a directory | Parquet, or what Hugging Face `datasets` has saved |
| every other | TSV, as in GLUE and the released code |

Text files may be gzipped, with .gz behind the ending.
"""

import os
from collections.abc import Sequence

from bert_tf.examples.readers import arrow_files, delimited, json_files, text_files
from bert_tf.examples.readers.delimited import DIALECT, Dialect
from bert_tf.examples.readers.tables import Column, Table

# What a data set's files may end in; "" is a directory.
ENDINGS = (".tsv", ".csv", ".jsonl", ".json", ".parquet", "")


def read(path: str, columns: Sequence[Column], dialect: Dialect, is_quiet: bool = False) -> Table:
    """Reads the rows of a file, see the module.

    Args:
      path: of the file or directory.
      columns: that must be there; numbers for a TSV or CSV file without a header.
      dialect: of TSV and CSV.
      is_quiet: whether to say nothing of blank lines.

    Raises:
      InputError: the file is not as wanted, has no rows, or lacks a column.
    """
    if _is_arrow(path):
        return arrow_files.read(path, columns)
    if text_files.ending(path) in json_files.ENDINGS:
        return json_files.read(path, columns, is_quiet)
    return delimited.read(path, columns, dialect, is_quiet)


def read_header(path: str, dialect: Dialect = DIALECT) -> list[str]:
    """The names of a file's columns; the first row of a TSV or CSV file that has no header.

    Raises:
      InputError: the file is not as wanted.
    """
    if _is_arrow(path):
        return arrow_files.read_header(path)
    if text_files.ending(path) in json_files.ENDINGS:
        return list(json_files.read(path, [], is_quiet=True).names or ())
    return delimited.read_header(path, dialect)


def has_columns(path: str, columns: Sequence[Column], dialect: Dialect) -> bool:
    """Whether the first row of a file names all `columns`, or has as many as their numbers."""
    header = read_header(path, dialect)
    if isinstance(columns[0], str):
        return set(columns) <= set(header)
    return has_no_names(path) and len(header) == max(int(column) for column in columns) + 1


def has_no_names(path: str) -> bool:
    """Whether the columns of a file may be without names: TSV, CSV and CoNLL files."""
    return not _is_arrow(path) and text_files.ending(path) not in json_files.ENDINGS


def _is_arrow(path: str) -> bool:
    return os.path.isdir(path) or text_files.ending(path) == ".parquet"
