"""Accounts for every name in a file: a weight, a second copy of one, not a weight, or skipped."""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bert_tf.checkpoints.formats.base import Checkpoint
from bert_tf.checkpoints.formats.rows import Row
from bert_tf.checkpoints.variables import Shape
from bert_tf.config import BertConfig

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

# Fields that change what the weights compute and not their shapes.
_CONFIG_FIELDS = ("num_attention_heads", "hidden_act", "layer_norm_eps", "is_causal")

# Our path in the head that every second copy belongs to, in every format: its decoder is the word
# embeddings again.
_DECODER = "masked_lm/output_bias"


@dataclasses.dataclass(frozen=True)
class Report:
    """What was read. `str()` of it is for people.

    Attributes:
      path: the checkpoint.
      loaded: paths of the variables that were read.
      fresh: paths of the variables that keep their initial values.
      skipped: names in the file that `skip` left out.
      not_weights: names in the file that are not weights: optimizer state, buffers, and second
        copies of tied weights.
      notes: what the library that wrote the file computes differently.
      unmatched: regular expressions of `skip` that left nothing out.
    """

    path: str
    loaded: tuple[str, ...]
    fresh: tuple[str, ...]
    skipped: tuple[str, ...]
    not_weights: tuple[str, ...]
    notes: tuple[str, ...]
    unmatched: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"Loaded {len(self.loaded)} variables from {self.path}."]
        if self.fresh:
            lines.append(f"  Not in it, so random as initialised: {', '.join(self.fresh)}.")
        if self.skipped:
            lines.append(f"  In it and left out: {', '.join(self.skipped)}.")
        if self.not_weights:
            lines.append(f"  {len(self.not_weights)} of its entries are not weights.")
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)


