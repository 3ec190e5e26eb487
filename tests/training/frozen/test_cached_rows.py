"""Rows with the vectors of a frozen encoder, against the encoder itself."""

import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.errors import InputError
from bert_tf.examples.rows import Rows
from bert_tf.modeling.encoder import Encoder
from bert_tf.training.frozen.cached_rows import VectorCache
from tests.modeling import harness

L, H = 4, harness.H
LENGTHS = (7, 2, 5, 3, 11)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    word_ids = [rng.integers(0, harness.V, length).tolist() for length in LENGTHS]
    labels = [np.full(length, 1, np.int32) for length in LENGTHS]
    return Rows(word_ids, [[0] * n for n in LENGTHS], {"token_label_ids": labels})


@pytest.fixture(scope="module")
def encoder():
    return harness.randomize(Encoder(harness.config(num_hidden_layers=L)))


@pytest.fixture(scope="module")
def checkpoint(encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen") / "model"
    checkpoints.save(encoder, folder)
    return checkpoints.open_checkpoint(folder)


@pytest.fixture
def cache(checkpoint, tmp_path):
    """`cache(frozen_layers)` in the folder `layer_vectors`."""
    folder = str(tmp_path / "layer_vectors")
    return lambda name: VectorCache(folder, checkpoint.config, checkpoint, name)


def test_batches_have_the_vectors_of_the_layers(rows, encoder, cache):
    found = cache("concat_last_four").of(rows, "train", batch_size=2)
    indices = np.array([3, 0, 4])
    batch = found.batch(indices)
    plain = rows.batch(indices)
    assert batch.keys() == plain.keys() | {"layer_vectors"}
    for name, values in plain.items():
        np.testing.assert_array_equal(batch[name], values)
    vectors = batch["layer_vectors"]
    assert vectors.shape == (3, 11, 4, H) and vectors.dtype == np.float32
    inputs = {name: plain[name] for name in ("input_word_ids", "input_mask", "input_type_ids")}
    wanted = np.stack([np.asarray(x) for x in encoder(inputs)["encoder_outputs"]], axis=2)
    real = plain["input_mask"].astype(bool)
    np.testing.assert_allclose(vectors[real], wanted[real], rtol=0, atol=3e-5)
    assert not vectors[~real].any()
    assert [feature.name for feature in found.extra_inputs] == ["layer_vectors"]
    unlabelled = found.without_labels().batch(indices[:1])
    np.testing.assert_array_equal(unlabelled["layer_vectors"], vectors[:1, :3])
    empty = found.batch(indices[:0])
    assert empty["layer_vectors"].shape == (0, 1, 4, H)


def test_they_are_computed_once(rows, cache, monkeypatch, tmp_path):
    first = cache("last").of(rows, "train")
    monkeypatch.setattr(VectorCache, "_write", None)  # a call would fail
    again = cache("last").of(rows, "train")
    np.testing.assert_array_equal(again.vectors, first.vectors)
    for others, choice in ((rows.head(3), "last"), (rows, "embeddings")):
        with pytest.raises(TypeError):
            cache(choice).of(others, "train")
    cache("last").remove()
    assert list(tmp_path.iterdir()) == []
    cache("last").remove()


def test_a_full_disk_is_said_before(rows, cache, monkeypatch):
    monkeypatch.setattr("bert_tf.files.free_bytes", lambda path: 1000)
    with pytest.raises(InputError, match="vectors of 28 tokens take 2.35 kB in .* 1 kB are free"):
        cache("last").of(rows, "train")
