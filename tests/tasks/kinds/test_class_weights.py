"""Weights of labels against scikit-learn's numbers and by hand, and the losses that have them."""

import dataclasses

import numpy as np
import pytest

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample, TokenExample
from bert_tf.tasks import registry
from bert_tf.tasks.kinds import class_weights
from bert_tf.tasks.kinds.multi_label import MultiLabel


def test_balanced_weights_are_those_of_scikit_learn():
    """compute_class_weight("balanced", classes=[0, 1, 2], y=[0, 1, 1, 2, 2, 2, 2, 2])."""
    counts = {"a": 1, "b": 2, "c": 5}
    found = class_weights.balanced(counts, ("a", "b", "c"))
    np.testing.assert_allclose(found, [2.6666667, 1.3333333, 0.53333333], rtol=1e-7)


def test_every_label_has_the_same_share_and_one_that_is_missing_weight_1():
    counts = {"a": 30, "c": 6}
    a, b, c = class_weights.balanced(counts, ("a", "b", "c"))
    assert 30 * a == pytest.approx(6 * c) == pytest.approx(18)
    assert b == 1.0


def test_positives_weigh_as_much_as_negatives():
    found = class_weights.of_positives({"a": 2, "b": 8, "d": 10}, 10, ("a", "b", "c", "d"))
    assert found == (4.0, 0.25, 1.0, 1.0)


def test_examples_of_a_classification_have_the_weights_of_their_labels():
    task = registry.get("cola")
    labels = ("0", "1", "1", "1")
    examples = [TextExample(str(n), "a", label=label) for n, label in enumerate(labels)]
    examples[1] = dataclasses.replace(examples[1], weight=3.0)
    weighted, found = task.weighted("balanced", examples)
    assert [each.weight for each in found] == pytest.approx([2.0, 2.0, 2 / 3, 2 / 3])
    with pytest.raises(InputError, match="class_weights of the task file exclude each other"):
        weighted.weighted("balanced", examples)


def test_a_task_without_labels_has_no_class_weights():
    with pytest.raises(InputError, match="balanced is for tasks with labels; task sts-b has none"):
        registry.get("sts-b").weighted("balanced", [])


def test_the_loss_of_tags_is_the_mean_by_their_weights():
    task = dataclasses.replace(registry.get("conll-2003"), labels=("O", "B-X", "I-X"))
    examples = [TokenExample("0", ("a",) * 4, ("O", "O", "O", "B-X"))]
    task, same = task.weighted("balanced", examples)
    assert same is examples
    assert task.label_weights == pytest.approx((2 / 3, 2.0, 1.0))
    logits = np.random.default_rng(3).normal(size=(2, 3, 3)).astype(np.float32)
    ids = np.array([[0, 1, -1], [0, 2, 1]], np.int32)
    batch = {
        features.TOKEN_LABEL_IDS.name: ids,
        features.EXAMPLE_WEIGHTS.name: np.array([1.0, 0.5], np.float32),
    }
    of_tokens = np.array([[2 / 3, 2.0, 0.0], [1 / 3, 0.5, 1.0]])
    log = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    wanted = -np.take_along_axis(log, np.maximum(ids, 0)[..., None], axis=-1)[..., 0] * of_tokens
    total, count = task.measure({"logits": logits}, batch)["loss"]
    np.testing.assert_allclose([total, count], [wanted.sum(), of_tokens.sum()], rtol=1e-6)
    np.testing.assert_allclose(task.counts(batch)["loss"], of_tokens.sum(), rtol=1e-6)


def test_the_loss_of_several_labels_weighs_those_that_hold():
    layout = registry.own_data("classify").layout
    task = MultiLabel(name="t", summary="", layout=layout, labels=("a", "b"))
    examples = [TextExample("0", "t", label=("a",)), *(TextExample("1", "t", label=()),) * 3]
    task, _ = task.weighted("balanced", examples)
    assert task.label_weights == (3.0, 1.0)
    logits = np.array([[0.5, -1.0], [2.0, 0.25]], np.float32)
    vectors = np.array([[1, 0], [0, 1]], np.float32)
    share = 1 / (1 + np.exp(-logits))
    wanted = -(vectors * np.log(share) * [3.0, 1.0] + (1 - vectors) * np.log(1 - share))
    total, count = task.measure({"logits": logits}, {features.LABEL_VECTORS.name: vectors})["loss"]
    np.testing.assert_allclose([total, count], [wanted.mean(axis=1).sum(), 2.0], rtol=1e-6)
