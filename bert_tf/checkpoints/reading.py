"""Reads a checkpoint as a state dict, with every name in the file accounted for."""

from collections.abc import Iterable, Sequence

import numpy as np

from bert_tf.checkpoints import variables
from bert_tf.checkpoints.coverage import FileNames, Report, config_problems, join
from bert_tf.checkpoints.formats.base import Checkpoint, listing
from bert_tf.checkpoints.formats.rows import Row
from bert_tf.checkpoints.kinds import KINDS, check_outputs, check_pooler, heads_of, kind_of
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import POOLER, TAGGER, Shape
from bert_tf.config import BertConfig
from bert_tf.errors import InputError


def read(
    checkpoint: Checkpoint,
    *,
    skip: Iterable[str] = (),
    config: BertConfig | None = None,
    kind: str | None = None,
) -> tuple[StateDict, Report]:
    """Reads all that a checkpoint holds.

    Args:
      skip: regular expressions, matched in full, of names in the file or of our paths to leave
        out.
      config: for a checkpoint without a config. If it has one, both must mean the same.
      kind: key of `kinds.KINDS`, for a checkpoint that does not say it.

    Raises:
      InputError: a name of the file is not accounted for, a part of the encoder is missing, or
        the pooler of a head that reads it, a shape contradicts the config, or an array is not of
        floats. The message lists all of it.
    """
    config = config or checkpoint.config
    if config is None:
        raise InputError(
            f"There is no config next to {checkpoint.path}. Give --bert_config_file of its model."
        )
    rows = checkpoint.format.rows(config)
    names = FileNames(checkpoint, rows, skip)
    present = [row for row in rows if names.holds(row)]
    _refuse_tagger(checkpoint, present)
    problems = config_problems(checkpoint.config, config)
    problems += listing("in the file, in no row of the name table", names.unused(present))
    problems += _missing(rows, names)
    problems += names.tied_problems()
    arrays: dict[str, np.ndarray] = {}
    if not problems:
        arrays, problems = join(present, names, _shapes(config, present, names))
    if problems:
        raise InputError(
            f"{checkpoint.path} is not the BERT that its config describes:\n  "
            + "\n  ".join(problems)
        )
    state_dict = _state_dict(checkpoint, config, arrays, kind, is_complete=not names.skipped)
    return state_dict, names.report(arrays)


def _refuse_tagger(checkpoint: Checkpoint, present: Sequence[Row]) -> None:
    if any(row.path in TAGGER for row in present):
        raise InputError(
            f"{checkpoint.path} is a BiLSTM on frozen layers (--feature_based of a training run), "
            "which no other format holds. To take its encoder alone: --skip='tagger/.*'."
        )


def _missing(rows: Sequence[Row], names: FileNames) -> list[str]:
    """Rows that are missing of the encoder, and of those heads and that pooler that are there."""
    partial = {row.path for row in rows if names.holds_some(row)}
    heads = heads_of(partial)
    optional = () if partial & set(POOLER) else POOLER
    absent = [
        f"{row.path} (from {', '.join(row.names)})"
        for row in rows
        if not names.holds(row)
        and (
            row.path in partial
            or row.path.split("/")[0] in heads
            or (row.path.startswith("encoder/") and row.path not in optional)
        )
    ]
    return listing("in the config or in a head, not in the file", absent)


def _shapes(config: BertConfig, present: Sequence[Row], names: FileNames) -> dict[str, Shape]:
    """Shapes by path; the number of outputs is that of the file."""
    bias = [row for row in present if row.path == "classifier/bias"]
    return variables.shapes(config, names.num_values(bias[0]) if bias else 1)


def _state_dict(
    checkpoint: Checkpoint,
    config: BertConfig,
    arrays: dict[str, np.ndarray],
    kind: str | None,
    is_complete: bool,
) -> StateDict:
    num_outputs = len(arrays.get("classifier/bias", ()))
    stated = kind or checkpoint.kind
    if not kind and not is_complete and not heads_of(arrays):
        stated = None  # the head was left out, and what the files say is about the head
    kind = kind_of(arrays, num_outputs, stated, checkpoint.path)
    labels = checkpoint.labels if KINDS[kind].is_labelled else ()
    check_outputs(kind, num_outputs, labels)
    check_pooler(kind, arrays, checkpoint.path)
    return StateDict(
        config=config,
        arrays=arrays,
        kind=kind,
        source=checkpoint.path,
        vocab_file=checkpoint.vocab_file,
        do_lower_case=checkpoint.do_lower_case,
        labels=labels,
        num_texts=checkpoint.num_texts,
    )
