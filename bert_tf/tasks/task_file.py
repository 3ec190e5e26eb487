"""A task file: a user's own data set in a few lines of TOML or JSON, see docs/tasks.md.

It names the kind of task, the files, their columns, and what else is not as usual. Paths are
relative to the task file.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from bert_tf.checkpoints import kinds
from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.readers import Columns, tag_schemes
from bert_tf.examples.readers.delimited import DIALECT, Dialect
from bert_tf.tasks import metrics
from bert_tf.tasks.kinds.class_weights import BALANCED
from bert_tf.tasks.set_files import OWN_FILES
from bert_tf.tasks.task import Task

SPLITS = ("train", "dev", "test")
# CoNLL files have no ending of their own.
_CONLL_ENDINGS = (".conll", ".txt", ".iob", ".bio", ".tsv", "")
Value = TypeVar("Value")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text in quotes")
    return value


def _texts(value: object) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else [value]
    if not parts or not all(isinstance(part, str | int) for part in parts):
        raise ValueError('a list of texts such as ["a", "b"]')
    return tuple(str(part) for part in parts)


def _column(value: object) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError("the name of a column, or its number from 0 in a file without a header")
    return value


def _columns(value: object) -> tuple[str | int, ...]:
    try:
        return tuple(map(_column, value if isinstance(value, list) and value else [value]))
    except ValueError:
        raise ValueError("the name of a column, or a list of names") from None


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _delimiter(value: object) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise ValueError('one character, such as ";"')
    return value


def _scheme(value: object) -> str:
    if value not in tag_schemes.SCHEMES:
        raise ValueError(f"one of {', '.join(tag_schemes.SCHEMES)}")
    return str(value)


def _first_label(value: object) -> str:
    text = str(value)
    if isinstance(value, bool) or not (text.isdecimal() or (len(text) == 1 and text.isalpha())):
        raise ValueError('what the label column calls the first choice, such as "0", "1" or "A"')
    return text


def _range(value: object) -> tuple[float, float]:
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(end, int | float) for end in value)
        and value[0] < value[1]
    ):
        return float(value[0]), float(value[1])
    raise ValueError("the lowest and the highest number, such as [0, 5]")


def _class_weights(value: object) -> str | dict[str, float]:
    if value == BALANCED:
        return BALANCED
    if isinstance(value, dict) and all(
        isinstance(weight, int | float) and not isinstance(weight, bool) and weight >= 0
        for weight in value.values()
    ):
        return {str(label): float(weight) for label, weight in value.items()}
    raise ValueError('"balanced", or a table such as {rare = 5.0, frequent = 1.0}')


Readers = Mapping[str, Callable[[object], Any]]
# What each key holds; the ValueError of a reader says what is wanted.
KEYS: Readers = {
    "kind": _text,
    "name": _text,
    **dict.fromkeys(("data_dir", *SPLITS), _text),
    "delimiter": _delimiter,
    "metrics": _texts,
    "id": _column,
    "weight": _column,
    "test_has_labels": _yes_or_no,
}
_TEXTS: Readers = {"text": _column, "text_b": _column}
KEYS_OF_KIND: Mapping[str, Readers] = {
    "classify": {
        **_TEXTS,
        "label": _column,
        "labels": _texts,
        "class_weights": _class_weights,
    },
    "multi_label": {**_TEXTS, "label": _columns, "labels": _texts, "label_separator": _text},
    "regress": {**_TEXTS, "label": _column, "value_range": _range},
    "tag": {
        **dict.fromkeys(("words", "tags", "document"), _column),
        "labels": _texts,
        "scheme": _scheme,
        "document_context": _yes_or_no,
    },
    "choice": {
        **dict.fromkeys(("context", "choices"), _columns),
        **dict.fromkeys(("stem", "label", "right_choice"), _column),
        "first_label": _first_label,
    },
}
_KINDS = tuple(KEYS_OF_KIND)
# Keys that name columns of all files, of those with labels, and of training and dev files.
_COLUMNS = ("text", "text_b", "id", "words", "document", "context", "choices", "stem")
_LABEL_COLUMNS = ("label", "tags", "right_choice")
_WEIGHT_COLUMNS = ("weight",)


def read(
    path: str, data_dir: str | None = None, files: Mapping[str, str | None] | None = None
) -> Task:
    """The task that a task file describes.

    Args:
      path: of the task file; a name that ends in .json is JSON, every other TOML.
      data_dir: directory of the data, instead of what the task file names.
      files: from split to file, instead of those that the task file names.

    Raises:
      InputError: the file is missing or not TOML or JSON; a key is unknown or missing, or has a
        wrong value; a file lacks a column.
    """
    content = _parsed(path)
    if "kind" not in content:
        raise InputError(f"{path}: the key kind is missing; it is one of {', '.join(_KINDS)}.")
    kind = content["kind"]
    if kind not in _KINDS:
        hint = _nearest(kind, _KINDS)
        raise InputError(f"{path}: kind = {kind!r} is unknown; known: {', '.join(_KINDS)}.{hint}")
    values = _checked(path, content, {**KEYS, **KEYS_OF_KIND[kind]}, kind)
    found = _files(path, values, data_dir, files or {})
    task = _task(path, kind, values, found)
    _check_columns(path, values, found)
    metrics.check(task.metrics, task.answers, len(task.labels), where=f"{path}, key metrics")
    return task


def _parsed(path: str) -> dict[str, Any]:
    text = readers.read_text(path)
    try:
        content = json.loads(text) if path.lower().endswith(".json") else tomllib.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}. Texts stand in quotes.") from None
    if not isinstance(content, dict):
        raise InputError(
            f"{path}: an object with keys was wanted, a {type(content).__name__} found."
        )
    return content


def _checked(path: str, content: Mapping[str, Any], known: Readers, kind: str) -> dict[str, Any]:
    """The values of all keys, as their readers give them."""
    values = {}
    for key, value in content.items():
        if key not in known:
            of_others = [other for other in _KINDS if key in KEYS_OF_KIND[other]]
            why = f" It is a key of kind {', '.join(of_others)}." if of_others else ""
            raise InputError(
                f"{path}: the key {key} is unknown for kind = {kind!r}.{why}"
                f"{_nearest(key, known)} Known keys: {', '.join(sorted(known))}."
            )
        try:
            values[key] = known[key](value)
        except ValueError as error:
            raise InputError(f"{path}: {key} = {value!r}; wanted: {error}.") from None
    return values


def _nearest(name: object, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(str(name), list(known), n=1)
    return f" Did you mean {nearest[0]}?" if nearest else ""


def _files(
    path: str, values: Mapping[str, Any], data_dir: str | None, given: Mapping[str, str | None]
) -> dict[str, str]:
    """From split to the path or pattern of its file; splits without one are left out."""
    folder = os.path.dirname(path)
    directory = data_dir or os.path.join(folder, values.get("data_dir", ""))
    if directory and not os.path.isdir(directory):
        raise InputError(f"{path}: the directory of the data, {directory}, does not exist.")
    named = {split: os.path.join(directory, values[split]) for split in SPLITS if split in values}
    found = {}
    for split in SPLITS:
        if file := given.get(split) or named.get(split) or _usual_file(directory, split, values):
            found[split] = file
    if not found:
        raise InputError(
            f"{path} names no file. Give train, dev or test, or a data_dir that holds train.csv, "
            "train.jsonl or the like."
        )
    return found


def _usual_file(directory: str, split: str, values: Mapping[str, Any]) -> str | None:
    """The file in a directory that is named for a split."""
    is_conll = values["kind"] == "tag" and not isinstance(values.get("words", 0), str)
    names = OWN_FILES[split][""]
    if is_conll:
        names = tuple(f"{split}{ending}" for ending in _CONLL_ENDINGS)
    found = (readers.file_in(directory or ".", name) for name in names)
    return next(filter(None, found), None)


def _task(path: str, kind: str, values: Mapping[str, Any], files: Mapping[str, str]) -> Task:
    make = _MAKERS.get(kind, _text_layout)
    changes = {key: values[key] for key in ("labels", "metrics", "value_range") if key in values}
    changes |= {key: values[key] for key in ("class_weights", "document_context") if key in values}
    if "label_separator" in values:
        changes["separator"] = values["label_separator"]
    if kind == "multi_label" and len(values.get("label", ())) > 1:
        changes["labels"] = tuple(map(str, values["label"]))
    if kind == "tag" and values.get("scheme") == tag_schemes.PLAIN:
        changes.setdefault("metrics", ("token_accuracy",))
    dialect = Dialect(delimiter=values["delimiter"]) if "delimiter" in values else DIALECT
    task_class = kinds.load_class(kinds.KINDS[kind].task)
    return task_class(
        name=values.get("name", os.path.splitext(os.path.basename(path))[0]),
        summary="",
        layout=dataclasses.replace(make(path, values), dialect=dialect),
        files={split: {"": file} for split, file in files.items()},
        is_own_data=True,
        **changes,
    )


def _text_layout(path: str, values: Mapping[str, Any]) -> readers.TextLayout:
    label = values.get("label", "label")
    if isinstance(label, tuple) and len(label) == 1:
        (label,) = label
    text_b, row_id = values.get("text_b"), values.get("id")
    text = values.get("text", "text")
    return readers.TextLayout(
        columns=Columns(
            text_a=text, text_b=text_b, label=label, row_id=row_id, weight=values.get("weight")
        ),
        test_columns=Columns(
            text_a=text,
            text_b=text_b,
            label=label if values.get("test_has_labels") else None,
            row_id=row_id,
        ),
        refuses_empty_text=True,
    )


def _token_layout(path: str, values: Mapping[str, Any]) -> readers.TokenLayout:
    words, tags = values.get("words", 0), values.get("tags", -1)
    if isinstance(words, str) != isinstance(tags, str):
        raise InputError(
            f"{path}: words = {words!r} and tags = {tags!r}; wanted: two names of columns with "
            "lists, or two numbers of columns of a CoNLL file."
        )
    return readers.TokenLayout(
        words=words,
        tags=tags,
        scheme=values.get("scheme", "iob2"),
        test_has_tags=values.get("test_has_labels", False),
        document=values.get("document"),
        row_id=values.get("id"),
        weight=values.get("weight"),
    )


def _choice_layout(path: str, values: Mapping[str, Any]) -> readers.ChoiceLayout:
    for key in ("context", "choices"):
        if key not in values:
            raise InputError(f"{path}: the key {key} is missing; kind = 'choice' needs it.")
    if "label" in values and "right_choice" in values:
        raise InputError(
            f"{path}: label and right_choice exclude each other; label has the name of the right "
            "choice, right_choice its text."
        )
    label = None if "right_choice" in values else values.get("label", "label")
    return readers.ChoiceLayout(
        context=values["context"],
        choices=values["choices"],
        stem=values.get("stem"),
        label=label,
        first_label=values.get("first_label", "0"),
        right_choice=values.get("right_choice"),
        test_has_label=values.get("test_has_labels", False),
        row_id=values.get("id"),
        weight=values.get("weight"),
    )


_MAKERS: Mapping[str, Callable[[str, Mapping[str, Any]], readers.Layout]] = {
    "tag": _token_layout,
    "choice": _choice_layout,
}


def _check_columns(path: str, values: Mapping[str, Any], files: Mapping[str, str]) -> None:
    """Checks that the files have the columns that keys name, as far as the files are there."""
    dialect = Dialect(delimiter=values.get("delimiter"))
    for split, pattern in files.items():
        first_path = readers.expand(pattern)[0]
        keys = [*_COLUMNS]
        if split != "test" or values.get("test_has_labels"):
            keys += _LABEL_COLUMNS
        if split != "test":
            keys += _WEIGHT_COLUMNS
        named = [
            (key, name)
            for key in keys
            for name in readers.flat(values.get(key))
            if isinstance(name, str)
        ]
        if not named or not os.path.exists(first_path):
            continue
        header = readers.read_header(first_path, dialect)
        for key, name in named:
            if name not in header:
                hint = ' Set delimiter, such as delimiter = ";".' if len(header) == 1 else ""
                raise InputError(
                    f"{first_path} has no column {name!r}, which the key {key} of {path} names; it "
                    f"has: {', '.join(header)}.{_nearest(name, header)}{hint}"
                )
