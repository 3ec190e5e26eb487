"""JSON Lines, and JSON files with an array of objects, as tables: each object is a row."""

import json
from collections.abc import Iterator, Sequence

from bert_tf.errors import InputError
from bert_tf.examples.readers import text_files
from bert_tf.examples.readers.delimited import say_blank_lines
from bert_tf.examples.readers.tables import Column, Row, Table

LINES = (".jsonl", ".ndjson", ".jsonlines")
ENDINGS = (*LINES, ".json")


def read(path: str, columns: Sequence[Column], is_quiet: bool = False) -> Table:
    """Reads the objects of a file. A name that ends in .json may be an array or JSON Lines.

    Args:
      path: of the file, gzipped if its name ends in .gz.
      columns: keys that must be there.
      is_quiet: whether to say nothing of blank lines.

    Raises:
      InputError: see `text_files.read_text`; it is not JSON; a row is no object; there is none; no
        row has a key of `columns`.
    """
    text = text_files.read_text(path)
    is_array = text_files.ending(path) == ".json" and text.lstrip().startswith("[")
    counts = "row" if is_array else "line"
    rows = []
    for index, (number, value) in enumerate(
        _array(path, text) if is_array else _lines(path, text, is_quiet)
    ):
        if not isinstance(value, dict):
            raise InputError(
                f'{path}, {counts} {number}: an object such as {{"text": ...}} was wanted, '
                f"{json.dumps(value)[:60]} was found."
            )
        rows.append(Row(index, number, value))
    if not rows:
        raise InputError(f"{path} has no row: its array is empty.")
    names = list(dict.fromkeys(key for row in rows for key in row.cells))
    table = Table(path, names, len(names), rows, counts)
    table.require(columns)
    return table


def _array(path: str, text: str) -> Iterator[tuple[int, object]]:
    try:
        yield from enumerate(json.loads(text), 1)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: this is not JSON: {error.msg} at column {error.colno}."
        ) from None


def _lines(path: str, text: str, is_quiet: bool) -> Iterator[tuple[int, object]]:
    num_blank = 0
    for number, line in enumerate(text.rstrip().split("\n"), 1):
        if not line.strip():
            num_blank += 1
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}, line {number}: this is not JSON: {error.msg} at column {error.colno}. "
                "Each line must be one object; a file with one array ends in .json and begins "
                "with [."
            ) from None
    if not is_quiet:
        say_blank_lines(path, num_blank)
