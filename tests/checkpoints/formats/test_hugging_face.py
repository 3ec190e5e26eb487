import dataclasses
import json

import pytest
import safetensors.numpy

from bert_tf.checkpoints import reading
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.formats.tf1 import TensorFlow1
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

FORMAT = HuggingFace()

# Kind, what the state dict lacks, class in transformers, first names in its file.
CLASSES = [
    ("encoder", (), "BertModel", {"embeddings", "encoder", "pooler"}),
    ("pretrain", (), "BertForPreTraining", {"bert", "cls"}),
    ("pretrain", ("next_sentence",), "BertForMaskedLM", {"bert", "cls"}),
    ("pretrain", ("masked_lm",), "BertForNextSentencePrediction", {"bert", "cls"}),
    ("classify", (), "BertForSequenceClassification", {"bert", "classifier"}),
    ("regress", (), "BertForSequenceClassification", {"bert", "classifier"}),
    ("tag", (), "BertForTokenClassification", {"bert", "classifier"}),
    ("span", (), "BertForQuestionAnswering", {"bert", "qa_outputs"}),
    ("choice", (), "BertForMultipleChoice", {"bert", "classifier"}),
]
WITHOUT_POOLER = ("BertForMaskedLM", "BertForTokenClassification", "BertForQuestionAnswering")


def written(tmp_path, kind, without=(), **changes):
    """The folder of a written state dict, and its config.json."""
    given = samples.state_dict(kind, tmp_path / "given", without)
    folder = tmp_path / "out"
    folder.mkdir()
    FORMAT.write(dataclasses.replace(given, **changes), str(folder))
    return folder, json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize(("kind", "without", "name", "tops"), CLASSES)
def test_each_kind_is_a_class_of_transformers(tmp_path, kind, without, name, tops):
    folder, config = written(tmp_path, kind, without)
    assert config["architectures"] == [name] and config["model_type"] == "bert"
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    assert {one.split(".")[0] for one in arrays} == tops
    assert "cls.predictions.decoder.weight" not in arrays
    has_pooler = any("pooler" in one for one in arrays)
    assert has_pooler == (name not in WITHOUT_POOLER)
    read_back, _ = reading.read(FORMAT.open(str(folder / "model.safetensors")))
    given = samples.state_dict(kind, tmp_path / "given", without)
    samples.assert_equal_arrays(read_back.arrays, given.arrays)
    assert read_back.kind == kind


def test_the_config_says_what_the_encoder_computes(tmp_path):
    config = harness.config(layer_norm_eps=1e-6, hidden_act="gelu")
    _, values = written(tmp_path, "encoder", config=config)
    assert values["hidden_act"] == "gelu_new" and values["layer_norm_eps"] == 1e-6
    assert (values["vocab_size"], values["pad_token_id"]) == (harness.V, 0)
    assert FORMAT.open(str(tmp_path / "out" / "model.safetensors")).config == config


@pytest.mark.parametrize(
    ("kind", "problem_type", "labels"),
    [
        ("classify", "single_label_classification", samples.LABELS),
        ("tag", None, samples.LABELS),
        ("regress", "regression", ("LABEL_0",)),
    ],
)
def test_labels(tmp_path, kind, problem_type, labels):
    folder, values = written(tmp_path, kind)
    assert values.get("problem_type") == problem_type
    assert values["id2label"] == {str(index): label for index, label in enumerate(labels)}
    assert values["label2id"] == {label: index for index, label in enumerate(labels)}
    checkpoint = FORMAT.open(str(folder / "model.safetensors"))
    assert checkpoint.labels == (labels if kind != "regress" else ())


def test_labels_that_nobody_gave(tmp_path):
    folder, values = written(tmp_path, "classify", labels=())
    assert values["id2label"]["3"] == "LABEL_3"
    assert FORMAT.open(str(folder / "model.safetensors")).labels == ()


