"""Loads weights with every variable accounted for, in the file and in the model."""

import dataclasses
import re

import numpy as np

from bert_tf.checkpoints import hugging_face_names, opening, tf1_names
from bert_tf.errors import InputError

_TABLES = {opening.TF1: tf1_names, opening.HUGGING_FACE: hugging_face_names}

# What the weights mean and their shapes do not show.
_CONFIG_FIELDS = ("num_attention_heads", "hidden_act", "layer_norm_eps", "is_causal")

# Which field of the config a wrong shape points to, by the first pattern its path matches.
_SHAPE_FIELDS = (
    (r"encoder/embeddings/word|masked_lm/output_bias", "vocab_size"),
    (r"encoder/embeddings/position", "max_position_embeddings"),
    (r"encoder/embeddings/type", "type_vocab_size"),
    (r".*/feed_forward/.*", "hidden_size or intermediate_size"),
    (r"classifier/.*", "the number of labels, or hidden_size"),
    (r".*", "hidden_size"),
)


@dataclasses.dataclass(frozen=True)
class Report:
    """What `load` did. `str()` of it is for people.

    Attributes:
      path: str, the checkpoint.
      loaded: paths of the variables filled.
      fresh: paths of the variables that keep their initial values.
      skipped: names in the file left out by `skip`.
      not_weights: names in the file that are no weights: optimizer state, buffers, and second
        copies of tied weights.
    """

    path: str
    loaded: tuple
    fresh: tuple
    skipped: tuple
    not_weights: tuple

    def __str__(self):
        lines = [f"Loaded {len(self.loaded)} variables from {self.path}."]
        if self.fresh:
            lines.append(f"  Not in it, so random as initialised: {', '.join(self.fresh)}.")
        if self.skipped:
            lines.append(f"  In it and left out: {', '.join(self.skipped)}.")
        if self.not_weights:
            lines.append(f"  {len(self.not_weights)} of its entries are no weights.")
        return "\n".join(lines)


def load(model, checkpoint, *, skip=(), fresh=()):
    """Fills `model` from `checkpoint`. Nothing is assigned unless everything fits.

    Args:
      model: an `Encoder` or a model of `modeling.models`.
      checkpoint: `opening.Checkpoint`.
      skip: regular expressions, matched in full, of names in the file to leave out.
      fresh: regular expressions, matched in full, of paths in the model that may keep their
        initial values where the file lacks them.

    Returns:
      `Report`.

    Raises:
      InputError: a variable of the file or of the model is not accounted for, a shape differs,
        or the config beside the checkpoint gives the weights another meaning. The message lists
        all of it.
    """
    names = _FileNames(checkpoint, skip)
    variables = {variable.path: variable for variable in model.variables}
    table = [
        row
        for row in _TABLES[checkpoint.format].table(model.config.num_hidden_layers)
        if row.path in variables
    ]
    present = [row for row in table if names.holds(row)]
    absent = [row for row in table if not names.holds(row)]
    problems = _config_problems(checkpoint.config, model.config)
    problems += _unfilled(absent, variables.keys() - {row.path for row in table}, names, fresh)
    problems += _listing("in the file, not in the model", names.unused(present))
    problems += names.tie_problems()
    arrays = {}
    if not problems:
        arrays, problems = _join(present, names, variables)
    if problems:
        raise InputError(
            f"{checkpoint.path} does not fit the model {model.name!r}:\n  " + "\n  ".join(problems)
        )
    for path, array in arrays.items():
        variables[path].assign(array)
    return Report(
        path=checkpoint.path,
        loaded=tuple(arrays),
        fresh=tuple(row.path for row in absent),
        skipped=names.skipped,
        not_weights=names.not_weights,
    )


class _FileNames:
    """The names of a file under the spelling of the table."""

    def __init__(self, checkpoint, skip):
        table = _TABLES[checkpoint.format]
        self._checkpoint = checkpoint
        self._ties = table.TIED
        buffers = [name for name in checkpoint.names if _matches(table.NOT_WEIGHTS, name)]
        weights = [name for name in checkpoint.names if name not in buffers]
        self.skipped = tuple(name for name in weights if _matches(skip, name))
        self._original = {table.canonical(n): n for n in weights if n not in self.skipped}
        for copy, weight in self._ties.items():
            if copy in self._original and weight not in self._original:
                self._original[weight] = self._original.pop(copy)
        self._copies = {copy for copy in self._ties if copy in self._original}
        self.not_weights = tuple(buffers + sorted(self._original[copy] for copy in self._copies))

    def holds(self, row):
        return all(name in self._original for name in row.names)

    def holds_some(self, row):
        return any(name in self._original for name in row.names)

    def read(self, row):
        return [self._checkpoint.read(self._original[name]) for name in row.names]

    def unused(self, rows):
        """Names in the file that are in none of `rows`."""
        used = {name for row in rows for name in row.names}
        return sorted(self._original[n] for n in self._original.keys() - used - self._copies)

    def tie_problems(self):
        """Second copies that differ from the first."""
        return [
            f"{copy} and {weight} differ; this model has one matrix for both"
            for copy, weight in self._ties.items()
            if copy in self._copies and not self._equal(copy, weight)
        ]

    def _equal(self, copy, weight):
        one, other = self._original[copy], self._original[weight]
        read = self._checkpoint.read
        return one == other or np.array_equal(read(one), read(other))


def _matches(patterns, name):
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _listing(title, names, most=20):
    if not names:
        return []
    more = [f"  and {len(names) - most} more"] if len(names) > most else []
    return [f"{title} ({len(names)}):", *(f"  {name}" for name in names[:most]), *more]


def _config_problems(found, wanted):
    if found is None:
        return []
    return [
        f"{field} is {getattr(found, field)!r} in the config beside the checkpoint, "
        f"{getattr(wanted, field)!r} in the model"
        for field in _CONFIG_FIELDS
        if getattr(found, field) != getattr(wanted, field)
    ]


def _unfilled(absent, without_row, names, fresh):
    """Variables that the file lacks and that may not stay as they are.

    Where it holds a part of what a variable is joined from, none may.
    """
    found = [
        f"{row.path} (from {', '.join(row.names)})"
        for row in absent
        if names.holds_some(row) or not _matches(fresh, row.path)
    ]
    return _listing("in the model, not in the file", found + sorted(without_row))


def _join(rows, names, variables):
    """(dict from path to array, list of problems)."""
    arrays, problems = {}, []
    for row in rows:
        array = row.join(names.read(row))
        shape = tuple(variables[row.path].shape)
        if array.shape != shape:
            field = next(f for pattern, f in _SHAPE_FIELDS if re.fullmatch(pattern, row.path))
            problems.append(
                f"{row.path} is {list(array.shape)} in the file ({', '.join(row.names)}), "
                f"{list(shape)} in the model: {field} differs"
            )
        arrays[row.path] = array
    return arrays, problems
