"""Scores of entities, counted by hand."""

import pytest

from bert_tf.tasks.scoring import entities
from bert_tf.tasks.scoring.entities import ALL, EntityScores

REFERENCES = [
    "B-PER I-PER O B-LOC".split(),
    "B-ORG I-ORG O".split(),
    "O B-LOC I-LOC".split(),
]
# Right: PER and LOC of the first sentence, the LOC by an I that opens it. Wrong: ORG twice, PER
# twice, LOC once; LOC of the last sentence ends too early.
ANSWERS = [
    "B-PER I-PER O I-LOC".split(),
    "B-ORG O I-ORG".split(),
    "B-PER B-LOC I-PER".split(),
]


def test_scores_by_type():
    assert entities.by_type(ANSWERS, REFERENCES) == {
        ALL: EntityScores(2 / 7, 2 / 4, 2 * 2 / 11, 2, 7, 4),
        "LOC": EntityScores(1 / 2, 1 / 2, 1 / 2, 1, 2, 2),
        "ORG": EntityScores(0.0, 0.0, 0.0, 0, 2, 1),
        "PER": EntityScores(1 / 3, 1.0, 1 / 2, 1, 3, 1),
    }


def test_scores_of_all_entities():
    assert entities.precision(ANSWERS, REFERENCES) == 2 / 7
    assert entities.recall(ANSWERS, REFERENCES) == 1 / 2
    assert entities.f1(ANSWERS, REFERENCES) == pytest.approx(4 / 11)
    assert entities.macro_f1(ANSWERS, REFERENCES) == pytest.approx((1 / 2 + 0 + 1 / 2) / 3)
    assert entities.token_accuracy(ANSWERS, REFERENCES) == 5 / 10


def test_strict_scores_take_b_alone():
    # Answered: PER and ORG of one word, PER, LOC of one word, right: the first PER alone.
    assert entities.strict_f1(ANSWERS, REFERENCES) == pytest.approx(2 * 1 / (4 + 4))
    assert entities.strict_f1(REFERENCES, REFERENCES) == 1.0


def test_an_entity_ends_with_its_sentence():
    assert entities.f1([["B-X"], ["I-X"]], [["B-X"], ["B-X"]]) == 1.0


def test_sentences_without_entities():
    outside = [["O", "O"]]
    assert entities.f1(outside, outside) == entities.macro_f1(outside, outside) == 0.0
    assert entities.precision(outside, [["B-X", "O"]]) == 0.0
    assert entities.recall([["B-X", "O"]], outside) == 0.0
    assert entities.token_accuracy(outside, outside) == 1.0
