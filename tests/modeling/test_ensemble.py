"""The mean of several models is that of their probabilities, or of their numbers."""

import numpy as np
import pytest
from scipy import special

from bert_tf.modeling import ensemble, models
from tests.modeling import harness

MEANS = {
    "softmax": lambda logits: np.mean(special.softmax(logits, axis=-1), axis=0),
    "sigmoid": lambda logits: np.mean(special.expit(logits), axis=0),
    "linear": lambda logits: np.mean(logits, axis=0),
}
ANSWERS = {
    "softmax": lambda logits: special.softmax(logits, axis=-1),
    "sigmoid": special.expit,
    "linear": np.asarray,
}


@pytest.mark.parametrize("activation", MEANS)
def test_the_mean_of_what_the_members_answer(activation):
    logits = np.random.default_rng(3).normal(0, 3, (3, 4, 5)).astype(np.float32)
    found = np.asarray(ensemble.MEANS[activation](logits), np.float64)
    np.testing.assert_allclose(ANSWERS[activation](found), MEANS[activation](logits), rtol=1e-5)


def test_sure_members_give_finite_logits():
    logits = np.array([[200.0, -200.0], [-200.0, 200.0]], np.float32)
    for mean in ensemble.MEANS.values():
        first, second = np.asarray(mean(logits))
        assert np.isfinite(first) and abs(first - second) < 1e-4


def test_members_of_other_sizes_answer_as_one():
    shapes = [{}, {"num_hidden_layers": 1, "hidden_size": 15, "num_attention_heads": 5}]
    members = [
        harness.randomize(models.ClassifierModel(harness.config(**shape), harness.C), seed)
        for seed, shape in enumerate(shapes)
    ]
    batch = harness.batch()
    found = ensemble.EnsembleModel(members, "softmax")(batch)["logits"]
    wanted = np.mean([special.softmax(m(batch)["logits"], axis=-1) for m in members], axis=0)
    np.testing.assert_allclose(special.softmax(found, axis=-1), wanted, rtol=1e-5)
