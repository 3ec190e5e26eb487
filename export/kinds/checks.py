"""Answers of an exported graph against those of the Python path."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf.modeling import layer

# Largest difference of logits, relative to the largest logit, or to 1 if that is smaller.
TOLERANCE = 1e-5

_PADDING = layer.MASKED / 2  # logits of padding are below

# Lengths from 0 to more than fits, and characters that tokenizers disagree about.
TEXTS = (
    "A text like those that the model will see.",
    "",
    "Crème brûlée — straße, ΣΊΣΥΦΟΣ… 2² ﬁne",
    "東京 and 서울\u200b!\x00?",
    "word " * 600,
    "a" * 300,
    "another short one",
    "a text that is a little longer than the others, to make rows of unequal length.",
)


class Mismatch(ValueError):
    """The exported graph gives other answers than the Python path."""


def largest_difference(
    got: npt.NDArray, want: npt.NDArray, rows: Sequence[Any], what: str = "logits"
) -> float:
    """The largest difference of numbers [B ...].

    Args:
      rows: B, for the message.
      what: what the numbers are.

    Raises:
      Mismatch: it is more than another order of summation explains.
    """
    if got.shape != want.shape:
        raise Mismatch(f"the {what} have the shape {list(got.shape)}, not {list(want.shape)}")
    if not want.size:
        return 0.0
    differences = np.abs(got - want).reshape(len(want), -1).max(axis=1)
    if not differences.max() <= TOLERANCE * scale(want):
        row = int(differences.argmax())
        values = f" {got[row]}, not {want[row]}," if want.ndim == 2 and want.size < 100 else ""
        raise Mismatch(
            f"other {what}{values} for {rows[row]!r}: they differ by {differences[row]:.2g}"
        )
    return float(differences.max())


def scale(logits: npt.NDArray) -> float:
    """The largest logit, padding aside, or 1 if that is smaller."""
    return max(1.0, float(np.abs(logits[logits > _PADDING]).max(initial=0.0)))
