"""What a model reaches on a set with labels."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from bert_tf.tasks.scoring.calibration import Calibration

_MAX_LABELS = 20  # of a confusion matrix that can be read


class Part(NamedTuple):
    """A part of a text in a cell.

    Attributes:
      mark: "right", "wrong" (answered and not so), "missed" (so and not answered), or "".
      joins: whether the next part follows at once; otherwise a space stands between them.
    """

    text: str
    mark: str = ""
    joins: bool = False


Cell: TypeAlias = str | int | float | tuple[Part, ...]


class Column(NamedTuple):
    """A column of a table; the numbers of one that `is_share` are from 0 to 1."""

    name: str
    is_share: bool = False


class Diagram(NamedTuple):
    """Columns of a table drawn as lines over another one; their numbers are from 0 to 1.

    Attributes:
      x: the column that runs to the right.
      lines: the columns that are drawn; a cell without a number is left out.
      marks: rows at which a line stands, and what is written next to it.
    """

    x: int
    lines: tuple[int, ...]
    marks: tuple[tuple[int, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Table:
    """Something that the report of a model shows of its answers.

    Attributes:
      note: what the rows are, in a sentence or two.
      diagram: what of the table is drawn; None: nothing.
    """

    title: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    diagram: Diagram | None = None


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores of a set, and what a report shows of the answers.

    Attributes:
      metrics: by name, the main one first.
      confusion: [C C], how often each label (rows) got each answer (columns), in the order of the
        task's labels; empty where there are no labels, or too many to show.
      calibration: None where answers have no probability.
      tables: such as the scores of each label and the worst errors.
    """

    metrics: dict[str, float]
    confusion: list[list[int]] = dataclasses.field(default_factory=list)
    calibration: Calibration | None = None
    tables: Sequence[Table] = ()


def confusion(answers: np.ndarray, references: np.ndarray, num_labels: int) -> list[list[int]]:
    """See `Evaluation.confusion`.

    Args:
      answers, references: int [N].
    """
    if not 1 < num_labels <= _MAX_LABELS:
        return []
    pairs = np.bincount(references * num_labels + answers, minlength=num_labels**2)
    return pairs.reshape(num_labels, num_labels).tolist()
