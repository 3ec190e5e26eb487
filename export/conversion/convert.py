"""From a checkpoint of one format to a directory of another: read, checked, changed, written."""

import dataclasses
import os
import re

from bert_tf import config as config_lib
from bert_tf import files
from bert_tf.checkpoints import check_vocabulary, open_checkpoint, resizing, state_dict, variables
from bert_tf.checkpoints.formats import table
from bert_tf.checkpoints.formats.checkpoint import CONVERSION_FILE, describe, held
from bert_tf.checkpoints.hub import presets
from bert_tf.errors import InputError
from bert_tf.text import vocab
from export.conversion import report as conversion_report
from export.conversion import verify


def run(options):
    """Converts what the options name and prints what went where.

    Args:
      options: `options.Conversion`.

    Raises:
      InputError: the source is not BERT, is damaged or not accounted for, the target cannot hold
        it, or the output directory holds something else.
      conversion_verify.MismatchError: the result computes something else.
    """
    path = presets.resolve(options.source)
    checkpoint = open_checkpoint(path)
    check_output(options.output, checkpoint.path)
    found, report = _read(checkpoint, options)
    changed, notes = _changed(found, checkpoint.vocab_file, options)
    notes += [f"--skip: {pattern!r} leaves nothing out." for pattern in report.unmatched]
    target = table.by_name(options.target)
    missing = target.needs_pooler and variables.POOLER[0] not in changed.arrays
    if missing:
        changed = changed.with_pooler()
        notes.append("There is no pooler in the source, so its weights are random.")
    source = verify.Side(checkpoint, found, _patterns(options.skip))
    difference = _write(target, source, changed, options)
    notes += [*report.notes, *target.notes(changed)]
    conversion_report.write(checkpoint, report, changed, target, options.output, notes)
    if difference:
        print(difference, flush=True)


def _write(target, source, changed, options):
    """Writes the output directory; returns the text of what --verify found, or None."""
    texts = verify.read_texts(options) if _verifies(options) else None
    try:
        with files.replacing_directory(options.output) as temporary:
            target.files.write(changed, temporary)
            describe(temporary, changed)
            if texts is None:
                return None
            result = verify.Side(open_checkpoint(temporary), changed)
            return verify.compare(source, result, texts)
    except OSError as error:
        raise InputError(f"--output={options.output} cannot be written: {error}.") from None


def check_output(output, source):
    """Refuses to replace anything but an earlier conversion.

    Raises:
      InputError: `output` is a file, holds something else or the source, or is where we work.
    """
    if f"{os.getcwd()}{os.sep}".startswith(os.path.realpath(output) + os.sep):
        raise InputError(
            f"--output={output} is the working directory, or around it, and would be replaced "
            "whole. Give a new directory."
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
            f"--output={output} is not empty and no earlier conversion, which would have a "
            f"{CONVERSION_FILE}; it would be replaced whole. {held(output)} Give a new directory."
        )


def _read(checkpoint, options):
    """(`Contents`, `Report`) of the source with what the options say about it."""
    given = options.bert_config_file
    found, report = state_dict.read(
        checkpoint,
        skip=_patterns(options.skip),
        config=config_lib.from_file(given) if given else None,
        kind=options.kind,
    )
    told = {
        "vocab_file": options.vocab_file,
        "do_lower_case": options.do_lower_case,
        "labels": _labels(options.labels) if options.labels else None,
        "num_texts": options.num_texts,
    }
    found = dataclasses.replace(found, **{n: v for n, v in told.items() if v is not None})
    variables.check_outputs(found.kind, found.num_outputs, found.labels)
    return found, report


def _labels(text):
    labels = tuple(label.strip() for label in text.split(","))
    if "" in labels or len(set(labels)) != len(labels):
        raise InputError(f"--labels={text} has a label twice, or an empty one.")
    return labels


def _patterns(skip):
    """The regular expressions of --skip; a comma within braces divides nothing."""
    patterns = tuple(re.split(r",(?![^{}]*\})", skip)) if skip else ()
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(f"--skip: {pattern!r} is no regular expression: {error}.") from None
    return patterns


def _changed(found, beside, options):
    """(`Contents` as it shall be written, list of notes about what was done to it).

    `beside` is the path of the source's own vocabulary, or None.
    """
    notes = []
    if found.vocab_file:
        vocabulary = vocab.from_file(found.vocab_file)
        if beside and vocab.from_file(beside).sha256 != vocabulary.sha256:
            notes.append(f"{found.vocab_file} is another vocabulary than the source's, {beside}.")
        notes += filter(None, [check_vocabulary(found.config, vocabulary)])
        casing = not vocabulary.is_cased
        if found.do_lower_case is None:
            found = dataclasses.replace(found, do_lower_case=casing)
            notes.append(f"Nothing tells the casing; the vocabulary's is do_lower_case={casing}.")
        elif found.do_lower_case != casing:
            notes.append(
                f"do_lower_case={found.do_lower_case}, but the vocabulary is "
                f"{'uncased' if casing else 'cased'}. --do_lower_case says otherwise."
            )
    else:
        notes.append("There is no vocabulary beside the source; --vocab_file gives one.")
    if options.extend_positions is not None:
        found, note = resizing.extend_positions(found, options.extend_positions)
        notes.append(note)
    if options.vocab_subset:
        found, note = resizing.vocab_subset(found, options.vocab_subset)
        notes.append(note)
    return found, notes


def _verifies(options):
    return options.verify or bool(options.verify_file)
