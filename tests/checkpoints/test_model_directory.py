"""A model directory describes its model, opens again, and takes no other run in."""

import dataclasses
import json
import os

import keras
import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.model_directory import ModelDirectory, ModelMetadata
from bert_tf.checkpoints.variables import TAGGER
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.modeling import models

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=22,
    num_hidden_layers=2,
    num_attention_heads=11,
    intermediate_size=37,
    max_position_embeddings=17,
)
METADATA = ModelMetadata(
    kind="classify",
    task="mrpc",
    labels=("no", "yes", "maybe"),
    num_texts=2,
    do_lower_case=True,
    max_seq_length=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]


@pytest.fixture
def vocab_file(tmp_path):
    path = tmp_path / "their_vocab.txt"
    path.write_text("\n".join(TOKENS) + "\n")
    return str(path)


@pytest.fixture
def directory(tmp_path, vocab_file):
    return model_directory.create(str(tmp_path / "run"), CONFIG, vocab_file, METADATA)


def test_create_writes_what_open_reads(directory):
    assert sorted(os.listdir(directory.path)) == ["bert_config.json", "model.json", "vocab.txt"]
    for opened in (directory, ModelDirectory.open(directory.path)):
        assert opened.config == CONFIG
        assert opened.metadata == METADATA
        assert opened.vocabulary.tokens == tuple(TOKENS)
    assert directory.vocab_file == os.path.join(directory.path, "vocab.txt")


def test_the_metadata_is_plain_json(directory):
    with open(os.path.join(directory.path, "model.json")) as file:
        assert json.load(file) == {
            "kind": "classify",
            "task": "mrpc",
            "labels": ["no", "yes", "maybe"],
            "num_texts": 2,
            "do_lower_case": True,
            "max_seq_length": 13,
            "format": 1,
        }


def test_the_same_run_goes_on(directory, vocab_file):
    before = {name: os.stat(f"{directory.path}/{name}") for name in os.listdir(directory.path)}
    model_directory.create(directory.path, CONFIG, vocab_file, METADATA)
    after = {name: os.stat(f"{directory.path}/{name}") for name in os.listdir(directory.path)}
    assert before == after  # not written again


@pytest.mark.parametrize(
    ("changes", "config_changes", "message"),
    [
        ({"task": "rte"}, {}, "holds another run: task is 'mrpc' there and 'rte' here"),
        ({"max_seq_length": 11}, {}, "max_seq_length is 13 there and 11 here"),
        ({"labels": ("yes", "no")}, {}, "labels is .*'maybe'.* there and .'yes', 'no'. here"),
        ({}, {"hidden_size": 11}, "hidden_size is 22 there and 11 here. Give a new directory"),
    ],
)
def test_another_run_is_refused(directory, vocab_file, changes, config_changes, message):
    metadata = dataclasses.replace(METADATA, **changes)
    config = dataclasses.replace(CONFIG, **config_changes)
    with pytest.raises(InputError, match=message):
        model_directory.create(directory.path, config, vocab_file, metadata)
    assert ModelDirectory.open(directory.path).metadata == METADATA


def test_another_vocabulary_is_refused(directory, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("\n".join([*TOKENS[:-1], "c"]) + "\n")
    with pytest.raises(InputError, match="the vocabulary differs"):
        model_directory.create(directory.path, CONFIG, str(other), METADATA)


def test_every_difference_is_named(directory, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("\n".join([*TOKENS[:-1], "c"]) + "\n")
    metadata = dataclasses.replace(METADATA, task="rte", num_texts=1)
    with pytest.raises(InputError, match="task is .*; num_texts is .*; the vocabulary differs"):
        model_directory.create(directory.path, CONFIG, str(other), metadata)


def test_open_says_what_is_there_instead(tmp_path):
    (tmp_path / "bert_model.ckpt.index").touch()
    with pytest.raises(InputError, match="--model_dir=.* no model.json in it. It holds: bert_mod"):
        ModelDirectory.open(str(tmp_path))
    with pytest.raises(InputError, match=r"--output_dir=.*It holds: \(missing\)"):
        ModelDirectory.open(str(tmp_path / "none"), "--output_dir")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "model.json has format 2; this version reads 1"),
        ({"kind": "rank"}, "model.json: kind 'rank' is unknown; known: encoder, pretrain"),
        ({"colour": 1}, "model.json .*colour"),
    ],
)
def test_open_refuses_metadata_it_does_not_know(directory, changes, message):
    path = os.path.join(directory.path, "model.json")
    with open(path) as file:
        values = json.load(file)
    with open(path, "w") as file:
        json.dump(values | changes, file)
    with pytest.raises(InputError, match=message):
        ModelDirectory.open(directory.path)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}'])
def test_open_refuses_damaged_metadata(directory, text):
    with open(os.path.join(directory.path, "model.json"), "w") as file:
        file.write(text)
    with pytest.raises(InputError, match="model.json"):
        ModelDirectory.open(directory.path)


def test_the_best_weights_where_there_are_any(directory):
    last, best = (os.path.join(directory.path, which) for which in ("last", "best"))
    os.mkdir(last)
    assert directory.weights("best") == directory.weights("last") == last
    os.mkdir(best)
    assert directory.weights("best") == best
    assert directory.weights("last") == last


