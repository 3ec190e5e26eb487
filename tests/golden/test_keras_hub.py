"""Presets that keras-hub saved, loaded here, against what keras-hub answered.

`benchmarks/golden/golden_keras_hub.py` wrote the presets and the expected values.
"""

import pathlib

import numpy as np
import pytest
from scipy import special

from bert_tf import checkpoints
from bert_tf.checkpoints import reading
from bert_tf.modeling import models

FOLDER = pathlib.Path(__file__).parent
INPUTS = ("input_word_ids", "input_mask", "input_type_ids", "masked_lm_positions")


def load(name):
    """(`Checkpoint` of a kept preset, keras-hub's inputs and answers)."""
    checkpoint = checkpoints.open_checkpoint(FOLDER.parent / "data" / f"tiny-keras-hub-{name}")
    return checkpoint, np.load(FOLDER / f"keras_hub_{name.replace('-', '_')}.npz")


def assert_close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_a_classifier_in_shards():
    checkpoint, expected = load("classifier")
    model = models.ClassifierModel(checkpoint.config, 5)
    checkpoints.load(model, checkpoint)
    batch = {name: expected[name] for name in INPUTS}
    outputs = model.encoder(batch)
    for name in ("sequence_output", "pooled_output"):
        assert_close(outputs[name], expected[name])
    assert_close(model(batch)["logits"], expected["logits"])


@pytest.fixture(scope="module")
def masked_lm():
    """(model, expected values), with the encoder's constants in the head."""
    checkpoint, expected = load("masked-lm")
    model = models.PretrainingModel(checkpoint.config, has_next_sentence=False)
    checkpoints.load(model, checkpoint)
    return model, expected


def test_the_encoder_of_a_masked_lm(masked_lm):
    model, expected = masked_lm
    outputs = model.encoder({name: expected[name] for name in INPUTS})
    for name in ("sequence_output", "pooled_output"):
        assert_close(outputs[name], expected[name])


def test_the_weights_of_the_masked_lm_head():
    """keras-hub has the exact GELU and 1e-5 in this head, whatever the encoder has."""
    checkpoint, expected = load("masked-lm")
    arrays = reading.read(checkpoint)[0].arrays
    positions = expected["masked_lm_positions"][..., None]
    x = np.take_along_axis(expected["sequence_output"], positions, axis=1)
    x = x @ arrays["masked_lm/transform/kernel"] + arrays["masked_lm/transform/bias"]
    x = x * (1 + special.erf(x / np.sqrt(2))) / 2
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    x = x * arrays["masked_lm/layer_norm/gamma"] + arrays["masked_lm/layer_norm/beta"]
    logits = x @ arrays["encoder/embeddings/word"].T + arrays["masked_lm/output_bias"]
    assert_close(logits, expected["masked_lm"])


def test_the_masked_lm_head_as_loaded_differs_as_the_note_says(masked_lm):
    model, expected = masked_lm
    logits = model({name: expected[name] for name in INPUTS})["masked_lm_logits"]
    assert 1e-4 < np.abs(logits - expected["masked_lm"]).max() < 1e-2
    (note, *_) = load("masked-lm")[0].notes
    assert "exact GELU and a LayerNorm epsilon of 1e-5" in note
