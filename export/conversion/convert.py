"""Converts a checkpoint of one format to a directory of another: reads, changes, checks, writes."""

import dataclasses
import os
import re
from typing import Any

from bert_tf import config, files, formatting
from bert_tf.checkpoints import check_vocabulary, open_checkpoint, reading
from bert_tf.checkpoints.coverage import Report
from bert_tf.checkpoints.formats.base import (
    CONVERSION_FILE,
    Checkpoint,
    Format,
    describe_directory,
    write_conversion,
)
from bert_tf.checkpoints.hub import presets
from bert_tf.checkpoints.kinds import check_outputs
from bert_tf.checkpoints.opening import format_named
from bert_tf.checkpoints.state_dict import StateDict, extend_positions, vocab_subset
from bert_tf.checkpoints.variables import POOLER
from bert_tf.errors import InputError
from bert_tf.text import vocab
from export.conversion import report as conversion_report
from export.conversion import verify
from export.options import Conversion


def run(options: Conversion) -> None:
    """Converts what the options name and prints what went where.

    Raises:
      InputError: the source is not BERT, is damaged or not accounted for, the target cannot hold
        it, or the output directory holds something else.
      verify.MismatchError: the result computes something else.
    """
    checkpoint = open_checkpoint(presets.resolve(options.source))
    check_output(options.output, checkpoint.path)
    state_dict, report = _read(checkpoint, options)
    changed, notes = _changed(state_dict, checkpoint.vocab_file, options)
    notes += [f"--skip: {pattern!r} leaves nothing out." for pattern in report.unmatched]
    target = format_named(options.target)
    if target.needs_pooler and POOLER[0] not in changed.arrays:
        changed = changed.with_pooler()
        notes.append("There is no pooler in the source, so its weights are random.")
    source = verify.Side(checkpoint, state_dict, _patterns(options.skip))
    difference = _write(target, source, changed, options)
    notes += [*report.notes, *target.notes(changed)]
    conversion_report.write(checkpoint, report, changed, target, options.output, notes)
    if difference:
        print(difference, flush=True)


def _write(
    target: Format, source: verify.Side, changed: StateDict, options: Conversion
) -> str | None:
    """Writes the output directory; returns what --verify has to say, or None without it."""
    texts = verify.read_texts(options) if options.verify or options.verify_file else None
    explained = files.disk_full_explained(options.output, lambda: _disk_full(options.output))
    try:
        with explained, files.replacing_directory(options.output) as temporary:
            target.write(changed, temporary)
            write_conversion(temporary, changed)
            if texts is None:
                return None
            result = verify.Side(open_checkpoint(temporary), changed)
            return verify.compare(source, result, texts)
    except OSError as error:
        raise InputError(f"--output={options.output} cannot be written: {error}.") from None


def _disk_full(output: str) -> str:
    """What is kept after a full disk, and how to go on."""
    return (
        f"Nothing of this conversion is left, and what was in {output} before is as it was. Free "
        f"some space ({formatting.size(files.free_bytes(output))} are free) or give an --output on "
        "another disk, and run the same command again."
    )


def check_output(output: str, source: str) -> None:
    """Refuses to replace anything but an earlier conversion.

    Args:
      source: path of the checkpoint.

    Raises:
      InputError: `output` is a file, holds something else or the source, or is or holds the
        working directory.
    """
    if f"{os.getcwd()}{os.sep}".startswith(os.path.realpath(output) + os.sep):
        raise InputError(
            f"--output={output} is or contains the working directory, and all of it would be "
            "replaced. Give a new directory."
        )
    if os.path.exists(output) and not os.path.isdir(output):
        raise InputError(f"--output={output} is a file; a directory was wanted.")
    if not os.path.isdir(output) or not os.listdir(output):
        return
    inside = os.path.realpath(source) + os.sep
    if inside.startswith(os.path.realpath(output) + os.sep):
        raise InputError(f"--output={output} holds the source, {source}. Give another directory.")
    if not os.path.isfile(os.path.join(output, CONVERSION_FILE)):
        raise InputError(
            f"--output={output} is not empty and not an earlier conversion, which would have a "
            f"{CONVERSION_FILE}; all of it would be replaced. {describe_directory(output)} Give a "
            "new directory."
        )


def _read(checkpoint: Checkpoint, options: Conversion) -> tuple[StateDict, Report]:
    """Reads the source, with what the options say about it."""
    config_file = options.bert_config_file
    state_dict, report = reading.read(
        checkpoint,
        skip=_patterns(options.skip),
        config=config.from_file(config_file) if config_file else None,
        kind=options.kind,
    )
    given: dict[str, Any] = {
        "vocab_file": options.vocab_file,
        "do_lower_case": options.do_lower_case,
        "labels": _labels(options.labels) if options.labels else None,
        "num_texts": options.num_texts,
    }
    given = {name: value for name, value in given.items() if value is not None}
    state_dict = dataclasses.replace(state_dict, **given)
    check_outputs(state_dict.kind, state_dict.num_outputs, state_dict.labels)
    return state_dict, report


def _labels(text: str) -> tuple[str, ...]:
    labels = tuple(label.strip() for label in text.split(","))
    if "" in labels or len(set(labels)) != len(labels):
        raise InputError(f"--labels={text} has a label twice, or an empty one.")
    return labels


def _patterns(skip: str | None) -> tuple[str, ...]:
    """The regular expressions of --skip; a comma within braces separates nothing."""
    patterns = tuple(re.split(r",(?![^{}]*\})", skip)) if skip else ()
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(f"--skip: {pattern!r} is not a regular expression: {error}.") from None
    return patterns


def _changed(
    state_dict: StateDict, source_vocab_file: str | None, options: Conversion
) -> tuple[StateDict, list[str]]:
    """The state dict to write, and notes on what differs from the source.

    Args:
      source_vocab_file: the source's own vocabulary, or None.
    """
    state_dict, notes = _with_casing(state_dict, source_vocab_file)
    if options.extend_positions is not None:
        state_dict, note = extend_positions(state_dict, options.extend_positions)
        notes.append(note)
    if options.vocab_subset:
        state_dict, note = vocab_subset(state_dict, options.vocab_subset)
        notes.append(note)
    return state_dict, notes


def _with_casing(
    state_dict: StateDict, source_vocab_file: str | None
) -> tuple[StateDict, list[str]]:
    """The state dict with the casing of its vocabulary if none is known, and notes on both."""
    vocab_file, notes = state_dict.vocab_file, []
    if not vocab_file:
        return state_dict, ["There is no vocabulary next to the source; --vocab_file gives one."]
    vocabulary = vocab.from_file(vocab_file)
    if source_vocab_file and vocab.from_file(source_vocab_file).sha256 != vocabulary.sha256:
        notes.append(f"{vocab_file} is another vocabulary than the source's, {source_vocab_file}.")
    notes += filter(None, [check_vocabulary(state_dict.config, vocabulary)])
    casing = not vocabulary.is_cased
    if state_dict.do_lower_case is None:
        state_dict = dataclasses.replace(state_dict, do_lower_case=casing)
        notes.append(
            f"The source does not say its casing; the vocabulary's is do_lower_case={casing}."
        )
    elif state_dict.do_lower_case != casing:
        notes.append(
            f"do_lower_case={state_dict.do_lower_case}, but the vocabulary is "
            f"{'uncased' if casing else 'cased'}. --do_lower_case sets it."
        )
    return state_dict, notes
