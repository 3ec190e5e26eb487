import re

import numpy as np
import pytest

from bert_tf.checkpoints.formats import keras_hub_names
from bert_tf.modeling import models
from tests.modeling import harness

# What keras-hub 0.32 with Keras 3.15 saved of a backbone of two layers, as h5py lists it.
OUTSIDE = {
    "reversible_embedding": 1,
    "position_embedding": 1,
    "embedding": 1,
    "layer_normalization": 2,
    "dense": 2,
}
INSIDE = {
    "_self_attention_layer/query_dense": 2,
    "_self_attention_layer/key_dense": 2,
    "_self_attention_layer/value_dense": 2,
    "_self_attention_layer/output_dense": 2,
    "_self_attention_layer_norm": 2,
    "_feedforward_intermediate_dense": 2,
    "_feedforward_output_dense": 2,
    "_feedforward_layer_norm": 2,
}
BACKBONE = OUTSIDE | {
    f"{layer}/{part}": number
    for layer in ("transformer_encoder", "transformer_encoder_1")
    for part, number in INSIDE.items()
}
MASKED_LM = {
    "masked_lm_head": 1,
    "masked_lm_head/_intermediate_dense": 2,
    "masked_lm_head/_intermediate_layer_norm": 2,
}
CLASSIFIER = {"dense": 2}


def listed(file, groups):
    return {
        f"{file}/layers/{group}/vars/{number}"
        for group, count in groups.items()
        for number in range(count)
    }


def table(**changes):
    return keras_hub_names.table(harness.config(**changes))


def names(tops, **changes):
    """Names of the rows whose variables start with one of `tops`."""
    return {n for row in table(**changes) for n in row.names if row.path.startswith(tops)}


@pytest.mark.parametrize(
    ("top", "wanted"),
    [
        ("encoder", listed("model", BACKBONE)),
        ("masked_lm", listed("task", MASKED_LM)),
        ("classifier", listed("task", CLASSIFIER)),
        (("span", "next_sentence"), set()),
    ],
)
def test_names_are_those_that_keras_hub_saved(top, wanted):
    assert names(top, num_hidden_layers=2) == wanted


@pytest.mark.parametrize(
    "model",
    [
        lambda c: models.PretrainingModel(c, has_next_sentence=False),
        lambda c: models.ClassifierModel(c, 3),
    ],
)
def test_every_variable_that_keras_hub_has_too_has_one_row(model):
    paths = [row.path for row in table()]
    assert len(set(paths)) == len(paths)
    assert {variable.path for variable in model(harness.config()).variables} <= set(paths)


def test_attention_is_parted_by_heads():
    h, a, d = harness.H, harness.A, harness.D
    shapes = {
        "attention/qkv/kernel": ((h, 3 * h), (h, a, d)),
        "attention/qkv/bias": ((3 * h,), (a, d)),
        "attention/output/kernel": ((h, h), (a, d, h)),
        "attention/output/bias": ((h,), (h,)),
    }
    rows = {row.path: row for row in table()}
    for path, (ours, theirs) in shapes.items():
        row = rows[f"encoder/layer_0/{path}"]
        assert {part.shape for part in row.split(np.zeros(ours))} == {theirs}


@pytest.mark.parametrize(
    ("older", "today"),
    [
        (
            "model/_layer_checkpoint_dependencies/embedding/vars/0",
            "model/layers/embedding/vars/0",
        ),
        (
            "model/layers/transformer_encoder/_self_attention_layer/_query_dense/vars/1",
            "model/layers/transformer_encoder/_self_attention_layer/query_dense/vars/1",
        ),
        (
            "model/layers/transformer_encoder/_feedforward_output_dense/vars/1",
            "model/layers/transformer_encoder/_feedforward_output_dense/vars/1",
        ),
        ("task/layers/dense/vars/0", "task/layers/dense/vars/0"),
    ],
)
def test_spelling_of_keras_2(older, today):
    assert keras_hub_names.canonical(older) == today


def test_what_training_leaves_is_no_weight():
    def is_weight(name):
        return not any(re.fullmatch(pattern, name) for pattern in keras_hub_names.NOT_WEIGHTS)

    assert not is_weight("task/optimizer/vars/0")
    assert not is_weight("model/layers/dropout/seed_generator/vars/0")
    assert all(is_weight(name) for row in table() for name in row.names)
