import dataclasses
import json
import re

import pytest

from bert_tf.checkpoints.formats import keras_hub_json
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

BACKBONE = {
    "name": "bert_backbone",
    "trainable": True,
    "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}},
    "vocabulary_size": 101,
    "num_layers": 2,
    "num_heads": 3,
    "hidden_dim": 21,
    "intermediate_dim": 37,
    "dropout": 0.2,
    "max_sequence_length": 17,
    "num_segments": 5,
}


def describe(folder, file, name, config):
    """Writes a serialised Keras object as keras-hub does."""
    value = {"module": "keras_hub.src.models.bert", "class_name": name, "config": config}
    (folder / file).write_text(json.dumps(value | {"registered_name": f"keras_hub>{name}"}))
    return folder


def test_every_size_of_a_backbone(tmp_path):
    """The GELU is the tanh form and epsilon 1e-12, constants of keras-hub's backbone."""
    describe(tmp_path, "config.json", "BertBackbone", BACKBONE)
    assert dataclasses.asdict(keras_hub_json.read_config(tmp_path)) == {
        "vocab_size": 101,
        "hidden_size": 21,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 37,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.2,
        "attention_probs_dropout_prob": 0.2,
        "max_position_embeddings": 17,
        "type_vocab_size": 5,
        "initializer_range": 0.02,
        "layer_norm_eps": 1e-12,
        "is_causal": False,
    }


@pytest.mark.parametrize("dtype", ["bfloat16", None, {"class_name": "DTypePolicy", "config": {}}])
def test_dtypes_of_older_presets(dtype, tmp_path):
    if isinstance(dtype, dict):
        dtype["config"]["name"] = "mixed_bfloat16"
    describe(tmp_path, "config.json", "BertBackbone", BACKBONE | {"dtype": dtype})
    assert keras_hub_json.read_config(tmp_path).hidden_size == 21


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("RobertaBackbone", BACKBONE, "describes a RobertaBackbone; BERT's is a BertBackbone"),
        ("BertBackbone", BACKBONE | {"adapter": 3}, r"unknown keys \['adapter'\]"),
        ("BertBackbone", {"num_layers": 2}, "missing keys .*'num_heads'"),
        ("BertBackbone", BACKBONE | {"num_heads": 2}, "not a multiple"),
        (
            "BertBackbone",
            BACKBONE
            | {"dtype": {"class_name": "QuantizedDTypePolicy", "config": {"name": "int8"}}},
            "dtype is int8; wanted: one of float16",
        ),
        (
            "BertBackbone",
            BACKBONE | {"dtype": {"class_name": "DTypePolicyMap", "config": {}}},
            "dtype is DTypePolicyMap; wanted: one of float16",
        ),
    ],
)
def test_a_config_that_is_not_read(name, config, said, tmp_path):
    describe(tmp_path, "config.json", name, config)
    with pytest.raises(InputError, match=said):
        keras_hub_json.read_config(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "bert"}'])
def test_a_file_that_describes_no_object(text, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match="config.json"):
        keras_hub_json.read_config(tmp_path)


def test_a_remembered_config_of_other_sizes_is_refused(tmp_path):
    describe(tmp_path, "config.json", "BertBackbone", BACKBONE)
    other = {"vocab_size": 103, "hidden_size": 21, "num_attention_heads": 3}
    (tmp_path / "metadata.json").write_text(json.dumps({"bert_config": other}))
    with pytest.raises(InputError, match="differ in vocab_size, num_hidden_layers"):
        keras_hub_json.read_config(tmp_path)


@pytest.mark.parametrize(
    ("name", "config", "kind", "said"),
    [
        ("BertTextClassifier", {"num_classes": 3, "activation": "linear"}, "classify", None),
        ("BertClassifier", {"num_classes": 3}, "classify", None),
        ("BertTextClassifier", {"num_classes": 3, "activation": "softmax"}, "classify", "softmax"),
        ("BertTextClassifier", {"num_classes": 1}, "regress", None),
        ("BertMaskedLM", {}, "pretrain", "exact GELU and a LayerNorm epsilon of 1e-5"),
        ("BertTextEmbedder", {}, "encoder", "pooling"),
    ],
)
def test_tasks(name, config, kind, said, tmp_path):
    describe(tmp_path, "task.json", name, config)
    kind_read, notes = keras_hub_json.read_task(tmp_path, harness.config())
    assert kind_read == kind
    assert (said in notes[0]) if said else notes == []


def test_a_task_that_is_not_known(tmp_path):
    describe(tmp_path, "task.json", "MyTagger", {})
    with pytest.raises(InputError, match="describes a MyTagger; known: BertTextClassifier"):
        keras_hub_json.read_task(tmp_path, harness.config())


@pytest.mark.parametrize(
    ("config", "lowercase", "said"),
    [
        ({"lowercase": False}, False, None),
        ({"lowercase": True, "strip_accents": True}, True, None),
        ({"lowercase": True, "strip_accents": False}, True, "keeps accents"),
        ({"lowercase": False, "suffix_indicator": "@@"}, False, "'suffix_indicator': '@@'"),
    ],
)
def test_tokenizers(config, lowercase, said, tmp_path):
    describe(tmp_path, "tokenizer.json", "BertTokenizer", config)
    casing, notes = keras_hub_json.read_tokenizer(tmp_path)
    assert casing is lowercase
    assert (said in notes[0]) if said else notes == []


def test_a_directory_without_a_task_or_a_tokenizer(tmp_path):
    assert keras_hub_json.read_task(tmp_path, harness.config()) == (None, [])
    assert keras_hub_json.read_tokenizer(tmp_path) == (None, [])


@pytest.mark.parametrize(
    ("kind", "config", "changes", "said"),
    [
        ("encoder", {"hidden_act": "gelu_erf"}, {}, "always computes its tanh form"),
        ("encoder", {"layer_norm_eps": 1e-5}, {}, "layer_norm_eps is 1e-05; .* computes 1e-12"),
        ("encoder", {"attention_probs_dropout_prob": 0.0}, {}, "one rate for both"),
        ("pretrain", {}, {}, "masked LM head with the exact GELU"),
        ("choice", {}, {}, "no multiple choice"),
        ("classify", {}, {}, "no labels; its outputs are label 0, label 1"),
        ("encoder", {}, {"vocab_file": None}, "no vocabulary"),
        ("encoder", {}, {"do_lower_case": None}, "keeps case"),
    ],
)
def test_notes_say_what_will_differ(kind, config, changes, said, tmp_path):
    given = samples.state_dict(kind, tmp_path, config=harness.config(**config))
    (note,) = keras_hub_json.notes(dataclasses.replace(given, **changes))
    assert re.search(said, note)


def test_nothing_to_note(tmp_path):
    assert keras_hub_json.notes(samples.state_dict("encoder", tmp_path)) == []
    assert keras_hub_json.notes(samples.state_dict("regress", tmp_path)) == []
