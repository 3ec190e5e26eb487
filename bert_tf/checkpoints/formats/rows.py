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


def affine(theirs, ours):
    """Kernel [in out] and bias under the same two names on both sides."""
    return [same(f"{theirs}/{part}", f"{ours}/{part}") for part in ("kernel", "bias")]


def layer_norm(theirs, ours):
    """Gamma and beta under the same two names on both sides."""
    return [same(f"{theirs}/{part}", f"{ours}/{part}") for part in ("gamma", "beta")]


def reshaped(name, path, theirs, ours):
    """The same values in the same order under another shape, e.g. [A D H] there and [A*D H] here.

    Args:
      name, path: see `Row`.
      theirs, ours: tuples of int.
    """
    return Row(
        (name,),
        path,
        lambda arrays: _only(arrays).reshape(ours),
        lambda array: [array.reshape(theirs)],
    )


def reshaped_side_by_side(names, path, theirs, ours):
    """Several arrays reshaped, then joined along their last axis.

    Three [H A D] to one [H 3*A*D], or three [A D] to one [3*A*D].

    Args:
      names, path: see `Row`.
      theirs: tuple of int, shape of each in the checkpoint.
      ours: tuple of int, shape of each before they are joined.
    """
    return Row(
        tuple(names),
        path,
        lambda arrays: _concatenate([array.reshape(ours) for array in arrays]),
        lambda array: [part.reshape(theirs) for part in np.split(array, len(names), -1)],
    )


def _only(arrays):
    (array,) = arrays
    return array


def _alone(array):
    return [array]


def _concatenate(arrays):
    return np.concatenate(arrays, axis=-1)
