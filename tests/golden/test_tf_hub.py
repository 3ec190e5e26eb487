"""Exports as on TensorFlow Hub, loaded here, against what they answered themselves.

`benchmarks/golden/golden_tf_hub.py` wrote the exports and the expected values.
"""

import pathlib
import tarfile

import keras
import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.config import BertConfig
from bert_tf.modeling import models

FOLDER = pathlib.Path(__file__).parent
INPUTS = ("input_word_ids", "input_mask", "input_type_ids", "masked_lm_positions")
CONFIG = {
    "vocab_size": 31,
    "hidden_size": 22,
    "num_attention_heads": 2,
    "intermediate_size": 13,
    "max_position_embeddings": 17,
    "type_vocab_size": 3,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hub")
    for archive in (FOLDER.parent / "data").glob("tiny-tf-hub-*.tar.xz"):
        with tarfile.open(archive) as file:
            file.extractall(path, filter="data")
    return path


def answers(folder, name, expected):
    """(`Checkpoint`, our outputs) of an export."""
    checkpoint = checkpoints.open_checkpoint(folder / name)
    model = models.PretrainingModel(checkpoint.config, has_next_sentence=False)
    checkpoints.load(model, checkpoint)
    batch = {name: expected[name] for name in INPUTS}
    return checkpoint, model.encoder(batch) | model(batch)


def test_a_saved_model_with_masked_lm(folder):
    expected = np.load(FOLDER / "tf_hub_with_mlm.npz")
    checkpoint, outputs = answers(folder, "with-mlm", expected)
    assert checkpoint.config == BertConfig(**CONFIG, num_hidden_layers=1)
    assert checkpoint.do_lower_case is False
    assert pathlib.Path(checkpoint.vocab_file).name == "vocab.txt"
    for ours, theirs in (
        ("sequence_output", "sequence_output"),
        ("pooled_output", "pooled_output"),
        ("masked_lm_logits", "masked_lm"),
    ):
        np.testing.assert_allclose(outputs[ours], expected[theirs], rtol=0, atol=1e-5)


def test_a_module_of_tensorflow_1(folder):
    """Its graph alone tells the number of heads."""
    expected = np.load(FOLDER / "tf_hub_module.npz")
    checkpoint, outputs = answers(folder, "module", expected)
    assert checkpoint.config == BertConfig(**CONFIG, num_hidden_layers=2)
    assert checkpoint.do_lower_case is True
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(outputs[name], expected[name], rtol=0, atol=1e-5)
    log_probs = keras.ops.log_softmax(outputs["masked_lm_logits"])
    found = np.reshape(log_probs, expected["mlm_log_probs"].shape)
    np.testing.assert_allclose(found, expected["mlm_log_probs"], rtol=0, atol=1e-5)
