"""Writes a file in SQuAD's layout question by question: the memory never holds all of it."""

import contextlib
import gzip
import io
import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TextIO, cast

from bert_tf import files
from bert_tf.examples.labelled import SpanExample

Add = Callable[[str, SpanExample], None]  # of a question with the title of its document


@contextlib.contextmanager
def writing(path: str, *, may_be_unanswerable: bool) -> Iterator[Add]:
    """Yields a function that adds a question; the file appears when the block ends.

    Each question is an article of one paragraph, on a line of its own. The text is ASCII: JSON may
    have half a surrogate pair, which UTF-8 has not.

    Args:
      path: compressed by gzip if it ends in .gz.
      may_be_unanswerable: whether the layout is that of SQuAD 2.0, which says so of each question.
    """
    version = "v2.0" if may_be_unanswerable else "1.1"
    files.remove_unfinished(path)
    with files.replacing(path) as temporary, _opened(temporary, path.endswith(".gz")) as stream:
        stream.write(f'{{"version": "{version}", "data": [')
        separator = "\n"

        def add(title: str, example: SpanExample) -> None:
            nonlocal separator
            question = _question(example, may_be_unanswerable)
            paragraph = {"context": example.context, "qas": [question]}
            stream.write(separator + json.dumps({"title": title, "paragraphs": [paragraph]}))
            separator = ",\n"

        yield add
        stream.write("\n]}\n")


@contextlib.contextmanager
def _opened(path: str, is_compressed: bool) -> Iterator[TextIO]:
    """Opens a file to write; the same text gives the same bytes."""
    with contextlib.ExitStack() as stack:
        file: BinaryIO = stack.enter_context(open(path, "wb"))
        if is_compressed:
            zipped = stack.enter_context(
                gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
            )
            file = cast(BinaryIO, zipped)
        yield stack.enter_context(io.TextIOWrapper(file, encoding="ascii", newline="\n"))


def _question(example: SpanExample, may_be_unanswerable: bool) -> dict[str, Any]:
    answers = [{"text": answer.text, "answer_start": answer.start} for answer in example.answers]
    question = {"id": example.question_id, "question": example.question, "answers": answers}
    return question | ({"is_impossible": example.is_impossible} if may_be_unanswerable else {})
