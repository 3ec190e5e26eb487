"""One row of a name table: arrays of a checkpoint on one side, a variable of ours on the other.

A table is a list of rows. Read one way it loads, read the other way it writes.
"""

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Row:
    """One variable.

    Attributes:
      names: names in the checkpoint, in the order `join` takes them.
      path: `Variable.path` in our models.
      join: list of arrays, one for each of `names`, to the array of the variable.
      split: the reverse.
    """

    names: tuple[str, ...]
    path: str
    join: Callable
    split: Callable


def same(name, path):
    """The array as it is."""
    return Row((name,), path, _only, _alone)


def transposed(name, path):
    """[out in] in the checkpoint, [in out] here."""
    return Row((name,), path, lambda arrays: _only(arrays).T, lambda array: [array.T])


def side_by_side(names, path):
    """Several arrays joined along their last axis, e.g. three [H H] to one [H 3H]."""
    return Row(tuple(names), path, _concatenate, lambda array: np.split(array, len(names), -1))


def transposed_side_by_side(names, path):
    """The same for matrices that the checkpoint keeps as [out in]."""
    return Row(
        tuple(names),
        path,
        lambda arrays: _concatenate([array.T for array in arrays]),
        lambda array: [part.T for part in np.split(array, len(names), -1)],
    )


def _only(arrays):
    (array,) = arrays
    return array


def _alone(array):
    return [array]


def _concatenate(arrays):
    return np.concatenate(arrays, axis=-1)