def test_labels_are_ordered_by_number(tmp_path):
    folder, values = written(tmp_path, "classify")
    values["id2label"] = {str(i): str(i) for i in (10, 9, 2, 1, 0, 3, 4, 5, 6, 7, 8)}
    (folder / "config.json").write_text(json.dumps(values))
    checkpoint = FORMAT.open(str(folder / "model.safetensors"))
    assert checkpoint.labels == tuple(map(str, range(11)))


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"problem_type": None}, "classify"),
        ({"problem_type": None, "id2label": {"0": "LABEL_0"}}, "regress"),
        ({"problem_type": None, "id2label": {}, "num_labels": 1}, "regress"),
        ({"problem_type": None, "id2label": {}, "num_labels": 3}, "classify"),
        ({"problem_type": "multi_label_classification"}, "multi_label"),
        ({"architectures": ["SomebodysBert"]}, None),
        ({"architectures": None}, None),
    ],
)
def test_kinds_in_a_config(tmp_path, changes, kind):
    folder, values = written(tmp_path, "classify")
    (folder / "config.json").write_text(json.dumps(values | changes))
    assert FORMAT.open(str(folder / "model.safetensors")).kind == kind


def test_tokenizer_files(tmp_path):
    folder, _ = written(tmp_path, "encoder")
    values = json.loads((folder / "tokenizer_config.json").read_text())
    assert values["do_lower_case"] is True and values["tokenizer_class"] == "BertTokenizer"
    assert values["model_max_length"] == 17
    special = json.loads((folder / "special_tokens_map.json").read_text())
    assert special["mask_token"] == values["mask_token"] == "[MASK]"
    given = (tmp_path / "given" / "vocab.txt").read_bytes()
    assert (folder / "vocab.txt").read_bytes() == given


@pytest.mark.parametrize(
    ("name", "values", "do_lower_case", "num_notes"),
    [
        ("tokenizer_config.json", {"do_lower_case": False}, False, 0),
        ("tokenizer_config.json", {}, True, 0),
        ("tokenizer_config.json", {"strip_accents": True}, True, 0),
        ("tokenizer_config.json", {"strip_accents": False}, True, 1),
        ("tokenizer_config.json", {"tokenize_chinese_chars": False}, True, 1),
        (
            "tokenizer.json",
            {"normalizer": {"type": "BertNormalizer", "lowercase": False}},
            False,
            0,
        ),
        ("tokenizer.json", {"normalizer": None}, None, 0),
    ],
)
def test_casing(tmp_path, name, values, do_lower_case, num_notes):
    folder, _ = written(tmp_path, "encoder")
    (folder / "tokenizer_config.json").unlink()
    (folder / name).write_text(json.dumps(values))
    checkpoint = FORMAT.open(str(folder / "model.safetensors"))
    assert (checkpoint.do_lower_case, len(checkpoint.notes)) == (do_lower_case, num_notes)


def test_a_vocabulary_that_is_only_in_tokenizer_json(tmp_path):
    folder, _ = written(tmp_path, "encoder")
    (folder / "vocab.txt").unlink()
    (folder / "tokenizer.json").write_text("{}")
    checkpoint = FORMAT.open(str(folder / "model.safetensors"))
    assert checkpoint.vocab_file == str(folder / "tokenizer.json")


def test_shards(tmp_path):
    given = samples.state_dict("pretrain", tmp_path / "given")
    folder = tmp_path / "out"
    folder.mkdir()
    FORMAT.write(given, str(folder), max_shard_bytes=10_000)
    assert len(list(folder.glob("model-*-of-*.safetensors"))) > 3
    index = str(folder / "model.safetensors.index.json")
    shards = [str(path) for path in folder.glob("model-*")]
    assert {FORMAT.find(path) for path in (str(folder), index, *shards)} == {index}
    read_back, _ = reading.read(FORMAT.open(FORMAT.find(str(folder))))
    samples.assert_equal_arrays(read_back.arrays, given.arrays)


def test_a_pooler_of_old_does_not_replace_the_one_in_the_file(tmp_path):
    folder, _ = written(tmp_path, "classify")
    wrong = FORMAT.arrays(samples.state_dict("classify", tmp_path / "wrong", seed=7))
    old = {name: array for name, array in wrong.items() if "pooler" in name}
    safetensors.numpy.save_file(old, folder / "pooler.safetensors")
    read_back, _ = reading.read(FORMAT.open(str(folder / "model.safetensors")))
    given = samples.state_dict("classify", tmp_path / "given")
    samples.assert_equal_arrays(read_back.arrays, given.arrays)


