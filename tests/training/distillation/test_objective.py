"""The loss of a student is the weighted sum of its parts."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import distillation_losses, losses, models
from bert_tf.tasks import registry
from bert_tf.training.distillation.objective import Distillation
from tests.modeling import harness

TASK = dataclasses.replace(registry.REGISTRY["cola"], labels=tuple("vwxyz"))
LABELS = np.array([4, 0, 2, 1, 1], np.int32)
WEIGHTS = np.array([1, 2, 0.5, 0, 3], np.float32)


def options(alpha=0.25, alpha_cos=0.0):
    return types.SimpleNamespace(
        distillation_temperature=2.0, distillation_alpha=alpha, distillation_alpha_cos=alpha_cos
    )


def batch(**changes):
    teacher = np.random.default_rng(4).normal(size=(harness.B, 5)).astype(np.float32)
    features = {"label_ids": LABELS, "teacher_logits": teacher, "example_weights": WEIGHTS}
    return {name: tf.constant(x) for name, x in (harness.batch() | features | changes).items()}


def loss(objective, outputs, batches):
    """The training loss, as an update adds it up over micro-batches."""
    totals, counts = dict.fromkeys(objective.losses, 0.0), dict.fromkeys(objective.losses, 0.0)
    for part, given in zip(outputs, batches, strict=True):
        measured, of_batch = objective.measure(part, given), objective.counts(given)
        for name in objective.losses:
            totals[name] += float(measured[name][0])
            counts[name] += float(of_batch[name])
            assert float(of_batch[name]) == pytest.approx(float(measured[name][1]))
    return sum(totals[name] / counts[name] for name in objective.losses)


def sliced(tensors, rows):
    return {name: x[rows] for name, x in tensors.items()}


def test_the_loss_is_shared_between_labels_and_teacher():
    given = batch()
    outputs = {"logits": tf.constant(np.random.default_rng(5).normal(size=(5, 5)), tf.float32)}
    labels, count = losses.classification(outputs["logits"], LABELS, WEIGHTS)
    teacher, _ = distillation_losses.classification(
        outputs["logits"], given["teacher_logits"], 2.0, WEIGHTS
    )
    wanted = float(0.75 * labels + 0.25 * teacher) / float(count)
    objective = Distillation(TASK, options(), {})
    assert loss(objective, [outputs], [given]) == pytest.approx(wanted)
    parts = [slice(0, 2), slice(2, 5)]
    found = loss(objective, [sliced(outputs, p) for p in parts], [sliced(given, p) for p in parts])
    assert found == pytest.approx(wanted)
    assert "accuracy" in objective.measure(outputs, given)


def test_a_weight_of_zero_leaves_the_labels_out():
    assert Distillation(TASK, options(alpha=1.0), {}).losses == ("teacher_loss",)


def test_hidden_states_are_compared_where_there_is_text():
    model = harness.randomize(models.ClassifierModel(harness.config(), 5))
    teacher = harness.randomize(models.ClassifierModel(harness.config(), 5), seed=2)
    model.gives_hidden_states = teacher.gives_hidden_states = True
    given = batch()
    objective = Distillation(TASK, options(alpha_cos=3.0), {}, teacher)
    assert objective.reads_hidden_states
    outputs = model(given)
    ours = np.asarray(outputs["sequence_output"], np.float64)
    theirs = np.asarray(teacher(given)["sequence_output"], np.float64)
    cosines = (ours * theirs).sum(-1) / np.linalg.norm(ours, axis=-1)
    cosines /= np.linalg.norm(theirs, axis=-1)
    of_tokens = harness.mask() * WEIGHTS[:, None]
    wanted = 3.0 * ((1 - cosines) * of_tokens).sum() / of_tokens.sum()
    without = Distillation(TASK, options(), {})
    found = loss(objective, [outputs], [given]) - loss(without, [outputs], [given])
    assert found == pytest.approx(wanted, rel=1e-4)
