"""Entities in tags: every scheme that conlleval reads, and tags that no scheme allows."""

import pytest

from bert_tf.examples import iob


def read(text, reader=iob.entities):
    return [(entity.type, entity.first, entity.end) for entity in reader(text.split())]


@pytest.mark.parametrize(
    "text",
    [
        "B-PER I-PER O B-LOC B-LOC",  # IOB2
        "I-PER I-PER O I-LOC B-LOC",  # IOB1
        "B-PER E-PER O S-LOC S-LOC",  # IOBES
    ],
)
def test_the_same_entities_in_three_schemes(text):
    assert read(text) == [("PER", 0, 2), ("LOC", 3, 4), ("LOC", 4, 5)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("O O", []),
        ("O I-PER I-PER", [("PER", 1, 3)]),
        ("B-PER I-ORG", [("PER", 0, 1), ("ORG", 1, 2)]),
        ("I-PER I-ORG I-ORG O I-ORG", [("PER", 0, 1), ("ORG", 1, 3), ("ORG", 4, 5)]),
        ("B-PER I-PER", [("PER", 0, 2)]),
        ("B I O B", [("_", 0, 2), ("_", 3, 4)]),
        ("I I-X", [("_", 0, 1), ("X", 1, 2)]),
        ("B-per-son I-per-son", [("per-son", 0, 2)]),
        ("B-X E-X I-X E-X", [("X", 0, 2), ("X", 2, 4)]),
        ("S-X I-X", [("X", 0, 1), ("X", 1, 2)]),
    ],
)
def test_entities_as_conlleval_reads_them(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B-PER I-PER O B-LOC", [("PER", 0, 2), ("LOC", 3, 4)]),
        ("O I-PER I-PER", []),
        ("B-PER I-ORG I-PER", [("PER", 0, 1)]),
        ("B-PER O I-PER", [("PER", 0, 1)]),
        ("B-PER B-PER I-PER", [("PER", 0, 1), ("PER", 1, 3)]),
    ],
)
def test_strict_entities_begin_with_b(text, expected):
    assert read(text, iob.strict_entities) == expected
