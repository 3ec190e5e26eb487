"""What `tf.saved_model.load` returns: called with texts from Python, and the labels it carries."""

import numpy as np
import pytest
import tensorflow as tf

TEXTS = {1: (["the quick fox", "", "a dog"],)}
TEXTS[2] = (*TEXTS[1], ["jumps over", "lazy", "the fox !"])
KINDS = [("classify", 1), ("classify", 2), ("regress", 2)]


@pytest.fixture(scope="module")
def loaded(cases):
    return {key: tf.saved_model.load(case.exported.path) for key, case in cases.items()}


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
    batch = loaded[key](*([column[2]] for column in TEXTS[key[1]]))
    answer = loaded[key](*(column[2] for column in TEXTS[key[1]]))
    assert answer.keys() == batch.keys()
    for name in batch:
        np.testing.assert_array_equal(answer[name], batch[name][0])


def test_labels_can_be_read_in_the_order_of_the_probabilities(loaded):
    model = loaded["classify", 1]
    assert model.labels.numpy().tolist() == [b"zero", b"one", b"two", b"three", b"vier"]
    answer = model(*TEXTS[1])
    np.testing.assert_array_equal(answer["labels"], [model.labels.numpy()] * 3)
    best = answer["probabilities"].numpy().argmax(axis=1)
    np.testing.assert_array_equal(answer["label"], model.labels.numpy()[best])
    assert not hasattr(loaded["regress", 2], "labels")
