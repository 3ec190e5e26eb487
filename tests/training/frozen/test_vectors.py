"""Vectors of every layer against a BERT written independently in NumPy."""

import numpy as np
import pytest

from bert_tf.checkpoints import saving
from bert_tf.modeling.encoder import Encoder
from bert_tf.training.frozen.layers import Selection, parse
from bert_tf.training.frozen.vectors import VectorModel
from tests.modeling import harness
from tests.reference import numpy_bert

NAMES = ("input_word_ids", "input_mask", "input_type_ids")
L, H = 3, harness.H


@pytest.fixture(scope="module")
def encoder():
    return harness.randomize(Encoder(harness.config(num_hidden_layers=L)))


@pytest.fixture(scope="module")
def batch():
    rows = harness.batch()
    return {name: rows[name][:4] for name in NAMES}  # of 13, 11, 7 and 2 tokens


@pytest.fixture(scope="module")
def reference(encoder, batch):
    """For each row: the list of [T H] of the embeddings and the layers, and pooled [H]."""
    weights = saving.to_arrays(encoder)
    found = []
    for word_ids, mask, type_ids in zip(*batch.values(), strict=True):
        length = mask.sum()
        row = (word_ids[:length], mask[:length], type_ids[:length])
        found.append(numpy_bert.encode(weights, L, harness.A, numpy_bert.gelu_tanh, *row))
    return found


def vectors(encoder, batch, layers, *how, dtype="float32"):
    return VectorModel(encoder, Selection(parse(layers, L), *how), dtype)(batch)


@pytest.mark.parametrize(
    ("layers", "depths"),
    [("-1", [3]), ("-1,-3", [3, 1]), ("embeddings", [0]), ("all", [0, 1, 2, 3]), ("0", [1])],
)
def test_every_layer(layers, depths, encoder, batch, reference):
    found = vectors(encoder, batch, layers)
    assert found.shape == (4, harness.T, len(depths), H)
    for row, (wanted, _) in zip(found, reference, strict=True):
        stacked = np.stack([wanted[depth] for depth in depths], axis=1)
        np.testing.assert_allclose(row[: len(stacked)], stacked, rtol=0, atol=3e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_a_vector_for_each_text(pooling, encoder, batch, reference):
    found = vectors(encoder, batch, "-2,embeddings", pooling)
    pool = {"cls": lambda x: x[0], "mean": lambda x: x.mean(0), "max": lambda x: x.max(0)}[pooling]
    wanted = [[pool(layers[2]), pool(layers[0])] for layers, _ in reference]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=3e-5)


def test_the_pooler(encoder, batch, reference):
    found = VectorModel(encoder, Selection((), "pooled"), "float32")(batch)
    np.testing.assert_allclose(found[:, 0], [p for _, p in reference], rtol=0, atol=3e-5)


@pytest.mark.parametrize("combination", ["mean", "sum", "concat"])
def test_layers_combined(combination, encoder, batch, reference):
    combine = {"mean": lambda x: np.mean(x, 0), "sum": lambda x: np.sum(x, 0)}.get(
        combination, lambda x: np.concatenate(x, axis=-1)
    )
    for pooling in ("none", "mean"):
        found = vectors(encoder, batch, "-1,-2,-3", pooling, combination)
        for row, (layers, _) in zip(found, reference, strict=True):
            wanted = combine(layers[:0:-1])  # [T H], or three times as wide
            wanted = wanted.mean(0)[None] if pooling == "mean" else wanted[:, None]
            np.testing.assert_allclose(row[: len(wanted)], wanted, rtol=0, atol=5e-5)


def test_half_precision_is_that_of_the_file_alone(encoder, batch):
    exact = vectors(encoder, batch, "-1")
    half = vectors(encoder, batch, "-1", dtype="float16")
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, exact.astype(np.float16))
