"""What a model reaches on a set with labels."""

import dataclasses

import numpy as np

_MAX_LABELS = 20  # of a confusion matrix that can be read


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores of a set.

    Attributes:
      metrics: by name, the main one first.
      confusion: [C C], how often each label (rows) got each answer (columns), in the order of the
        task's labels; empty where there are no labels, or too many to show.
    """

    metrics: dict[str, float]
    confusion: list[list[int]] = dataclasses.field(default_factory=list)


def confusion(answers: np.ndarray, references: np.ndarray, num_labels: int) -> list[list[int]]:
    """See `Evaluation.confusion`.

    Args:
      answers, references: int [N].
    """
    if not 1 < num_labels <= _MAX_LABELS:
        return []
    pairs = np.bincount(references * num_labels + answers, minlength=num_labels**2)
    return pairs.reshape(num_labels, num_labels).tolist()
