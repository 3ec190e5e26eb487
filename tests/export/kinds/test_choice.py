"""An exported model picks one of several texts, as the Python path does."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.examples.labelled import ChoiceExample
from bert_tf.tasks import registry
from bert_tf.text.wordpiece import WordPieceTokenizer

CONTEXTS = ["the quick fox", "", "lazy dog " * 23, "a"]
CHOICES = [
    ["jumps", "over a dog", "lazy " * 40],
    ["one", "b", ""],
    ["fox " * 5, "", ""],
    ["", "", ""],
]


@pytest.fixture(scope="module")
def case(model_directory, export_case, tmp_path_factory):
    return export_case(model_directory("choice", 2), tmp_path_factory.mktemp("m") / "choice")


@pytest.fixture(scope="module")
def model(case):
    return tf.saved_model.load(case.exported.path)


def python_rows(case, context, choices):
    tokenizer = WordPieceTokenizer(case.directory.vocabulary, do_lower_case=True)
    task = registry.of_model(case.directory.metadata)
    return task.encode([ChoiceExample("0", context, tuple(choices))], tokenizer, 31)


def test_the_choices_that_are_there_are_compared(case, model):
    answer = {name: x.numpy() for name, x in model(CONTEXTS, CHOICES).items()}
    assert answer["logits"].shape == (4, 3)
    for row, (context, choices) in enumerate(zip(CONTEXTS[:3], CHOICES, strict=False)):
        given = [choice for choice in choices if choice]
        rows = python_rows(case, context, given)
        want = np.asarray(case.model(rows.batch(np.array([0])))["logits"])[0]
        np.testing.assert_allclose(answer["logits"][row, : len(given)], want, atol=1e-5)
        shares = np.exp(want - want.max()) / np.exp(want - want.max()).sum()
        np.testing.assert_allclose(answer["probabilities"][row, : len(given)], shares, atol=1e-6)
        assert not answer["probabilities"][row, len(given) :].any()
        assert answer["choice"][row] == want.argmax()
    assert answer["choice"][3] == -1
    assert not answer["probabilities"][3].any()


def test_one_question_and_none(model):
    batch = model(CONTEXTS[:1], CHOICES[:1])
    alone = model(CONTEXTS[0], CHOICES[0])
    assert alone["choice"] == batch["choice"][0]
    np.testing.assert_array_equal(alone["probabilities"], batch["probabilities"][0])
    nothing = model(tf.zeros([0], tf.string), tf.zeros([0, 5], tf.string))
    assert nothing["choice"].shape == (0,)
    assert nothing["probabilities"].shape == (0, 5)
    without = model(["a", "b"], tf.zeros([2, 0], tf.string))
    assert without["choice"].numpy().tolist() == [-1, -1]


def test_the_ids_signature_takes_rows_of_choices(case, model):
    rows = [python_rows(case, *pair) for pair in zip(CONTEXTS[:2], CHOICES[:2], strict=True)]
    rows[1] = python_rows(case, "", ["one", "b"])
    batch = type(rows[0]).joined(rows).without_labels().batch(np.arange(2))
    assert batch["input_mask"].shape[:2] == (2, 3)
    answer = model.signatures["ids"](**{name: tf.constant(x) for name, x in batch.items()})
    want = model(CONTEXTS[:2], CHOICES[:2])
    np.testing.assert_allclose(answer["logits"], want["logits"], atol=1e-5)
    assert answer["choice"].numpy().tolist() == want["choice"].numpy().tolist()
