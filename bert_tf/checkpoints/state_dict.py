"""A model without a framework: its arrays under our paths, and all that travels with them."""

import dataclasses

import numpy as np

from bert_tf import config as config_lib
from bert_tf.checkpoints import coverage, variables
from bert_tf.checkpoints.coverage import Report, listing
from bert_tf.checkpoints.formats import table as formats
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contents:
    """What a checkpoint of any format holds.

    Attributes:
      config: `BertConfig`.
      arrays: dict from the path of a variable to a float32 array.
      kind: entry of `variables.KINDS`.
      source: str, where it was read.
      vocab_file: path of a vocab.txt, or None.
      do_lower_case: bool, casing of the text side, or None where nothing tells it.
      labels: tuple of str, label of each output of a classifier, or () where nothing tells them.
      num_texts: texts per example, or None where nothing tells it.
    """

    config: config_lib.BertConfig
    arrays: dict
    kind: str
    source: str
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    labels: tuple = ()
    num_texts: int | None = None

    @property
    def num_outputs(self):
        """C: outputs of the classifier; 0 without one."""
        bias = self.arrays.get("classifier/bias")
        return 0 if bias is None else len(bias)

    def with_pooler(self):
        """The same with a pooler: fresh, as training would start it, if there is none.

        Only a model whose heads do not read it, or a bare encoder, has none: see `read`.
        """
        if variables.POOLER[0] in self.arrays:
            return self
        size = self.config.hidden_size
        draws = np.random.default_rng(0).normal(size=2 * size * size)
        kernel = draws[np.abs(draws) < 2][: size * size]  # truncated, as the released code's
        kernel = kernel.reshape(size, size) * self.config.initializer_range
        pooler = dict(zip(variables.POOLER, (kernel, np.zeros(size)), strict=True))
        pooler = {path: array.astype(np.float32) for path, array in pooler.items()}
        return dataclasses.replace(self, arrays=self.arrays | pooler)

    def to_names(self, names):
        """The arrays under the names of a format, sorted; they may be views of ours.

        Args:
          names: names module of a row of `table.FORMATS`.

        Raises:
          InputError: the format has no place for one of them.
        """
        left, found = dict(self.arrays), {}
        for row in names.table(self.config):
            if row.path in left:
                found.update(zip(row.names, row.split(left.pop(row.path)), strict=True))
        if left:
            raise InputError(
                f"{self.source} holds what this format has no place for:\n  "
                + "\n  ".join(listing("without a name there", sorted(left)))
                + "\nLeave it out, if that is meant: --skip with regular expressions of the names "
                "above, divided by commas."
            )
        return {name: found[name] for name in sorted(found)}


def read(checkpoint, *, skip=(), config=None, kind=None):
    """Reads all that a checkpoint holds.

    Args:
      checkpoint: `Checkpoint`.
      skip: regular expressions, matched in full, of names in the file or of our paths to leave
        out.
      config: `BertConfig`, for a checkpoint with none beside it; it must mean the same as one.
      kind: entry of `variables.KINDS`, for a checkpoint that does not tell it.

    Returns:
      (`Contents`, `Report`).

    Raises:
      InputError: a name of the file is not accounted for, a part of the encoder is missing, or
        the pooler of a head that reads it, a shape contradicts the config, or an array is no
        float. The message lists all of it.
    """
    config = config or checkpoint.config
    if config is None:
        raise InputError(
            f"{checkpoint.path} has no config beside it. Give --bert_config_file of its model."
        )
    table = formats.by_name(checkpoint.format).names.table(config)
    names = coverage.FileNames(checkpoint, table, skip)
    present = [row for row in table if names.holds(row)]
    problems = coverage.config_problems(checkpoint.config, config)
    problems += listing("in the file, in no row of the table", names.unused(present))
    problems += _missing(table, names)
    problems += names.tie_problems()
    arrays = {}
    if not problems:
        arrays, problems = coverage.join(present, names, _shapes(config, present, names))
    if problems:
        raise InputError(
            f"{checkpoint.path} is not the BERT that its config describes:\n  "
            + "\n  ".join(problems)
        )
    return _contents(checkpoint, config, arrays, kind, names.skipped), Report(
        path=checkpoint.path,
        loaded=tuple(arrays),
        fresh=(),
        skipped=names.skipped,
        not_weights=names.not_weights,
        notes=checkpoint.notes,
        unmatched=names.unmatched,
    )


def _missing(table, names):
    """Rows of the encoder, and of heads and a pooler that are there in part."""
    partial = {row.path for row in table if names.holds_some(row)}
    heads = {path.split("/")[0] for path in partial} - {"encoder"}
    optional = () if partial & set(variables.POOLER) else variables.POOLER
    absent = [
        f"{row.path} (from {', '.join(row.names)})"
        for row in table
        if not names.holds(row)
        and (
            row.path in partial
            or row.path.split("/")[0] in heads
            or (row.path.startswith("encoder/") and row.path not in optional)
        )
    ]
    return listing("in the config or in a head, not in the file", absent)


def _shapes(config, present, names):
    bias = [row for row in present if row.path == "classifier/bias"]
    return variables.shapes(config, names.num_values(bias[0]) if bias else 1)


def _contents(checkpoint, config, arrays, kind, skipped):
    num_outputs = len(arrays.get("classifier/bias", ()))
    told = kind or checkpoint.kind
    if not kind and skipped and not variables.heads(arrays):
        told = None  # the head was left out, so what is told about it is no longer so
    kind = variables.kind_of(arrays, num_outputs, told, checkpoint.path)
    labels = checkpoint.labels if kind in variables.LABELLED else ()
    variables.check_outputs(kind, num_outputs, labels)
    variables.check_pooler(kind, arrays, checkpoint.path)
    return Contents(
        config=config,
        arrays=arrays,
        kind=kind,
        source=checkpoint.path,
        vocab_file=checkpoint.vocab_file,
        do_lower_case=checkpoint.do_lower_case,
        labels=labels,
        num_texts=checkpoint.num_texts,
    )
