"""What is called a mismatch in the answers of a tagger."""

import dataclasses

import numpy as np
import pytest

from bert_tf.tasks import registry
from export.kinds import checks
from export.kinds.tag_checks import Comparison

TEXT = "Neil Armstrong landed."


def answers():
    """Of a text with one entity, padded by one."""
    return {
        "words": np.array([b"Neil", b"Armstrong", b"landed", b".", b""], object),
        "starts": np.array([0, 5, 15, 21, -1], np.int32),
        "ends": np.array([4, 14, 21, 22, -1], np.int32),
        "tags": np.array([b"B-PER", b"I-PER", b"O", b"O", b""], object),
        "scores": np.array([0.5, 0.75, 1, 0.5, 0], np.float32),
        "entities": np.array([b"Neil Armstrong", b""], object),
        "entity_types": np.array([b"PER", b""], object),
        "entity_starts": np.array([0, -1], np.int32),
        "entity_ends": np.array([14, -1], np.int32),
        "entity_scores": np.array([0.625, 0], np.float32),
    }


def probabilities(task):
    """[N C]"""
    found = np.zeros((4, len(task.labels)), np.float32)
    for row, (tag, score) in enumerate([("B-PER", 0.5), ("I-PER", 0.75), ("O", 1), ("O", 0.5)]):
        found[row, task.labels.index(tag)] = score
    return found


@pytest.fixture
def task():
    return dataclasses.replace(registry.get("conll-2003"), labels=("O", "B-PER", "I-PER"))


def test_right_answers_have_the_difference_of_their_scores(task):
    want = probabilities(task)
    assert Comparison(task, of_words=False)(answers(), TEXT, want) == 0.0
    of_words = {name: x for name, x in answers().items() if name not in ("words", "starts", "ends")}
    of_words["entity_ends"] = np.array([2, -1], np.int32)
    assert Comparison(task, of_words=True)(of_words, TEXT, want) == 0.0
    want[1, 0] = 0.875  # another tag is more probable
    assert Comparison(task, of_words=False)(answers(), TEXT, want) == 0.125


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("words", 1, b"armstrong"),
        ("words", 4, b"."),
        ("starts", 0, 1),
        ("ends", 4, 0),
        ("tags", 1, b"O"),
        ("scores", 4, 0.5),
        ("entities", 0, b"Neil"),
        ("entities", 1, b"landed"),
        ("entity_types", 0, b"LOC"),
        ("entity_starts", 1, 0),
        ("entity_ends", 0, 13),
        ("entity_scores", 0, 0.5),
    ],
)
def test_other_answers_are_a_mismatch(task, name, index, value):
    given = answers()
    given[name][index] = value
    with pytest.raises(checks.Mismatch, match="for 'Neil Armstrong landed.'"):
        Comparison(task, of_words=False)(given, TEXT, probabilities(task))