class FileNames:
    """The names in a file, under the spelling of its format's name table.

    Args:
      rows: the name table.
      skip: regular expressions, matched in full, of names in the file or of our paths.

    Attributes:
      skipped: names in the file that `skip` leaves out.
      unmatched: those of `skip` that leave nothing out.
      not_weights: names in the file that are not weights, or are second copies of weights.
    """

    def __init__(self, checkpoint: Checkpoint, rows: Sequence[Row], skip: Iterable[str]) -> None:
        file_format = checkpoint.format
        self._checkpoint = checkpoint
        self._tied = file_format.tied
        others = [name for name in checkpoint.names if matches(file_format.not_weights, name)]
        weights = [name for name in checkpoint.names if name not in set(others)]
        canonical = {name: file_format.canonical_name(name) for name in weights}
        skipped = {pattern: self._matched(pattern, rows, canonical) for pattern in skip}
        self.skipped = tuple(sorted(set().union(*skipped.values())))
        self.unmatched = tuple(pattern for pattern, names in skipped.items() if not names)
        left = set(weights) - set(self.skipped)
        self._original = {canonical[name]: name for name in sorted(left)}
        self._doubles = sorted(left - set(self._original.values()))
        for copy, weight in self._tied.items():
            if copy in self._original and weight not in self._original:
                self._original[weight] = self._original.pop(copy)
        self._copies = {copy for copy in self._tied if copy in self._original}
        self.not_weights = tuple(others + sorted(self._original[copy] for copy in self._copies))

    def _matched(self, pattern: str, rows: Sequence[Row], canonical: Mapping[str, str]) -> set[str]:
        """Names of weights in the file that a regular expression matches, as theirs or as ours."""
        ours = {n for row in rows if re.fullmatch(pattern, row.path) for n in row.names}
        if re.fullmatch(pattern, _DECODER):
            ours |= self._tied.keys()
        return {n for n, today in canonical.items() if re.fullmatch(pattern, n) or today in ours}

    def holds(self, row: Row) -> bool:
        """Whether all names of a row are in the file."""
        return all(name in self._original for name in row.names)

    def holds_some(self, row: Row) -> bool:
        """Whether any name of a row is in the file."""
        return any(name in self._original for name in row.names)

    def read(self, row: Row) -> list[np.ndarray]:
        """The arrays of a row."""
        return [self._checkpoint.read(self._original[name]) for name in row.names]

    def num_values(self, row: Row) -> int:
        """How many values a row of one name has in the file."""
        (name,) = row.names
        return math.prod(self._checkpoint.shapes[self._original[name]])

    def unused(self, rows: Iterable[Row]) -> list[str]:
        """Names in the file that are in none of `rows`."""
        used = {name for row in rows for name in row.names}
        rest = [self._original[n] for n in self._original.keys() - used - self._copies]
        return sorted(rest + self._doubles)

    def shape_problems(self, row: Row, shape: Shape) -> list[str]:
        """What differs between a row's shapes in the file and the model's; [] if nothing.

        Args:
          row: one whose names are all in the file.
          shape: of the variable in the model.
        """
        wanted = [part.shape for part in row.split(_zeros(shape))]
        shapes = [self._checkpoint.shapes[self._original[name]] for name in row.names]
        if shapes == wanted:
            return []
        try:
            in_file = _axes(row.join([_zeros(one) for one in shapes]).shape)
        except ValueError:
            in_file = _axes(shapes[0]) if len(shapes) == 1 else str([list(one) for one in shapes])
        field = next(f for pattern, f in _SHAPE_FIELDS if re.fullmatch(pattern, row.path))
        text = (
            f"{row.path} is {in_file} in the file ({', '.join(row.names)}), "
            f"{_axes(shape)} in the model: {field} differs"
        )
        if field in _SHAPE_FLAGS:
            text += f" (python -m export.checkpoint {_SHAPE_FLAGS[field]})"
        return [text]

    def tied_problems(self) -> list[str]:
        """Second copies that differ from the first."""
        return [
            f"{copy} and {weight} differ; this model has one matrix for both"
            for copy, weight in self._tied.items()
            if copy in self._copies and not self._are_equal(copy, weight)
        ]

    def report(self, loaded: Iterable[str], fresh: Iterable[str] = ()) -> Report:
        """What was read of the file, given the paths of variables that were and were not."""
        return Report(
            path=self._checkpoint.path,
            loaded=tuple(loaded),
            fresh=tuple(fresh),
            skipped=self.skipped,
            not_weights=self.not_weights,
            notes=self._checkpoint.notes,
            unmatched=self.unmatched,
        )

    def _are_equal(self, copy: str, weight: str) -> bool:
        one, other = self._original[copy], self._original[weight]
        read = self._checkpoint.read
        return one == other or np.array_equal(read(one), read(other))


def config_problems(given: BertConfig | None, wanted: BertConfig) -> list[str]:
    """What in a config would change what the weights compute.

    Args:
      given: the checkpoint's own, or None.
      wanted: of the model.
    """
    if given is None:
        return []
    return [
        f"{field} is {getattr(given, field)!r} in the checkpoint's config, "
        f"{getattr(wanted, field)!r} in the model"
        for field in _CONFIG_FIELDS
        if getattr(given, field) != getattr(wanted, field)
    ]


def matches(patterns: Iterable[str], name: str) -> bool:
    """Whether one of the regular expressions matches the whole name."""
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def join(
    rows: Sequence[Row], names: FileNames, shapes: Mapping[str, Shape]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Reads the arrays of rows that the file holds. No array is read if a shape differs.

    Args:
      shapes: shapes wanted, by path.

    Returns:
      Float arrays by path, and problems.
    """
    problems = [text for row in rows for text in names.shape_problems(row, shapes[row.path])]
    if problems:
        return {}, problems
    arrays = {}
    for row in rows:
        parts = names.read(row)
        if wrong := sorted({part.dtype.name for part in parts if part.dtype.kind != "f"}):
            problems.append(f"{row.path} ({', '.join(row.names)}) is {wrong[0]}, not a float")
        else:
            arrays[row.path] = row.join(parts)
    return arrays, problems


def _axes(shape: Shape) -> str:
    return str(list(shape))


def _zeros(shape: Shape) -> np.ndarray:
    """Zeros that take no memory."""
    return np.broadcast_to(np.float32(0), shape)