def test_a_note_says_where_the_pooler_is(tmp_path):
    assert FORMAT.notes(samples.state_dict("classify", tmp_path)) == []
    (note,) = FORMAT.notes(samples.state_dict("tag", tmp_path))
    assert "BertForTokenClassification" in note and "pooler.safetensors" in note


def test_reading_from_left_to_right(tmp_path):
    config = harness.config(is_causal=True)
    given = samples.state_dict("pretrain", tmp_path, ("next_sentence",), config)
    (tmp_path / "out").mkdir()
    FORMAT.write(given, str(tmp_path / "out"))
    values = json.loads((tmp_path / "out" / "config.json").read_text())
    assert values["architectures"] == ["BertLMHeadModel"] and values["is_decoder"] is True
    with pytest.raises(InputError, match="BertForPreTraining in transformers reads the first"):
        FORMAT.write(samples.state_dict("pretrain", tmp_path, (), config), str(tmp_path))


def test_another_architecture(tmp_path):
    folder, values = written(tmp_path, "encoder")
    (folder / "config.json").write_text(json.dumps(values | {"model_type": "roberta"}))
    with pytest.raises(InputError, match="model_type='roberta', that is RoBERTa"):
        FORMAT.open(str(folder / "model.safetensors"))


def test_another_architecture_without_a_config(tmp_path):
    folder, _ = written(tmp_path, "classify")
    (folder / "config.json").unlink()
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    arrays = {name.replace("bert.", "roberta."): array for name, array in arrays.items()}
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    with pytest.raises(InputError, match="another architecture, RoBERTa"):
        FORMAT.open(str(folder / "model.safetensors"))


def test_a_config_that_does_not_say_whose_gelu_it_means(tmp_path):
    folder, _ = written(tmp_path, "encoder")
    (folder / "config.json").unlink()
    (folder / "bert_config.json").write_text(harness.config().to_json())
    (note,) = FORMAT.open(str(folder / "model.safetensors")).notes
    assert "bert_config.json has no model_type" in note and "tanh" in note
    exact = harness.config(hidden_act="gelu_erf")
    (folder / "bert_config.json").write_text(exact.to_json())
    assert FORMAT.open(str(folder / "model.safetensors")).notes == ()


def test_tokens_that_the_vocabulary_lacks(tmp_path):
    folder, _ = written(tmp_path, "encoder")
    (folder / "added_tokens.json").write_text(json.dumps({"[MASK]": 4, "[new]": 101}))
    (note,) = FORMAT.open(str(folder / "model.safetensors")).notes
    assert "(1, e.g. [new])" in note and "--vocab_file" in note
    (folder / "added_tokens.json").write_text(json.dumps({"[MASK]": 4}))
    assert FORMAT.open(str(folder / "model.safetensors")).notes == ()


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("bert.pooler.dense.weight", "bert.pooler.dense.weight"),
        ("pooler.dense.weight", "bert.pooler.dense.weight"),
        ("encoder.layer.3.output.dense.bias", "bert.encoder.layer.3.output.dense.bias"),
        ("embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight"),
        (
            "bert.encoder.layer.0.output.LayerNorm.beta",
            "bert.encoder.layer.0.output.LayerNorm.bias",
        ),
        ("cls.predictions.transform.LayerNorm.gamma", "cls.predictions.transform.LayerNorm.weight"),
        ("classifier.weight", "classifier.weight"),
    ],
)
def test_older_spellings(name, canonical):
    assert FORMAT.canonical_name(name) == canonical


def test_both_tables_fill_the_same_variables():
    ours, theirs = (
        one.rows(harness.config(num_hidden_layers=12)) for one in (FORMAT, TensorFlow1())
    )
    assert [row.path for row in ours] == [row.path for row in theirs]
    assert [len(row.names) for row in ours] == [len(row.names) for row in theirs]


def test_heads():
    theirs = {row.path: row.names[0] for row in FORMAT.rows(harness.config(num_hidden_layers=1))}
    assert theirs["masked_lm/output_bias"] == "cls.predictions.bias"
    assert theirs["next_sentence/kernel"] == "cls.seq_relationship.weight"
    assert theirs["classifier/kernel"] == "classifier.weight"
    assert theirs["span/bias"] == "qa_outputs.bias"
