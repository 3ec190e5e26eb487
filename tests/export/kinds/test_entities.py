"""Entities in the graph are those that `iob.entities` reads."""

import random

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.examples import iob
from export.kinds import entities


@pytest.mark.parametrize(
    "labels",
    [
        ("O", "B-PER", "I-PER", "B-LOC", "I-LOC"),
        ("I-A", "O", "B-A", "E-A", "S-A", "E-B", "I-B", "S-B", "B-B"),
        ("B", "I", "O", "I-_", "B-X-Y", "I-X-Y"),
    ],
)
def test_entities_of_random_tags(labels):
    rng = random.Random(7)
    texts = [rng.choices(range(len(labels)), k=rng.choice([0, 1, 2, 5, 23])) for _ in range(211)]
    tags = [tag for text in texts for tag in text]
    scores = np.array([rng.random() for _ in tags], np.float32)
    text = np.repeat(np.arange(len(texts)), [len(each) for each in texts])
    found = entities.Reader(labels).read(
        tf.constant(tags, tf.int32), tf.constant(scores), tf.constant(text, tf.int32)
    )
    wanted, start = [], 0
    for each in texts:
        of_text = iob.entities([labels[tag] for tag in each])
        wanted += [(e.type, start + e.first, start + e.end - 1) for e in of_text]
        start += len(each)
    types = [each.decode() for each in found.types.numpy()]
    got = zip(types, found.first.numpy().tolist(), found.last.numpy().tolist(), strict=True)
    assert list(got) == wanted
    means = [scores[first : last + 1].mean() for _, first, last in wanted]
    np.testing.assert_allclose(found.scores, means, atol=1e-6)


def test_no_words_and_no_entities():
    reader = entities.Reader(("O", "B-PER"))
    for count in (0, 3):
        found = reader.read(tf.zeros(count, tf.int32), tf.zeros(count), tf.range(count))
        assert [len(x) for x in found] == [0, 0, 0, 0]
