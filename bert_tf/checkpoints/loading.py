"""Loads weights into a model, with every variable of the file and of the model accounted for."""

from collections.abc import Iterable, Sequence

import numpy as np

from bert_tf.checkpoints.coverage import FileNames, Report, config_problems, join, matches
from bert_tf.checkpoints.formats.base import Checkpoint, listing
from bert_tf.checkpoints.formats.rows import Row
from bert_tf.checkpoints.variables import Model
from bert_tf.errors import InputError


def load(
    model: Model,
    checkpoint: Checkpoint,
    *,
    skip: Iterable[str] = (),
    fresh: Iterable[str] = (),
) -> Report:
    """Fills `model` from `checkpoint`. Nothing is assigned unless everything fits.

    Args:
      skip: regular expressions, matched in full, of names in the file or of our paths to leave
        out.
      fresh: regular expressions, matched in full, of paths in the model that may keep their
        initial values where the file lacks them.

    Raises:
      InputError: a variable of the file or of the model is not accounted for, a shape differs,
        or the checkpoint's config gives the weights another meaning. The message lists all of it.
    """
    variables = {variable.path: variable for variable in model.variables}
    every_row = checkpoint.format.rows(model.config)
    names = FileNames(checkpoint, every_row, skip)
    rows = [row for row in every_row if row.path in variables]
    present = [row for row in rows if names.holds(row)]
    absent = [row for row in rows if not names.holds(row)]
    without_row = sorted(variables.keys() - {row.path for row in rows})
    problems = config_problems(checkpoint.config, model.config)
    problems += _unfilled(absent, without_row, names, tuple(fresh))
    problems += listing("in the file, not in the model", names.unused(present))
    problems += names.tied_problems()
    arrays: dict[str, np.ndarray] = {}
    if not problems:
        shapes = {path: tuple(variable.shape) for path, variable in variables.items()}
        arrays, problems = join(present, names, shapes)
    if problems:
        raise InputError(
            f"{checkpoint.path} does not fit the model {model.name!r}:\n  " + "\n  ".join(problems)
        )
    for path, array in arrays.items():
        variables[path].assign(array)
    return names.report(arrays, fresh=(*(row.path for row in absent), *without_row))


def _unfilled(
    absent: Sequence[Row], without_row: Sequence[str], names: FileNames, fresh: tuple[str, ...]
) -> list[str]:
    """Variables that the file lacks and that may not keep their initial values.

    One that the file holds in part never may.
    """
    unfilled = [
        f"{row.path} (from {', '.join(row.names)})"
        for row in absent
        if names.holds_some(row) or not matches(fresh, row.path)
    ]
    # The format has no name for these.
    unfilled += [path for path in without_row if not matches(fresh, path)]
    return listing("in the model, not in the file", unfilled)
