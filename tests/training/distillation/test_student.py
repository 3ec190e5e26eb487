"""A student that is made of some layers of another model."""

import numpy as np
import pytest
import safetensors.numpy

from bert_tf import checkpoints
from bert_tf.checkpoints.opening import format_named
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.modeling.encoder import Encoder
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


@pytest.fixture(scope="module")
def whole():
    model = Encoder(CONFIG)
    rng = np.random.default_rng(3)
    for variable in model.variables:
        variable.assign(rng.normal(size=variable.shape))
    return model


def save_without_prefix(model, directory):
    """A file of Hugging Face's bare encoder, whose names are not those of the format's table."""
    directory.mkdir()
    arrays = {variable.path: variable.numpy() for variable in model.variables}
    rows = format_named("huggingface").rows(CONFIG)
    named = {
        name.removeprefix("bert."): np.ascontiguousarray(array)
        for row in rows
        if row.path in arrays
        for name, array in zip(row.names, row.split(arrays[row.path]), strict=True)
    }
    safetensors.numpy.save_file(named, directory / "model.safetensors")


@pytest.mark.parametrize("save", [checkpoints.save, save_without_prefix])
def test_a_checkpoint_of_some_layers(whole, save, tmp_path):
    """Its layers are those of the whole model, everything else is as there."""
    save(whole, tmp_path / "whole")
    opened = checkpoints.open_checkpoint(tmp_path / "whole")
    found = student.checkpoint_of_layers(opened, CONFIG, (1, 4))
    small = Encoder(found.config)
    report = checkpoints.load(small, found)
    assert not report.fresh
    values = {variable.path: variable.numpy() for variable in whole.variables}
    for variable in small.variables:
        path = variable.path.replace("layer_1/", "layer_4/").replace("layer_0/", "layer_1/")
        np.testing.assert_array_equal(variable.numpy(), values[path], err_msg=variable.path)
