"""Scores of entities in tagged sentences: an answer is right if words and type are.

Equal to those of conlleval and of seqeval; `benchmarks/tasks/metrics.py` compares.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bert_tf.examples import iob

Tags = Sequence[Sequence[str]]  # of the words of each sentence
Reader = Callable[[Sequence[str]], list[iob.Entity]]


class EntityScores(NamedTuple):
    """Scores of entities of one type, or of all.

    Attributes:
      precision: right of what was answered; 0 where nothing was.
      recall: right of what is there; 0 where nothing is.
      f1: harmonic mean of the two; 0 where both are 0.
      right, answered, actual: numbers of entities.
    """

    precision: float
    recall: float
    f1: float
    right: int
    answered: int
    actual: int


ALL = ""  # the row of all types together


def by_type(
    answers: Tags, references: Tags, reader: Reader = iob.entities
) -> dict[str, EntityScores]:
    """Scores of all entities (`ALL`, first), then of each type in the order of the names.

    Args:
      answers, references: tags of the same words.
      reader: of the entities of a sentence; `iob.strict_entities` takes B and its I alone.
    """
    right: dict[str, int] = {}
    answered: dict[str, int] = {}
    actual: dict[str, int] = {}
    for answer, reference in zip(answers, references, strict=True):
        found, wanted = set(reader(answer)), set(reader(reference))
        for table, group in ((right, found & wanted), (answered, found), (actual, wanted)):
            for entity in group:
                table[entity.type] = table.get(entity.type, 0) + 1
    scores = {ALL: _scores(*(sum(table.values()) for table in (right, answered, actual)))}
    for name in sorted(answered.keys() | actual.keys()):
        scores[name] = _scores(right.get(name, 0), answered.get(name, 0), actual.get(name, 0))
    return scores


def _scores(right: int, answered: int, actual: int) -> EntityScores:
    total = answered + actual
    return EntityScores(
        right / answered if answered else 0.0,
        right / actual if actual else 0.0,
        2 * right / total if total else 0.0,
        *(right, answered, actual),
    )


def f1(answers: Tags, references: Tags) -> float:
    """F1 of all entities, CoNLL-2003's score; see `iob.entities` for tags that are not IOB2."""
    return by_type(answers, references)[ALL].f1


def precision(answers: Tags, references: Tags) -> float:
    """Share of the answered entities that are right."""
    return by_type(answers, references)[ALL].precision


def recall(answers: Tags, references: Tags) -> float:
    """Share of the actual entities that are answered."""
    return by_type(answers, references)[ALL].recall


def strict_f1(answers: Tags, references: Tags) -> float:
    """F1 that counts as an entity only B with the I of its type behind it."""
    return by_type(answers, references, iob.strict_entities)[ALL].f1


def macro_f1(answers: Tags, references: Tags) -> float:
    """Mean F1 of the types that either side names; 0 where there are none."""
    (_, *each) = by_type(answers, references).values()
    return sum(scores.f1 for scores in each) / len(each) if each else 0.0


def token_accuracy(answers: Tags, references: Tags) -> float:
    """Share of the words with the right tag."""
    pairs = [
        (answer, wanted)
        for sentence in zip(answers, references, strict=True)
        for answer, wanted in zip(*sentence, strict=True)
    ]
    return sum(answer == wanted for answer, wanted in pairs) / len(pairs)
