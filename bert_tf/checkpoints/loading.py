"""Loads weights with every variable accounted for, in the file and in the model."""

from bert_tf.checkpoints import coverage
from bert_tf.checkpoints.coverage import Report, listing, matches
from bert_tf.checkpoints.formats import table as formats
from bert_tf.errors import InputError


def load(model, checkpoint, *, skip=(), fresh=()):
    """Fills `model` from `checkpoint`. Nothing is assigned unless everything fits.

    Args:
      model: an `Encoder` or a model of `modeling.models`.
      checkpoint: `opening.Checkpoint`.
      skip: regular expressions, matched in full, of names in the file or of our paths to leave
        out.
      fresh: regular expressions, matched in full, of paths in the model that may keep their
        initial values where the file lacks them.

    Returns:
      `Report`.

    Raises:
      InputError: a variable of the file or of the model is not accounted for, a shape differs,
        or the config beside the checkpoint gives the weights another meaning. The message lists
        all of it.
    """
    variables = {variable.path: variable for variable in model.variables}
    everything = formats.by_name(checkpoint.format).names.table(model.config)
    names = coverage.FileNames(checkpoint, everything, skip)
    table = [row for row in everything if row.path in variables]
    present = [row for row in table if names.holds(row)]
    absent = [row for row in table if not names.holds(row)]
    problems = coverage.config_problems(checkpoint.config, model.config)
    without_row = sorted(variables.keys() - {row.path for row in table})
    problems += _unfilled(absent, without_row, names, fresh)
    problems += listing("in the file, not in the model", names.unused(present))
    problems += names.tie_problems()
    arrays = {}
    if not problems:
        shapes = {path: tuple(variable.shape) for path, variable in variables.items()}
        arrays, problems = coverage.join(present, names, shapes)
    if problems:
        raise InputError(
            f"{checkpoint.path} does not fit the model {model.name!r}:\n  " + "\n  ".join(problems)
        )
    for path, array in arrays.items():
        variables[path].assign(array)
    return Report(
        path=checkpoint.path,
        loaded=tuple(arrays),
        fresh=(*(row.path for row in absent), *without_row),
        skipped=names.skipped,
        not_weights=names.not_weights,
        notes=checkpoint.notes,
        unmatched=names.unmatched,
    )


def _unfilled(absent, without_row, names, fresh):
    """Variables that the file lacks and that may not stay as they are.

    Where it holds a part of what a variable is joined from, none may.
    """
    found = [
        f"{row.path} (from {', '.join(row.names)})"
        for row in absent
        if names.holds_some(row) or not matches(fresh, row.path)
    ]
    found += [path for path in without_row if not matches(fresh, path)]  # of no such format
    return listing("in the model, not in the file", found)
