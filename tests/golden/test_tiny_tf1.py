"""Our models against what the released TensorFlow 1 code computed from the same checkpoint.

`benchmarks/golden/golden_tf1.py` wrote the expected values.
"""

import pathlib

import keras
import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.modeling import models

FOLDER = pathlib.Path(__file__).parent
INPUTS = ("input_word_ids", "input_mask", "input_type_ids", "masked_lm_positions")


@pytest.fixture(scope="module")
def expected():
    return np.load(FOLDER / "tiny_tf1_reference.npz")


@pytest.fixture(scope="module")
def model():
    checkpoint = checkpoints.open_checkpoint(FOLDER.parent / "data" / "tiny-tf1")
    model = models.PretrainingModel(checkpoint.config)
    checkpoints.load(model, checkpoint)
    return model


def test_encoder(model, expected):
    outputs = model.encoder({name: expected[name] for name in INPUTS})
    for ours, name in (
        (outputs["encoder_outputs"][0], "first_layer_output"),
        (outputs["sequence_output"], "sequence_output"),
        (outputs["pooled_output"], "pooled_output"),
    ):
        np.testing.assert_allclose(ours, expected[name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("head", ["masked_lm", "next_sentence"])
def test_pretraining_heads(model, expected, head):
    logits = model({name: expected[name] for name in INPUTS})[f"{head}_logits"]
    log_probs = keras.ops.log_softmax(logits)
    np.testing.assert_allclose(log_probs, expected[f"{head}_log_probs"], rtol=0, atol=1e-5)
