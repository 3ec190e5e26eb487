"""From a file of questions in their original layout to a file in SQuAD's layout."""

import collections
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from bert_tf import files, formatting, invocation, progress
from bert_tf.corpus import inputs
from bert_tf.errors import InputError
from bert_tf.examples.labelled import SpanExample
from bert_tf.options import QuestionSet
from bert_tf.tasks.question_sets import natural_questions, squad_file, triviaqa

_Reader = Callable[[BinaryIO, QuestionSet], Iterator[tuple[str, SpanExample] | str]]
_READERS: Mapping[str, _Reader] = {
    "triviaqa": triviaqa.read,
    "natural_questions": natural_questions.read,
}
_ANSWERED = "with an answer"
_UNANSWERABLE = "unanswerable"


def main(options: QuestionSet) -> None:
    """Converts a file, and says what is in the new one, what is left out and what to do next.

    Raises:
      InputError: a file is missing or not as wanted, or no question can be kept.
    """
    files.require_file(options.input_file, "--input_file")
    files.require_output_file(
        options.output_file, "--output_file", options.input_file, "--input_file"
    )
    kept, left_out = _convert(options)
    size = formatting.size(os.path.getsize(options.output_file))
    print(f"Wrote {options.output_file} ({size}).\nQuestions: {_counted(kept)}.")
    if left_out:
        print(f"Left out: {_counted(left_out)}.")
    output_dir = _output_dir(options.output_file)
    print(f"Next, train on them, and then on SQuAD with --init_checkpoint={output_dir}:")
    print(f"  {_training(options.output_file, output_dir, bool(kept[_UNANSWERABLE]))}", flush=True)


def _convert(options: QuestionSet) -> tuple[collections.Counter[str], collections.Counter[str]]:
    """Writes the output; counts the questions in it, and those left out by the reason.

    Raises:
      InputError: see `main`; nothing is written.
    """
    kept: collections.Counter[str] = collections.Counter()
    left_out: collections.Counter[str] = collections.Counter()
    path = options.input_file
    with (
        squad_file.writing(
            options.output_file, may_be_unanswerable=options.may_be_unanswerable
        ) as add,
        inputs.open_text(path) as stream,
        progress.Progress("convert", os.path.getsize(path), "bytes") as shown,
    ):
        num_bytes = 0
        for result in _READERS[options.layout](stream, options):
            if isinstance(result, str):
                left_out[result] += 1
            else:
                add(*result)
                kept[_UNANSWERABLE if result[1].is_impossible else _ANSWERED] += 1
            position = inputs.position(stream)
            shown.advance(position - num_bytes, kept=f"{kept.total():,}")
            num_bytes = position
        if not kept:
            why = f"Left out: {_counted(left_out)}." if left_out else "The file has none."
            raise InputError(f"{path}: no question can be kept. {why}")
    return kept, left_out


def _counted(counts: collections.Counter[str]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.most_common())


def _output_dir(path: str) -> str:
    """Where the suggested training puts its model: next to the file, by its name."""
    directory = os.path.splitext(path.removesuffix(".gz"))[0]
    return directory if directory != path else f"{path}-model"


def _training(train_file: str, output_dir: str, has_unanswerable: bool) -> str:
    flags = ["--do_train", f"--train_file={train_file}"]
    flags += ["--version_2_with_negative"] if has_unanswerable else []
    flags += ["--init_checkpoint=BERT", f"--output_dir={output_dir}"]
    return f"{invocation.of('squad', 'run_squad.py')} {shlex.join(flags)}"
