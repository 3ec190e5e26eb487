"""A student of long texts learns the same from a batch however it is cut."""

import dataclasses
import types

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import batching
from bert_tf.examples.rows import Rows
from bert_tf.modeling import dropout, models
from bert_tf.tasks import registry
from bert_tf.training.distillation.objective import Distillation
from tests.modeling import harness

CONFIG = harness.config(num_hidden_layers=1)
OPTIONS = types.SimpleNamespace(
    distillation_temperature=2.0, distillation_alpha=0.25, distillation_alpha_cos=1.0
)


def rows():
    """7 rows of 1 to 3 windows, with a teacher's logits."""
    rng = np.random.default_rng(5)
    sizes = np.array([1, 3, 2, 1, 3, 1, 2])
    word_ids = [rng.integers(1, 7, rng.integers(3, 9)).tolist() for _ in range(sizes.sum())]
    labels = {
        features.LABEL_IDS.name: rng.integers(0, 3, 7).astype(np.int32),
        features.TEACHER_LOGITS.name: rng.normal(size=(7, 3)).astype(np.float32),
    }
    return Rows(word_ids, [[0] * len(row) for row in word_ids], labels, sizes)


def gradients(model, objective, replicas, num_micro_batches):
    """Of the training loss of one batch with dropout, and the number of its micro-batches."""
    (batch,) = (
        next(
            batching.training_batches(
                rows(),
                batch_size=7,
                random_seed=1,
                replicas=replicas,
                num_micro_batches=num_micro_batches,
                first_step=0,
            )
        ),
    )
    micro_batches = [each for share in batch for each in share]
    counts = [objective.counts(each) for each in micro_batches]
    total = {name: sum(float(each[name]) for each in counts) for name in objective.losses}
    summed = 0.0
    for each in micro_batches:
        seed, numbers = tf.constant([1, 2]), tf.constant(each[features.ROW_NUMBERS])
        with tf.GradientTape() as tape:
            with dropout.step_seed(seed, numbers):
                outputs = model({name: tf.constant(x) for name, x in each.items()}, training=True)
            measured = objective.measure(outputs, each)
            loss = tf.add_n([measured[name][0] / total[name] for name in objective.losses])
        found = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
        dense = [np.ravel(tf.convert_to_tensor(x)) for x in found]
        summed = summed + np.concatenate(dense)
    return summed, len(micro_batches)


def test_a_student_of_windows_learns_the_same_from_a_batch_in_micro_batches():
    model, teacher = (models.ClassifierModel(CONFIG, 3) for _ in range(2))
    for seed, each in enumerate((model, teacher)):
        harness.randomize(each, seed).gives_hidden_states = True
    task = dataclasses.replace(registry.REGISTRY["cola"], labels=("x", "y", "z"))
    objective = Distillation(task, OPTIONS, {}, teacher)
    whole, few = gradients(model, objective, 1, 1)
    cut, many = gradients(model, objective, 2, 2)
    assert few < many
    np.testing.assert_allclose(cut, whole, rtol=1e-4, atol=1e-5 * np.abs(whole).max())
