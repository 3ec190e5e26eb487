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


def config(activation, is_causal=False):
    return BertConfig(
        vocab_size=V,
        hidden_size=A * D,
        num_hidden_layers=L,
        num_attention_heads=A,
        intermediate_size=37,
        hidden_act=activation,
        max_position_embeddings=17,
        type_vocab_size=2,
        is_causal=is_causal,
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


PACKED = np.array(
    [
        [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3],
        [1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 0, 0],
        [1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    np.int32,
)


@pytest.mark.parametrize(("is_causal", "is_packed"), [(True, False), (False, True), (True, True)])
def test_left_to_right_and_packed_rows_are_those_of_the_reference(batch, is_causal, is_packed):
    model = models.PretrainingModel(config("gelu", is_causal), has_next_sentence=False)
    large_weights(model, seed=5)
    weights = saving.to_arrays(model)
    batch = batch | ({"sequence_ids": PACKED} if is_packed else {})
    encoded, logits = model.encoder(batch), model(batch)["masked_lm_logits"]
    for row, length in enumerate(LENGTHS):
        hidden, pooled = numpy_bert.encode(
            weights,
            L,
            A,
            numpy_bert.gelu_tanh,
            batch["input_word_ids"][row],
            batch["input_mask"][row],
            batch["input_type_ids"][row],
            is_causal,
            PACKED[row] if is_packed else None,
        )
        for ours, theirs in zip(encoded["encoder_outputs"], hidden[1:], strict=True):
            np.testing.assert_allclose(ours[row, :length], theirs[:length], rtol=0, atol=1e-5)
        np.testing.assert_allclose(encoded["pooled_output"][row], pooled, rtol=0, atol=1e-5)
        positions = batch["masked_lm_positions"][row]
        expected = numpy_bert.masked_lm(weights, numpy_bert.gelu_tanh, hidden[-1], positions)
        real = positions < length
        np.testing.assert_allclose(logits[row][real], expected[real], rtol=0, atol=1e-5)
