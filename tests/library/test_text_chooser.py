"""Models of choices on strings: those of a training, and exported ones."""

import numpy as np
import pytest

from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.library.loading import load
from bert_tf.library.text_chooser import TextChooser
from bert_tf.text.wordpiece import WordPieceTokenizer

CONTEXTS = ["a cat sits", "rain is expected in paris", ""]
CHOICES = [["on the mat", "in france."], ["good", "bad", "so, so"], ["how are you?", "fine " * 40]]


@pytest.fixture(scope="module")
def directory(trained):
    import keras

    keras.utils.set_random_seed(31)
    return trained("choice", num_texts=2, task="swag")


@pytest.fixture(scope="module")
def chooser(directory):
    return load(directory.path)


def test_each_context_has_the_probabilities_of_its_choices(directory, chooser):
    assert type(chooser) is TextChooser
    encode = WordPieceTokenizer(directory.vocabulary, do_lower_case=True).encode
    model = directory.build_model()
    for context, choices, answer in zip(CONTEXTS, CHOICES, chooser(CONTEXTS, CHOICES), strict=True):
        packed = [
            packing.pack(encode(context), encode(choice), directory.vocabulary, 31)
            for choice in choices
        ]
        batch = encoder_inputs([row[0] for row in packed], [row[1] for row in packed])
        batch = {name: values[np.newaxis] for name, values in batch.items()}
        logits = np.asarray(model(batch, training=False)["logits"])[0]
        want = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(answer.probabilities, want, atol=1e-5)
        best = int(want.argmax())
        assert (answer.number, answer.text) == (best, choices[best])
        assert answer.probability == answer.probabilities[best]


def test_one_context_has_one_answer(chooser):
    one = chooser(CONTEXTS[0], CHOICES[0])
    assert one.text in CHOICES[0]
    assert chooser((CONTEXTS[:1], CHOICES[:1])) == [one]


def test_an_export_answers_as_the_model_does(directory, chooser, export_of):
    exported = load(export_of(directory, "choices"))
    for got, want in zip(exported((CONTEXTS, CHOICES)), chooser(CONTEXTS, CHOICES), strict=True):
        assert (got.text, got.number) == (want.text, want.number)
        np.testing.assert_allclose(got.probabilities, want.probabilities, atol=1e-5)
    assert exported((CONTEXTS[0], CHOICES[0])).text in CHOICES[0]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("a", TypeError, "A context needs its choices"),
        (("a", "b"), TypeError, "are a list of strings; a string was given"),
        ((["a"], ["b"]), TypeError, "are a list of strings; a string was given"),
        ((["a", "b"], [["c"]]), ValueError, "2 contexts and 1 lists of choices"),
        (("a", []), ValueError, "the list is empty"),
        (("a", ["b", ""]), ValueError, "A choice is empty"),
    ],
)
def test_what_is_no_context_with_choices_is_refused(chooser, given, error, message):
    with pytest.raises(error, match=message):
        chooser(given)
