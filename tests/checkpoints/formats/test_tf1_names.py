import re

import pytest

from bert_tf.checkpoints.formats import tf1_names
from bert_tf.modeling import models
from tests.modeling import harness

LAYER = "bert/encoder/layer_{}/"


def layers(number):
    return harness.config(num_hidden_layers=number)


def names(table, tops):
    """Names in a file, of the rows whose variables start with one of `tops`."""
    return [name for row in table for name in row.names if row.path.startswith(tops)]


def test_base_has_206_names_with_both_pretraining_heads():
    """5 of the embeddings, 16 a layer, 2 of the pooler, 5 of masked LM, 2 of next sentence."""
    found = names(tf1_names.table(layers(12)), ("encoder", "masked_lm", "next_sentence"))
    assert len(found) == len(set(found)) == 206 == 5 + 16 * 12 + 2 + 5 + 2


def test_a_layer_has_the_16_names_of_the_released_code():
    wanted = [f"attention/self/{p}/{k}" for p in ("query", "key", "value") for k in ("kernel",)]
    wanted += [f"attention/self/{p}/bias" for p in ("query", "key", "value")]
    for scope in ("attention/output/dense", "intermediate/dense", "output/dense"):
        wanted += [f"{scope}/kernel", f"{scope}/bias"]
    for scope in ("attention/output/LayerNorm", "output/LayerNorm"):
        wanted += [f"{scope}/gamma", f"{scope}/beta"]
    found = names(tf1_names.table(layers(3)), "encoder/layer_2/")
    assert sorted(found) == sorted(LAYER.format(2) + name for name in wanted)


def test_task_heads():
    table = tf1_names.table(layers(1))
    assert names(table, "classifier") == ["output_weights", "output_bias"]
    assert names(table, "span") == ["cls/squad/output_weights", "cls/squad/output_bias"]


@pytest.mark.parametrize(
    "model",
    [models.PretrainingModel, models.SpanModel, lambda c: models.ClassifierModel(c, 3)],
)
def test_every_variable_of_every_model_has_one_row(model):
    paths = [row.path for row in tf1_names.table(harness.config())]
    assert len(set(paths)) == len(paths)
    assert {variable.path for variable in model(harness.config()).variables} <= set(paths)


@pytest.mark.parametrize(
    "name",
    [
        "global_step",
        "bert/embeddings/word_embeddings/adam_m",
        "cls/predictions/output_bias/adam_v",
        "output_weights/lamb_m",
        "bert/pooler/dense/kernel/Adam",
        "bert/pooler/dense/kernel/Adam_1",
        "beta1_power",
        "loss_scale",
        "good_steps",
    ],
)
def test_optimizer_state_is_not_weights(name):
    assert any(re.fullmatch(pattern, name) for pattern in tf1_names.NOT_WEIGHTS)


def test_weights_are_not_optimizer_state():
    for name in names(tf1_names.table(layers(2)), ""):
        assert not any(re.fullmatch(pattern, name) for pattern in tf1_names.NOT_WEIGHTS)
