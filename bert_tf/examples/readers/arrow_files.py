"""Parquet files, and data sets that Hugging Face `datasets` has saved, as tables.

Read with pyarrow, of the extra `parquet`. A saved data set is a directory with Arrow files and
state.json (`save_to_disk`), or with Parquet files. Class numbers become names where the schema
has them (`ClassLabel`).
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bert_tf.errors import InputError
from bert_tf.examples.readers.tables import Column, Row, Table

if TYPE_CHECKING:
    import pyarrow

_HUB_KEY = b"huggingface"  # of the schema's metadata: the features in JSON


def read(path: str, columns: Sequence[Column]) -> Table:
    """Reads the rows of a Parquet file or of a saved data set.

    Args:
      path: of the file or directory.
      columns: that must be there; only these are read.

    Raises:
      InputError: pyarrow is not installed; the file is missing, or not what its name says; a column
        is not there; there is no row.
    """
    source = _open(path)
    names = list(source.schema.names)
    Table(path, names, len(names), [Row(0, 1, {})]).require(columns)
    found = source.select(list(dict.fromkeys(columns)))
    to_names = _class_names(source.schema)
    rows = [
        Row(index, index + 1, _named(cells, to_names))
        for index, cells in enumerate(found.to_pylist())
    ]
    if not rows:
        raise InputError(f"{path} has columns {names} and no rows.")
    return Table(path, names, len(names), rows, counts="row")


def read_header(path: str) -> list[str]:
    """The names of the columns.

    Raises:
      InputError: see `read`.
    """
    return list(_open(path).schema.names)


def _open(path: str) -> pyarrow.Table:
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            f"{path} is read with pyarrow, which is not installed. "
            "Install it with `pip install bert-tf[parquet]`."
        ) from None
    if not os.path.exists(path):
        raise InputError(f"{path} does not exist.")
    try:
        return _read_directory(path) if os.path.isdir(path) else _read_parquet([path])
    except pyarrow.ArrowException as error:
        first_line = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet or Arrow: {first_line}") from None


def _read_parquet(paths: Sequence[str]) -> pyarrow.Table:
    import pyarrow
    from pyarrow import parquet

    return pyarrow.concat_tables([parquet.ParquetFile(path).read() for path in paths])


def _read_directory(path: str) -> pyarrow.Table:
    """The rows of a directory: Arrow files in the order of state.json, or Parquet files."""
    state = os.path.join(path, "state.json")
    if os.path.exists(state):
        return _read_saved(path, state)
    if paths := sorted(glob.glob(os.path.join(glob.escape(path), "*.parquet"))):
        return _read_parquet(paths)
    held = sorted(os.listdir(path))
    if "dataset_dict.json" in held:
        splits = ", ".join(name for name in held if os.path.isdir(os.path.join(path, name)))
        raise InputError(
            f"{path} has a data set for each split; name one of its directories: {splits}."
        )
    raise InputError(
        f"{path} is a directory without state.json (as Hugging Face `datasets` saves one) and "
        f"without Parquet files; it holds: {', '.join(held[:20]) or 'nothing'}."
    )


def _read_saved(path: str, state: str) -> pyarrow.Table:
    import pyarrow

    with open(state, encoding="utf-8") as file:
        content = json.load(file)
    if content.get("_indices_data_files"):
        raise InputError(
            f"{path} is saved with a selection of its rows. Save it again with "
            "`dataset.flatten_indices().save_to_disk(...)`."
        )
    tables = []
    for name in content["_data_files"]:
        with pyarrow.memory_map(os.path.join(path, name["filename"])) as file:
            tables.append(pyarrow.ipc.open_stream(file).read_all())
    return pyarrow.concat_tables(tables)


def _class_names(schema: pyarrow.Schema) -> dict[str, Callable[[object], object]]:
    """By column, a function from class numbers to names, where the schema has names."""
    metadata = json.loads((schema.metadata or {}).get(_HUB_KEY, b"{}"))
    features = metadata.get("info", {}).get("features") or {}
    found = {}
    for column, feature in features.items():
        inner = _inner(feature)
        if isinstance(inner, dict) and inner.get("_type") == "ClassLabel":
            found[column] = _namer(inner["names"])
    return found


def _inner(feature: object) -> object:
    """The feature of the elements of a list; the feature itself where it is no list."""
    if isinstance(feature, list):
        return feature[0]
    if isinstance(feature, Mapping) and "feature" in feature:
        return feature["feature"]
    return feature


def _namer(names: Sequence[str]) -> Callable[[object], object]:
    def name(value: object) -> object:
        if isinstance(value, list):
            return [name(each) for each in value]
        if isinstance(value, int) and 0 <= value < len(names):
            return names[value]
        return None  # -1 is no label

    return name


def _named(
    cells: dict[str, object], to_names: Mapping[str, Callable[[object], object]]
) -> dict[str, object]:
    return {key: to_names[key](value) if key in to_names else value for key, value in cells.items()}