@pytest.mark.parametrize(
    ("kind", "labels", "model_class", "num_outputs"),
    [
        ("classify", ("a", "b", "c"), models.ClassifierModel, 3),
        ("regress", (), models.ClassifierModel, 1),
        ("span", (), models.SpanModel, None),
        ("pretrain", (), models.PretrainingModel, None),
    ],
)
def test_new_model_has_the_head_of_its_kind(kind, labels, model_class, num_outputs):
    metadata = dataclasses.replace(METADATA, kind=kind, labels=labels)
    model = model_directory.new_model(CONFIG, metadata)
    assert type(model) is model_class
    assert num_outputs in (None, getattr(model, "num_classes", None), metadata.num_outputs)
    assert getattr(model, "num_classes", None) == num_outputs


@pytest.mark.parametrize("num_texts", [1, 2])
def test_a_model_pre_trained_on_pairs_has_a_head_for_them(num_texts):
    metadata = dataclasses.replace(METADATA, kind="pretrain", labels=(), num_texts=num_texts)
    assert model_directory.new_model(CONFIG, metadata).has_next_sentence == (num_texts == 2)


@pytest.mark.parametrize("kind", ["classify", "regress", "span", "pretrain"])
def test_build_model_gives_the_saved_weights(tmp_path, vocab_file, kind):
    metadata = dataclasses.replace(
        METADATA, kind=kind, labels=METADATA.labels if kind == "classify" else ()
    )
    directory = model_directory.create(str(tmp_path / "run"), CONFIG, vocab_file, metadata)
    weights = {}
    for seed, which in enumerate(("last", "best")):
        keras.utils.set_random_seed(seed)
        model = model_directory.new_model(CONFIG, metadata)
        for variable in model.variables:  # biases and LayerNorm too are distinguished
            variable.assign(np.random.default_rng(seed).normal(size=variable.shape))
        checkpoints.save(model, os.path.join(directory.path, which))
        weights[which] = {v.path: v.numpy() for v in model.variables}
    for which in ("last", "best"):
        values_read = {v.path: v.numpy() for v in directory.build_model(which).variables}
        assert values_read.keys() == weights[which].keys()
        for name, value in values_read.items():
            np.testing.assert_array_equal(value, weights[which][name], err_msg=name)


def test_build_model_without_weights(directory):
    with pytest.raises(InputError, match="last"):
        directory.build_model()


def test_a_bilstm_on_frozen_layers(tmp_path, vocab_file):
    metadata = ModelMetadata(
        kind="tag",
        task="conll-2003",
        labels=("O", "B-PER", "I-PER"),
        do_lower_case=True,
        max_seq_length=13,
        feature_based="weighted_all",
        lstm_units=5,
    )
    directory = model_directory.create(str(tmp_path / "run"), CONFIG, vocab_file, metadata)
    with open(os.path.join(directory.path, "model.json")) as file:
        assert json.load(file)["lstm_units"] == 5
    model = model_directory.new_model(CONFIG, metadata)
    checkpoints.save(model, directory.weights("best"))
    opened = ModelDirectory.open(directory.path)
    assert opened.metadata == metadata
    found = {v.path: np.asarray(v) for v in opened.build_model().variables}
    assert found.keys() >= set(TAGGER)
    for variable in model.variables:
        np.testing.assert_array_equal(found[variable.path], np.asarray(variable))
    with pytest.raises(InputError, match="is a BiLSTM on frozen layers .* --skip='tagger/"):
        checkpoints.read(checkpoints.open_checkpoint(directory.path))
    state_dict, _ = checkpoints.read(
        checkpoints.open_checkpoint(directory.path), skip=("tagger/.*",)
    )
    assert state_dict.kind == "encoder"


def test_settings_are_remembered_and_unknown_ones_refused(tmp_path):
    vocab_file = tmp_path / "vocab.txt"
    vocab_file.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]))
    settings = {
        "long_texts": "windows",
        "max_windows": 3,
        "window_stride": None,
        "window_pooling": "max",
    }
    plain = model_directory.create(str(tmp_path / "plain"), CONFIG, vocab_file, METADATA)
    assert "settings" not in json.loads((tmp_path / "plain" / "model.json").read_text())
    metadata = dataclasses.replace(METADATA, settings=settings)
    model_directory.create(str(tmp_path / "long"), CONFIG, vocab_file, metadata)
    opened = ModelDirectory.open(str(tmp_path / "long"))
    assert opened.metadata == metadata != plain.metadata
    assert model_directory.new_model(CONFIG, opened.metadata).window_pooling == "max"
    with pytest.raises(InputError, match="settings is .* there and {} here"):
        model_directory.prepare(opened.path, CONFIG, vocab_file, METADATA)
    values = json.loads((tmp_path / "long" / "model.json").read_text())
    values["settings"]["windows_shape"] = "round"
    (tmp_path / "long" / "model.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="the settings windows_shape are unknown; those of kind"):
        ModelDirectory.open(str(tmp_path / "long"))
