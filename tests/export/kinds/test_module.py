"""What `tf.saved_model.load` returns: called with texts from Python, and the labels it carries."""

import numpy as np
import pytest
import tensorflow as tf

TEXTS = {1: (["the quick fox", "", "a dog"],)}
TEXTS[2] = (*TEXTS[1], ["jumps over", "lazy", "the fox !"])
KINDS = [("classify", 1), ("classify", 2), ("regress", 2)]


@pytest.fixture(scope="module")
def loaded(cases, loaded_version):
    return {key: loaded_version(case) for key, case in cases.items()}


@pytest.mark.parametrize("key", KINDS)
def test_a_loaded_model_is_called_with_lists_of_texts(loaded, key):
    model, texts = loaded[key], TEXTS[key[1]]
    names = ("text",) if key[1] == 1 else ("text_a", "text_b")
    tensors = {name: tf.constant(column) for name, column in zip(names, texts, strict=True)}
    want = model.signatures["serving_default"](**tensors)
    for answer in (model(*texts), model(*tensors.values()), model(**tensors)):
        assert answer.keys() == want.keys()
        for name in want:
            np.testing.assert_array_equal(answer[name], want[name])


@pytest.mark.parametrize("key", KINDS)
def test_single_texts_are_answered_without_a_batch_dimension(loaded, key):
    names = ("text",) if key[1] == 1 else ("text_a", "text_b")
    texts = {
        name: tf.constant([column[2]]) for name, column in zip(names, TEXTS[key[1]], strict=True)
    }
    batch = loaded[key].signatures["serving_default"](**texts)
    answer = loaded[key](*(column[2] for column in TEXTS[key[1]]))
    assert answer.keys() == batch.keys()
    for name in batch:
        np.testing.assert_array_equal(answer[name], batch[name][0])


def test_other_texts_are_not_traced_again(loaded):
    model = loaded["classify", 1]
    for texts in (["a fox"], ["a dog"], ["a", "b", "c"], "the fox", "the dog", []):
        model(texts or tf.zeros([0], tf.string))
    assert model.__call__.experimental_get_tracing_count() == 1


def test_a_batch_of_one_input_and_a_row_of_another_are_refused(loaded):
    for texts in (("a", ["b"]), ([["a"]], [["b"]])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Axes of text_a, text_b"):
            loaded["classify", 2](*texts)


def test_labels_can_be_read_in_the_order_of_the_probabilities(loaded):
    model = loaded["classify", 1]
    assert model.labels.numpy().tolist() == [b"zero", b"one", b"two", b"three", b"vier"]
    answer = model(*TEXTS[1])
    np.testing.assert_array_equal(answer["labels"], [model.labels.numpy()] * 3)
    best = answer["probabilities"].numpy().argmax(axis=1)
    np.testing.assert_array_equal(answer["label"], model.labels.numpy()[best])
    assert not hasattr(loaded["regress", 2], "labels")
