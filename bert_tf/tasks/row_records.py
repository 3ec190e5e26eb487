"""A task's training set as records: encoded once, then read back batch by batch."""

import functools
import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from bert_tf import features, files
from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import Example
from bert_tf.progress import status
from bert_tf.records.rows import write
from bert_tf.records.rows.read import RecordRows
from bert_tf.tasks import encoding
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.tasks.task import Task
from bert_tf.text.wordpiece import WordPieceTokenizer


class FileExamples(Sequence[Example]):
    """The training examples of a task, read from its files one file after the other.

    Args:
      data_dir: see `Task.read`.
      max_examples: examples to read; None: all.
    """

    def __init__(self, task: Task, data_dir: str | None, max_examples: int | None = None) -> None:
        self._task, self._data_dir = task.for_training(), data_dir
        self._max_examples = max_examples

    @property
    def pattern(self) -> str:
        """The files, a path or a pattern."""
        return self._task.path("train", self._data_dir)

    def __iter__(self) -> Iterator[Example]:
        return itertools.islice(self._all(), self._max_examples)

    def _all(self) -> Iterator[Example]:
        layout = self._task.layout.of_set("")
        for path in readers.expand(self.pattern):
            yield from layout.read(path, self._task.read_label, is_quiet=True)

    @functools.cached_property
    def size_and_digest(self) -> tuple[int, str]:
        """The number of examples, and a digest of them, for which the files are read once."""
        return _size_and_digest(self)

    def __len__(self) -> int:
        return self.size_and_digest[0]

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        """Some examples, for which the files are read from the start."""
        numbers = range(len(self))[index]
        wanted = range(numbers, numbers + 1) if isinstance(numbers, int) else numbers
        found = [each for number, each in enumerate(self) if number in wanted]
        return found[0] if isinstance(index, int) else found


def directory(output_dir: str) -> str:
    """Where a process keeps the records of its training set; one of several has its own."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    task = config.get("task") or {}
    number = "".join(f"-{task[name]}" for name in ("type", "index") if name in task)
    return os.path.join(output_dir, f"train_records{number}")


def of(
    directory: str,
    task: Task,
    examples: Sequence[Example],
    tokenizer: WordPieceTokenizer,
    max_seq_length: int,
) -> RecordRows:
    """The rows of a training set, in a directory of records that is kept for a restart.

    Args:
      directory: see `records.rows.layout`. One that was made from something else is replaced.
      examples: in memory, or `FileExamples`.

    Raises:
      DiskFullError: the records do not fit on the disk; none are left.
    """
    with status("Comparing the training set with the records that are there"):
        made_from = _made_from(task, examples, tokenizer, max_seq_length)
        rows = RecordRows.open(directory, made_from)
    if rows:
        print(f"Records: {directory}, {len(rows):,} rows from before", flush=True)
        return rows
    parts = encoding.records(task, examples, tokenizer, max_seq_length)
    with files.disk_full_explained(directory, lambda: "No records are left. Make room."):
        write.write(directory, parts, made_from=made_from, max_seq_length=max_seq_length)
    rows = RecordRows.open(directory, made_from)
    assert rows, "they were just written"
    print(f"Records: {directory}, {len(rows):,} rows", flush=True)
    return rows


def given(
    directory: str, path: str, task: Task, tokenizer: WordPieceTokenizer, max_seq_length: int
) -> RecordRows:
    """The rows of records that google-research's run_classifier.py has written.

    Args:
      directory: that their index is kept in.

    Raises:
      InputError: the task has not one label per example, or see `external.index`.
    """
    from bert_tf.records.rows import external  # loads TensorFlow

    is_one_label = isinstance(task, TextTask) and features.LABEL_IDS.name in task.label_features([])
    if not is_one_label:
        raise InputError(
            f"--train_records={path} has one label for each example; task {task.name} asks for "
            "something else. Give the training set itself, with --stream_records."
        )
    rows = external.index(
        path,
        directory,
        max_seq_length=max_seq_length,
        vocab_size=len(tokenizer.vocabulary),
        num_labels=len(task.labels),
    )
    print(f"Records: {path}, {len(rows):,} rows", flush=True)
    return rows


def _made_from(
    task: Task,
    examples: Iterable[Example],
    tokenizer: WordPieceTokenizer,
    max_seq_length: int,
) -> dict[str, Any]:
    """What decides the rows, as JSON holds it."""
    known = examples.size_and_digest if isinstance(examples, FileExamples) else None
    values = {
        "examples": (known or _size_and_digest(examples))[1],
        "kind": task.kind,
        "labels": task.labels,
        "settings": task.settings,
        "vocabulary": tokenizer.vocabulary.sha256,
        "do_lower_case": tokenizer.do_lower_case,
        "max_seq_length": max_seq_length,
    }
    return json.loads(json.dumps(values))


def _size_and_digest(examples: Iterable[Example]) -> tuple[int, str]:
    """The number of examples, and a sha256 over them."""
    digest, number = hashlib.sha256(), 0
    for number, example in enumerate(examples, start=1):  # noqa: B007  read after the loop
        digest.update(repr(example).encode())
    return number, digest.hexdigest()
