"""A checkpoint of TF Model Garden, loaded here, against what Model Garden answered.

`benchmarks/golden/golden_model_garden.py` had it saved and wrote the expected values.
"""

import pathlib

import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.modeling import models

FOLDER = pathlib.Path(__file__).parent
INPUTS = ("input_word_ids", "input_mask", "input_type_ids", "masked_lm_positions")


@pytest.fixture(scope="module")
def expected():
    return np.load(FOLDER / "model_garden.npz")


@pytest.fixture(scope="module")
def model():
    checkpoint = checkpoints.open_checkpoint(FOLDER.parent / "data" / "tiny-model-garden")
    assert checkpoint.format.name == "model_garden"
    model = models.PretrainingModel(checkpoint.config)
    report = checkpoints.load(model, checkpoint)
    assert not report.fresh and not report.skipped
    return model


def test_encoder(model, expected):
    outputs = model.encoder({name: expected[name] for name in INPUTS})
    np.testing.assert_allclose(
        outputs["sequence_output"], expected["sequence_output"], rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("head", ["masked_lm", "next_sentence"])
def test_pretraining_heads(model, expected, head):
    logits = model({name: expected[name] for name in INPUTS})[f"{head}_logits"]
    assert np.ptp(expected[head]) > 1  # far from what other weights would answer
    np.testing.assert_allclose(logits, expected[head], rtol=0, atol=1e-5)
