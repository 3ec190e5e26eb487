"""Examples to rows; many examples in worker processes."""

import contextlib
import io
import itertools
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bert_tf.examples.labelled import Example
from bert_tf.examples.rows import Rows
from bert_tf.progress import Progress
from bert_tf.records.build.workers import Workers
from bert_tf.records.rows import write
from bert_tf.records.rows.write import Encoded
from bert_tf.tasks.task import Task
from bert_tf.text.wordpiece import WordPieceTokenizer

# Fewer examples are encoded before worker processes have started.
_MIN_FOR_WORKERS = 20_000
_PER_TASK = 1000


def rows(
    task: Task, examples: Sequence[Example], tokenizer: WordPieceTokenizer, max_seq_length: int
) -> Rows:
    """The rows of a training set, in memory; see `Task.encode`."""
    if len(examples) < _MIN_FOR_WORKERS or not task.encodes_silently:
        return task.encode(examples, tokenizer, max_seq_length)
    arguments = (task, tokenizer, max_seq_length)
    return Rows.joined(list(_parts(examples, "tokenize", "encode", *arguments)))


def records(
    task: Task, examples: Sequence[Example], tokenizer: WordPieceTokenizer, max_seq_length: int
) -> Iterator[tuple[Rows, Encoded]]:
    """The rows of the examples, some at a time, and these as records."""
    arguments = (task, tokenizer, max_seq_length)
    return _parts(examples, "write records", "encode_records", *arguments)


def _parts(examples: Sequence[Example], label: str, method: str, *arguments: Any) -> Iterator[Any]:
    """What a method of `_Encoder` gives for the examples, in their order.

    Args:
      label: of the progress display.
      arguments: of `_Encoder`.
    """
    is_large = len(examples) >= _MIN_FOR_WORKERS
    num_workers = len(os.sched_getaffinity(0)) if is_large else 1
    size = _PER_TASK if is_large else max(1, len(examples))
    tasks = ((part,) for part in _lists(examples, size))
    with (
        Workers(num_workers, _Encoder, *arguments) as workers,
        Progress(label, len(examples), "examples", has_last_line=False) as progress,
    ):
        for part in workers.run(method, tasks):
            yield part
            progress.advance(min(size, len(examples)))


class _Encoder:
    """What each worker process does."""

    def __init__(self, task: Task, tokenizer: WordPieceTokenizer, max_seq_length: int) -> None:
        self._task, self._tokenizer, self._length = task, tokenizer, max_seq_length

    def encode(self, examples: Sequence[Example]) -> Rows:
        """Some examples as rows."""
        with contextlib.ExitStack() as stack:
            if multiprocessing.parent_process():  # which shows the progress of all
                stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
                stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            return self._task.encode(examples, self._tokenizer, self._length)

    def encode_records(self, examples: Sequence[Example]) -> tuple[Rows, Encoded]:
        """Some examples as rows, and these as records."""
        encoded = self.encode(examples)
        return encoded, write.encode(encoded, self._length)


def _lists(examples: Iterable[Example], size: int) -> Iterator[list[Example]]:
    """The examples in lists of `size`."""
    rest = iter(examples)
    while part := list(itertools.islice(rest, size)):
        yield part
