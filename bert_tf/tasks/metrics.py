"""The metrics of tasks: a row of `METRICS` each, and their scores."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.tasks.scoring import entities, labels, probabilities, values

# What the answers of a kind of task are, and their form in `evaluate`.
LABELS = "labels"  # [N] class indices; probabilities [N C]
CHOICES = "choices"  # [N] numbers of choices; probabilities [N C], 0 where a row has fewer
LABEL_SETS = "sets of labels"  # [N C] bool; probabilities [N C]
VALUES = "numbers"  # [N] float
TAGS = "tags"  # N sequences of tags
SPANS = "parts of a text"  # scored by `squad_metrics` alone


class Metric(NamedTuple):
    """A metric.

    Attributes:
      score: from predictions (answers or probabilities) and references to a float.
      answers: the kinds of answers that it suits.
      meaning: what it is, in a few words.
      is_of_probabilities: whether `score` takes probabilities, not answers.
      is_binary: whether it needs two labels, the second of which it looks for.
      more_is_better: whether the best model has the highest score, not the lowest.
    """

    score: Callable[[Any, Any], float]
    answers: tuple[str, ...]
    meaning: str
    is_of_probabilities: bool = False
    is_binary: bool = False
    more_is_better: bool = True


_ANY_LABELS = (LABELS, LABEL_SETS)
_BINARY = "of the second of two labels"


def _averages(name: str, ratios: labels.Ratio, meaning: str) -> dict[str, Metric]:
    """A score of class 1, and its averages over labels."""
    return {
        name: Metric(labels.of_class_1(ratios), (LABELS,), f"{meaning} {_BINARY}", is_binary=True),
        f"macro_{name}": Metric(
            labels.macro(ratios), _ANY_LABELS, f"{meaning}, mean over the labels"
        ),
        f"micro_{name}": Metric(
            labels.micro(ratios), _ANY_LABELS, f"{meaning}, all labels counted together"
        ),
        f"weighted_{name}": Metric(
            labels.weighted(ratios), _ANY_LABELS, f"{meaning}, mean over the labels by frequency"
        ),
    }


METRICS: dict[str, Metric] = {
    "accuracy": Metric(labels.accuracy, (LABELS, CHOICES), "share of right answers"),
    "balanced_accuracy": Metric(
        labels.balanced_accuracy, (LABELS,), "mean over the labels of the share answered rightly"
    ),
    "exact_match": Metric(
        labels.exact_match, (LABEL_SETS,), "share of the rows with all labels right"
    ),
    "matthews": Metric(labels.matthews, (LABELS,), "Matthews correlation"),
    **_averages("f1", labels.f1s, "F1"),
    **_averages("precision", labels.precisions, "precision"),
    **_averages("recall", labels.recalls, "recall"),
    "roc_auc": Metric(
        probabilities.roc_auc,
        _ANY_LABELS,
        f"area under the ROC curve {_BINARY}, or mean over the labels",
        is_of_probabilities=True,
    ),
    "average_precision": Metric(
        probabilities.average_precision,
        _ANY_LABELS,
        f"area under the precision-recall curve {_BINARY}, or mean over the labels",
        is_of_probabilities=True,
    ),
    "log_loss": Metric(
        probabilities.log_loss,
        (LABELS, CHOICES, LABEL_SETS),
        "mean negative logarithm of the probability of the right answer",
        is_of_probabilities=True,
        more_is_better=False,
    ),
    "pearson": Metric(values.pearson, (VALUES,), "linear correlation"),
    "spearman": Metric(values.spearman, (VALUES,), "rank correlation"),
    "mean_squared_error": Metric(
        values.mean_squared_error, (VALUES,), "mean squared difference", more_is_better=False
    ),
    "mean_absolute_error": Metric(
        values.mean_absolute_error, (VALUES,), "mean absolute difference", more_is_better=False
    ),
    "entity_f1": Metric(entities.f1, (TAGS,), "F1 of entities, as conlleval counts them"),
    "entity_precision": Metric(
        entities.precision, (TAGS,), "share of the answered entities that are right"
    ),
    "entity_recall": Metric(
        entities.recall, (TAGS,), "share of the actual entities that are answered"
    ),
    "entity_macro_f1": Metric(entities.macro_f1, (TAGS,), "F1 of entities, mean over the types"),
    "strict_entity_f1": Metric(
        entities.strict_f1, (TAGS,), "F1 of entities that are B and the I behind it"
    ),
    "token_accuracy": Metric(entities.token_accuracy, (TAGS,), "share of the words tagged rightly"),
}


def possible(answers: str, num_labels: int = 0) -> list[str]:
    """Names of the metrics of a task.

    Args:
      answers: `LABELS`, `CHOICES`, `LABEL_SETS`, `VALUES` or `TAGS`.
      num_labels: C of a task with labels; 0 where they are not known yet.
    """
    return [
        name
        for name, metric in METRICS.items()
        if answers in metric.answers and not (metric.is_binary and num_labels not in (0, 2))
    ]


def check(names: Iterable[str], answers: str, num_labels: int = 0, where: str = "The task") -> None:
    """Checks that a task can have some metrics.

    Args:
      answers, num_labels: see `possible`.
      where: what a message calls the task.

    Raises:
      InputError: it cannot have one of them.
    """
    allowed = possible(answers, num_labels)
    for name in names:
        if name in allowed:
            continue
        metric = METRICS.get(name)
        if metric is None:
            nearest = difflib.get_close_matches(name, allowed, n=1)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            found = f"there is no metric {name!r}.{hint}"
        elif answers in metric.answers:
            found = f"metric {name!r} needs two labels, and there are {num_labels}."
        else:
            suited = " or ".join(metric.answers)
            found = f"metric {name!r} is for {suited}, and the answers are {answers}."
        raise InputError(f"{where}: {found} Possible are: {', '.join(allowed)}.")


def more_is_better(name: str) -> bool:
    """Whether the best model has the highest score: not so of a loss or an error."""
    return METRICS[name].more_is_better if name in METRICS else name != "loss"


def evaluate(
    names: Sequence[str],
    answers: Any,
    references: Any,
    class_probabilities: npt.ArrayLike | None = None,
) -> dict[str, float]:
    """Scores of a task.

    Args:
      names: of the metrics; see `check`.
      answers: what the model gives: [N] class indices, numbers of choices or values; [N C] bool of
        sets of labels; or N sequences of tags.
      references: what is right, in the same form.
      class_probabilities: [N C]; None: those metrics of `names` that need them are left out.

    Returns:
      By metric, in the order of `names`. Shares, not percent.

    Raises:
      ValueError: the shapes differ or are empty, or a prediction is not finite.
    """
    chances = None if class_probabilities is None else np.asarray(class_probabilities)
    if all(METRICS[name].answers != (TAGS,) for name in names):
        answers, references = np.asarray(answers), np.asarray(references)
        _check_arrays(answers, references, chances)
    else:
        _check_tags(answers, references)
    return {
        name: METRICS[name].score(
            chances if METRICS[name].is_of_probabilities else answers, references
        )
        for name in names
        if chances is not None or not METRICS[name].is_of_probabilities
    }


def _check_arrays(
    answers: npt.NDArray, references: npt.NDArray, chances: npt.NDArray | None
) -> None:
    if answers.shape != references.shape or answers.ndim not in (1, 2) or not answers.size:
        raise ValueError(
            f"Answers have shape {answers.shape}, references {references.shape}; wanted the same "
            "[N] or [N C] with N of at least 1."
        )
    if chances is not None and (chances.ndim != 2 or len(chances) != len(answers)):
        raise ValueError(f"Probabilities have shape {chances.shape}; wanted [{len(answers)} C].")
    for what, array in (("an answer", answers), ("a probability", chances)):
        if array is not None and not np.all(np.isfinite(array)):
            raise ValueError(f"There is {what} that is not a finite number.")


def _check_tags(answers: entities.Tags, references: entities.Tags) -> None:
    found, wanted = [len(tags) for tags in answers], [len(tags) for tags in references]
    if found != wanted or not sum(wanted):
        raise ValueError(
            f"There are {len(found)} sentences with {sum(found)} tags, and references of "
            f"{len(wanted)} with {sum(wanted)}; wanted the same words in each, and at least one."
        )
