"""A student that is made of some layers of another model."""

import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.modeling import models
from bert_tf.training.distillation import student

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=5,
    num_attention_heads=2,
    intermediate_size=11,
    max_position_embeddings=13,
)


@pytest.mark.parametrize(
    ("flag", "num_layers", "wanted"),
    [
        ("3", 6, (0, 2, 4)),
        ("6", 12, (0, 2, 4, 6, 8, 10)),
        ("1", 6, (0,)),
        ("5", 5, (0, 1, 2, 3, 4)),
        ("0,2,5", 6, (0, 2, 5)),
        ("4,", 6, (4,)),
    ],
)
def test_layers_by_number_or_by_name(flag, num_layers, wanted):
    assert student.chosen_layers(flag, num_layers) == wanted


@pytest.mark.parametrize(
    ("flag", "wanted"),
    [
        ("7", "has 6 layers. Give a number from 1 to 6"),
        ("0", "Give a number from 1 to 6"),
        ("0,6", "ascending layers from 0 to 5"),
        ("2,1", "ascending layers from 0 to 5"),
        ("1,1", "each once"),
        ("two", "must be a number of layers, or layers from 0"),
        (",", "must be a number of layers"),
    ],
)
def test_other_layers_are_refused(flag, wanted):
    with pytest.raises(InputError, match="--student_layers=") as refused:
        student.chosen_layers(flag, 6)
    assert wanted in str(refused.value)


def test_a_checkpoint_of_some_layers(tmp_path):
    """Its layers are those of the whole model, everything else is as there."""
    whole = models.ClassifierModel(CONFIG, 3)
    rng = np.random.default_rng(3)
    for variable in whole.variables:
        variable.assign(rng.normal(size=variable.shape))
    checkpoints.save(whole, tmp_path / "whole")
    opened = checkpoints.open_checkpoint(tmp_path / "whole")
    found = student.checkpoint_of_layers(opened, CONFIG, (1, 4))
    small = models.ClassifierModel(found.config, 3)
    report = checkpoints.load(small, found)
    assert not report.fresh
    values = {variable.path: variable.numpy() for variable in whole.variables}
    for variable in small.variables:
        path = variable.path.replace("layer_1/", "layer_4/").replace("layer_0/", "layer_1/")
        np.testing.assert_array_equal(variable.numpy(), values[path], err_msg=variable.path)
