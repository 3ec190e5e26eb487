"""Every name of a file accounted for: a weight of a row, a second copy, no weight, or skipped."""

import dataclasses
import math
import re

import numpy as np

from bert_tf.checkpoints.formats import table as formats

# Which field of the config a wrong shape points to, by the first pattern its path matches.
_SHAPE_FIELDS = (
    (r"encoder/embeddings/word|masked_lm/output_bias", "vocab_size"),
    (r"encoder/embeddings/position", "max_position_embeddings"),
    (r"encoder/embeddings/type", "type_vocab_size"),
    (r".*/feed_forward/.*", "hidden_size or intermediate_size"),
    (r"classifier/.*", "the number of labels, or hidden_size"),
    (r".*", "hidden_size"),
)

# The flag of `export.checkpoint` that changes a size on purpose.
_SHAPE_FLAGS = {
    "vocab_size": "--vocab_subset=VOCAB_FILE keeps the rows of a smaller vocabulary",
    "max_position_embeddings": "--extend_positions=N extends or cuts the position table",
}

# What the weights mean and their shapes do not show.
_CONFIG_FIELDS = ("num_attention_heads", "hidden_act", "layer_norm_eps", "is_causal")

# Our path in the head that every second copy belongs to, in every format: its decoder is the word
# embeddings again.
_DECODER = "masked_lm/output_bias"


@dataclasses.dataclass(frozen=True)
class Report:
    """What was read. `str()` of it is for people.

    Attributes:
      path: str, the checkpoint.
      loaded: paths of the variables filled.
      fresh: paths of the variables that keep their initial values.
      skipped: names in the file left out by `skip`.
      not_weights: names in the file that are no weights: optimizer state, buffers, and second
        copies of tied weights.
      notes: what the library that wrote the file computes otherwise.
      unmatched: regular expressions of `skip` that left nothing out.
    """

    path: str
    loaded: tuple
    fresh: tuple
    skipped: tuple
    not_weights: tuple
    notes: tuple = ()
    unmatched: tuple = ()

    def __str__(self):
        lines = [f"Loaded {len(self.loaded)} variables from {self.path}."]
        if self.fresh:
            lines.append(f"  Not in it, so random as initialised: {', '.join(self.fresh)}.")
        if self.skipped:
            lines.append(f"  In it and left out: {', '.join(self.skipped)}.")
        if self.not_weights:
            lines.append(f"  {len(self.not_weights)} of its entries are no weights.")
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)


class FileNames:
    """The names of a file under the spelling of its format's table.

    Args:
      checkpoint: `Checkpoint`.
      table: list of `rows.Row`.
      skip: regular expressions, matched in full, of names in the file or of our paths.
    """

    def __init__(self, checkpoint, table, skip):
        names = formats.by_name(checkpoint.format).names
        self._checkpoint = checkpoint
        self._ties = names.TIED
        buffers = [name for name in checkpoint.names if matches(names.NOT_WEIGHTS, name)]
        weights = [name for name in checkpoint.names if name not in set(buffers)]
        canonical = {name: names.canonical(name) for name in weights}
        skipped = {pattern: self._matched(pattern, table, canonical) for pattern in skip}
        self.skipped = tuple(sorted(set().union(*skipped.values())))
        self.unmatched = tuple(pattern for pattern, found in skipped.items() if not found)
        left = set(weights) - set(self.skipped)
        self._original = {canonical[name]: name for name in sorted(left)}
        self.doubles = sorted(left - set(self._original.values()))
        for copy, weight in self._ties.items():
            if copy in self._original and weight not in self._original:
                self._original[weight] = self._original.pop(copy)
        self._copies = {copy for copy in self._ties if copy in self._original}
        self.not_weights = tuple(buffers + sorted(self._original[copy] for copy in self._copies))

    def _matched(self, pattern, table, canonical):
        """Names of weights in the file that a regular expression matches, as theirs or as ours."""
        rows = {n for row in table if re.fullmatch(pattern, row.path) for n in row.names}
        if re.fullmatch(pattern, _DECODER):
            rows |= self._ties.keys()
        return {n for n, today in canonical.items() if re.fullmatch(pattern, n) or today in rows}

    def holds(self, row):
        """Whether all names of a row are in the file."""
        return all(name in self._original for name in row.names)

    def holds_some(self, row):
        """Whether a name of a row is in the file."""
        return any(name in self._original for name in row.names)

    def read(self, row):
        """The arrays of a row."""
        return [self._checkpoint.read(self._original[name]) for name in row.names]

    def num_values(self, row):
        """How many values a row of one name holds in the file."""
        (name,) = row.names
        return math.prod(self._checkpoint.shapes[self._original[name]])

    def unused(self, rows):
        """Names in the file that are in none of `rows`."""
        used = {name for row in rows for name in row.names}
        rest = [self._original[n] for n in self._original.keys() - used - self._copies]
        return sorted(rest + self.doubles)

    def shape_problems(self, row, shape):
        """What differs between a row's shapes in the file and a variable's; [] if nothing.

        Args:
          row: `Row`, all of whose names are in the file.
          shape: tuple of int, of the variable.
        """
        wanted = [part.shape for part in row.split(np.broadcast_to(np.float32(0), shape))]
        found = [self._checkpoint.shapes[self._original[name]] for name in row.names]
        if found == wanted:
            return []
        try:
            joined = row.join([np.broadcast_to(np.float32(0), one) for one in found]).shape
        except ValueError:
            joined = found[0] if len(found) == 1 else found
        field = next(f for pattern, f in _SHAPE_FIELDS if re.fullmatch(pattern, row.path))
        text = (
            f"{row.path} is {_axes(joined)} in the file ({', '.join(row.names)}), "
            f"{_axes(shape)} in the model: {field} differs"
        )
        if field in _SHAPE_FLAGS:
            text += f" (python -m export.checkpoint {_SHAPE_FLAGS[field]})"
        return [text]

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


def config_problems(found, wanted):
    """What gives the weights another meaning than the config beside them.

    Args:
      found: `BertConfig` beside the checkpoint, or None.
      wanted: `BertConfig` of the model.

    Returns:
      list of str.
    """
    if found is None:
        return []
    return [
        f"{field} is {getattr(found, field)!r} in the config beside the checkpoint, "
        f"{getattr(wanted, field)!r} in the model"
        for field in _CONFIG_FIELDS
        if getattr(found, field) != getattr(wanted, field)
    ]


def _axes(shape):
    return str([list(one) if isinstance(one, tuple) else one for one in shape])


def matches(patterns, name):
    """Whether one of the regular expressions matches the whole name."""
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def listing(title, names, most=20):
    """Lines of a message: how many names there are, and the first of them; [] for none."""
    if not names:
        return []
    more = [f"  and {len(names) - most} more"] if len(names) > most else []
    return [f"{title} ({len(names)}):", *(f"  {name}" for name in names[:most]), *more]


def join(rows, names, shapes):
    """The arrays of rows that the file holds.

    Args:
      rows: list of `Row`.
      names: `FileNames`.
      shapes: dict from path to the shape wanted.

    Returns:
      (dict from path to float array, list of problems); no array is read if a shape differs.
    """
    problems = [text for row in rows for text in names.shape_problems(row, shapes[row.path])]
    if problems:
        return {}, problems
    arrays = {}
    for row in rows:
        parts = names.read(row)
        if wrong := sorted({part.dtype.name for part in parts if part.dtype.kind != "f"}):
            problems.append(f"{row.path} ({', '.join(row.names)}) is {wrong[0]}, no float")
        else:
            arrays[row.path] = row.join(parts)
    return arrays, problems
