"""Exported encoders: a vector for each text, vectors of its tokens."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import table

TEXTS = ["", "the quick fox", "lazy dog " * 23, "a", "jumps over"]
LENGTHS = [2, 5, 31, 3, 4]  # every word is a token; [CLS] and [SEP] count


@pytest.fixture(scope="module")
def directory(model_directory):
    return model_directory("encoder", 1)


@pytest.fixture(scope="module")
def encoder_case(directory, export_case, tmp_path_factory):
    signatures = ("serving_default", "ids", "encode")
    return export_case(directory, tmp_path_factory.mktemp("m") / "encoder", signatures)


def encoded(case, text):
    """What the encoder gives for a text alone."""
    directory = case.directory
    ids = WordPieceTokenizer(directory.vocabulary, do_lower_case=True).encode(text)
    ids = [3, *ids[:29], 4]
    batch = {
        "input_word_ids": np.array([ids]),
        "input_mask": np.ones([1, len(ids)], np.int32),
        "input_type_ids": np.zeros([1, len(ids)], np.int32),
    }
    outputs = case.model(batch, training=False)
    return {name: np.asarray(x)[0] for name, x in outputs.items() if name != "encoder_outputs"}


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        ("mean", lambda encoded: encoded["sequence_output"].mean(axis=0)),
        ("max", lambda encoded: encoded["sequence_output"].max(axis=0)),
        ("cls", lambda encoded: encoded["sequence_output"][0]),
        ("pooled", lambda encoded: encoded["pooled_output"]),
    ],
)
def test_a_text_has_a_vector(encoder_case, pooling, pool):
    normalize = pooling == "max"
    case = dataclasses.replace(
        encoder_case,
        served=dataclasses.replace(encoder_case.served, pooling=pooling, normalize=normalize),
    )
    model = table.make(case.served)
    given = model.__call__(tf.constant(TEXTS))["embedding"].numpy()
    assert given.dtype == np.float32
    for text, vector in zip(TEXTS, given, strict=True):
        want = pool(encoded(case, text))
        want = want / np.linalg.norm(want) if normalize else want
        np.testing.assert_allclose(vector, want, atol=1e-5)
    np.testing.assert_allclose(model.__call__(tf.constant("a"))["embedding"], given[3], atol=1e-6)
    assert model.__call__(tf.zeros([0], tf.string))["embedding"].shape == (0, 21)


def test_the_ids_signature_gives_what_the_encoder_gives(encoder_case, loaded_version):
    case = encoder_case
    signatures = loaded_version(case).signatures
    assert case.exported.module.default_signatures == ("serving_default", "ids")
    ids = np.array([[3, 7, 9, 4, 0], [3, 11, 4, 0, 0], [3, 7, 7, 7, 4]], np.int32)
    batch = {
        "input_word_ids": ids,
        "input_mask": (ids > 0).astype(np.int32),
        "input_type_ids": np.zeros_like(ids),
    }
    want = case.model(batch, training=False)
    given = signatures["ids"](**{name: tf.constant(x) for name, x in batch.items()})
    is_real = batch["input_mask"] > 0
    np.testing.assert_allclose(given["pooled_output"], want["pooled_output"], atol=1e-5)
    for name, expected in (("sequence_output", np.asarray(want["sequence_output"])),):
        np.testing.assert_allclose(given[name].numpy()[is_real], expected[is_real], atol=1e-5)
        assert not given[name].numpy()[~is_real].any()
    empty = {name: tf.zeros([0, 7], tf.int32) for name in batch}
    assert signatures["ids"](**empty)["sequence_output"].shape == (0, 7, 21)


def test_tokens_have_vectors(encoder_case, loaded_version):
    case, model = encoder_case, loaded_version(encoder_case)
    assert set(model.signatures) == {"serving_default", "ids", "encode"}
    given = model.signatures["encode"](text=tf.constant(TEXTS))
    assert given["input_mask"].numpy().sum(axis=1).tolist() == LENGTHS
    for row, (text, length) in enumerate(zip(TEXTS, LENGTHS, strict=True)):
        want = encoded(case, text)
        vectors = given["sequence_output"][row].numpy()
        np.testing.assert_allclose(vectors[:length], want["sequence_output"], atol=1e-5)
        assert not vectors[length:].any()
        np.testing.assert_allclose(given["pooled_output"][row], want["pooled_output"], atol=1e-5)
    assert given["input_word_ids"][0].numpy().tolist() == [3, 4] + [0] * 29
    short = model.signatures["encode"](text=tf.constant(TEXTS[1:2]))["sequence_output"]
    assert short.shape == (1, 5, 21)  # not rounded up
    np.testing.assert_allclose(short[0], given["sequence_output"][1, :5], atol=1e-5)
    nothing = model.signatures["encode"](text=tf.zeros([0], tf.string))
    assert nothing["sequence_output"].shape == (0, 1, 21)
