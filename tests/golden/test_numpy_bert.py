"""The whole pre-training model against a BERT written independently in NumPy."""

import numpy as np
import pytest

from bert_tf.checkpoints import saving
from bert_tf.config import BertConfig
from bert_tf.modeling import models
from tests.reference import numpy_bert

LENGTHS = (13, 11, 5, 1)
T, P, V, A, D, L = 13, 3, 101, 3, 7, 2

ACTIVATIONS = {"gelu": numpy_bert.gelu_tanh, "gelu_erf": numpy_bert.gelu_erf}


def config(activation):
    return BertConfig(
        vocab_size=V,
        hidden_size=A * D,
        num_hidden_layers=L,
        num_attention_heads=A,
        intermediate_size=37,
        hidden_act=activation,
        max_position_embeddings=17,
        type_vocab_size=2,
    )


def large_weights(model, seed):
    """Weights far from the initial ones, so that no term is too small to matter."""
    rng = np.random.default_rng(seed)
    for variable in model.variables:
        centre = 1.0 if variable.path.endswith("gamma") else 0.0
        variable.assign(rng.normal(centre, 0.3, variable.shape))


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(3)
    mask = np.arange(T) < np.array(LENGTHS)[:, None]
    return {
        "input_word_ids": rng.integers(0, V, mask.shape, dtype=np.int32),
        "input_mask": mask.astype(np.int32),
        "input_type_ids": rng.integers(0, 2, mask.shape, dtype=np.int32),
        "masked_lm_positions": rng.integers(0, T, (len(LENGTHS), P), dtype=np.int32),
    }


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_output_is_that_of_the_reference(name, batch):
    model = models.PretrainingModel(config(name))
    large_weights(model, seed=5)
    weights = saving.to_arrays(model)
    encoded, outputs = model.encoder(batch), model(batch)
    for row, real in enumerate(batch["input_mask"]):
        hidden, pooled = numpy_bert.encode(
            weights,
            L,
            A,
            ACTIVATIONS[name],
            batch["input_word_ids"][row],
            real,
            batch["input_type_ids"][row],
        )
        for ours, theirs in zip(encoded["encoder_outputs"], hidden[1:], strict=True):
            np.testing.assert_allclose(ours[row], theirs, rtol=0, atol=1e-5)
        np.testing.assert_allclose(encoded["pooled_output"][row], pooled, rtol=0, atol=1e-5)
        positions = batch["masked_lm_positions"][row]
        np.testing.assert_allclose(
            outputs["masked_lm_logits"][row],
            numpy_bert.masked_lm(weights, ACTIVATIONS[name], hidden[-1], positions),
            rtol=0,
            atol=1e-5,
        )
        np.testing.assert_allclose(
            outputs["next_sentence_logits"][row],
            numpy_bert.next_sentence(weights, pooled),
            rtol=0,
            atol=1e-5,
        )


def test_the_two_activations_can_be_told_apart(batch):
    one, other = (models.PretrainingModel(config(name)) for name in ACTIVATIONS)
    large_weights(one, seed=5)
    large_weights(other, seed=5)
    difference = one(batch)["masked_lm_logits"] - other(batch)["masked_lm_logits"]
    assert np.abs(difference).max() > 1e-4
