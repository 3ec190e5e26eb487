import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats.tf_hub import TensorFlowHub
from bert_tf.errors import InputError
from tests.checkpoints import hub_exports, samples
from tests.modeling import harness

FORMAT = TensorFlowHub()


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """(directory, `StateDict`) of an export with a masked LM; read only."""
    return hub_exports.saved_model(tmp_path_factory.mktemp("hub"), "pretrain")


@pytest.fixture
def copy(export, tmp_path):
    """A copy of it that may be damaged."""
    return pathlib.Path(shutil.copytree(export[0], tmp_path / "copy"))


def test_an_export_with_masked_lm(export):
    directory, wanted = export
    checkpoint = open_checkpoint(directory)
    assert checkpoint.format.name == "tf_hub" and checkpoint.config == wanted.config
    state_dict, report = reading.read(checkpoint)
    samples.assert_equal_arrays(state_dict.arrays, wanted.arrays)
    assert state_dict.kind == "pretrain" and state_dict.do_lower_case is True
    assert report.not_weights == ("do_lower_case",)
    vocabulary = pathlib.Path(state_dict.vocab_file)
    assert vocabulary == directory / "assets/vocab.txt"
    assert vocabulary.read_bytes() == pathlib.Path(wanted.vocab_file).read_bytes()


def test_an_encoder_alone_and_cased(tmp_path):
    directory, wanted = hub_exports.saved_model(tmp_path, lower_case=False)
    state_dict, _ = reading.read(open_checkpoint(directory))
    samples.assert_equal_arrays(state_dict.arrays, wanted.arrays)
    assert state_dict.kind == "encoder" and state_dict.do_lower_case is False


def test_nothing_of_the_graph_is_run(export, monkeypatch):
    def run(*args, **kwargs):
        raise AssertionError("A graph was loaded.")

    monkeypatch.setattr(tf.saved_model, "load", run)
    monkeypatch.setattr(tf.compat.v1.saved_model, "load", run)
    reading.read(open_checkpoint(export[0]))


@pytest.mark.parametrize(
    "part",
    ["", "saved_model.pb", "variables"]
    + [f"variables/variables{end}" for end in ("", ".index", ".data-00000-of-00001")],
)
def test_an_export_is_found_by_its_directory_or_a_part(part, export):
    directory, _ = export
    assert FORMAT.find(str(directory / part)).rstrip("/") == str(directory)
    assert open_checkpoint(directory / part).format.name == "tf_hub"


def test_a_part_is_found_from_inside_and_what_is_none_is_not(export, monkeypatch):
    directory, _ = export
    monkeypatch.chdir(directory)
    assert FORMAT.find("variables/variables") == str(directory)
    assert FORMAT.find("variables/nothing") is None
    monkeypatch.chdir(directory / "variables")
    assert FORMAT.find("variables") == str(directory)


def test_dropout_comes_from_what_keras_left(copy):
    values = {"output_dropout": 0.25, "attention_dropout": 0.5, "norm_first": False}
    hub_exports.keras_metadata(copy, "Text>BertEncoder", values)
    config = open_checkpoint(copy).config
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (0.25, 0.5)


def test_a_config_next_to_the_graph_wins(copy, export):
    config = export[1].config
    (copy / "bert_config.json").write_text(config.to_json().replace('"gelu"', '"relu"'))
    assert open_checkpoint(copy).config.hidden_act == "relu"


def lose_values(copy):
    for path in (copy / "variables").glob("variables.data-*"):
        path.unlink()


def lose_variables(copy):
    shutil.rmtree(copy / "variables")


def cut_graph(copy):
    path = copy / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:-7])


def cut_values(copy):
    (path,) = (copy / "variables").glob("variables.data-*")
    path.write_bytes(path.read_bytes()[:100])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lose_values, "its values .* are not"),
        (lose_variables, "without variables, such as a preprocessing model"),
        (cut_graph, "cannot be read as a SavedModel"),
        (cut_values, "cannot be read from"),
        (lambda copy: (copy / "saved_model.pb").write_bytes(b""), "holds no graph"),
    ],
)
def test_a_damaged_export(damage, said, copy):
    damage(copy)
    with pytest.raises(InputError, match=said):
        reading.read(open_checkpoint(copy))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"dense/kernel": (2, 3), "dense/bias": (3,)},
            "not of a BERT encoder.*no variable word_embeddings/embeddings of 2 axes. It holds 3",
        ),
        (
            {
                "word_embeddings/embeddings": (11, 5),
                "position_embedding/embeddings": (7, 5),
                "type_embeddings/embeddings": (2, 5),
                "transformer/layer_0/self_attention/query/kernel": (14, 2, 7),
                "transformer/layer_0/intermediate/kernel": (14, 13),
            },
            "embeddings of 5 and layers of 14 units",
        ),
    ],
)
def test_a_saved_model_of_something_else(values, said, tmp_path):
    arrays = {name: np.zeros(shape, np.float32) for name, shape in values.items()}
    with pytest.raises(InputError, match=said):
        open_checkpoint(hub_exports.save_values(tmp_path, arrays))


@pytest.mark.parametrize("scope", ["", "module/"])
def test_a_module_of_tensorflow_1(scope, tmp_path):
    """Names of the released code, under the scope of the graph it was loaded into or none."""
    directory, wanted = hub_exports.module(tmp_path, "pretrain", scope=scope)
    checkpoint = open_checkpoint(directory)
    assert checkpoint.format.name == "tf1" and checkpoint.config == wanted.config
    state_dict, _ = reading.read(checkpoint)
    samples.assert_equal_arrays(state_dict.arrays, wanted.arrays)
    assert state_dict.kind == "pretrain" and state_dict.do_lower_case is True
    assert pathlib.Path(state_dict.vocab_file) == directory / "assets/vocab.txt"


def test_a_module_that_does_not_tell_its_heads(tmp_path):
    directory, wanted = hub_exports.module(tmp_path, num_heads=0, lower_case=False)
    with pytest.raises(InputError, match="number of attention heads. Put .* bert_config.json"):
        open_checkpoint(directory)
    (directory / "bert_config.json").write_text(wanted.config.to_json())
    checkpoint = open_checkpoint(directory)
    assert checkpoint.config == wanted.config and checkpoint.do_lower_case is False


def test_a_saved_model_of_tensorflow_1_that_is_no_module(tmp_path):
    directory, _ = hub_exports.module(tmp_path)
    (directory / "tfhub_module.pb").unlink()
    with pytest.raises(InputError, match="has no tfhub_module.pb"):
        open_checkpoint(directory)


# What an export of Model Garden 2.20 named the variables of a layer.
LAYER = (
    [f"self_attention/{p}/{k}" for p in ("query", "key", "value") for k in ("kernel", "bias")]
    + [f"self_attention/attention_output/{kind}" for kind in ("kernel", "bias")]
    + [f"{part}/{kind}" for part in ("intermediate", "output") for kind in ("kernel", "bias")]
    + [f"{part}_layer_norm/{k}" for part in ("self_attention", "output") for k in ("gamma", "beta")]
)
OUTSIDE = [
    "word_embeddings/embeddings",
    "position_embedding/embeddings",
    "type_embeddings/embeddings",
    "embeddings/layer_norm/gamma",
    "embeddings/layer_norm/beta",
    "pooler_transform/kernel",
    "pooler_transform/bias",
]
MASKED_LM = [
    "bert/cls/predictions/output_bias/bias",
    "bert/cls/predictions/transform/dense/kernel",
    "bert/cls/predictions/transform/dense/bias",
    "bert/cls/predictions/transform/LayerNorm/gamma",
    "bert/cls/predictions/transform/LayerNorm/beta",
]


@pytest.mark.parametrize(
    ("top", "wanted"),
    [
        (
            "encoder",
            OUTSIDE + [f"transformer/layer_{index}/{name}" for index in (0, 1) for name in LAYER],
        ),
        ("masked_lm", MASKED_LM),
    ],
)
def test_names_are_those_of_an_export(top, wanted):
    table = FORMAT.rows(harness.config(num_hidden_layers=2))
    held = [name for row in table for name in row.names if row.path.startswith(top)]
    assert sorted(held) == sorted(wanted)


@pytest.mark.parametrize(
    ("name", "today"),
    [
        ("bert_model/word_embeddings/embeddings", "word_embeddings/embeddings"),
        ("bert_model/embedding_postprocessor/type_embeddings", "type_embeddings/embeddings"),
        ("bert_model/embedding_postprocessor/position_embeddings", "position_embedding/embeddings"),
        ("bert_model/embedding_postprocessor/layer_norm/beta", "embeddings/layer_norm/beta"),
        (
            "bert_model/encoder/layer_3/self_attention_output/kernel",
            "transformer/layer_3/self_attention/attention_output/kernel",
        ),
        ("bert_model/encoder/layer_3/output/bias", "transformer/layer_3/output/bias"),
        ("bert_model/pooler_transform/bias", "pooler_transform/bias"),
        ("cls/predictions/output_bias/bias", "bert/cls/predictions/output_bias/bias"),
        ("bert_2/cls/predictions/transform/dense/bias", MASKED_LM[2]),
    ],
)
def test_spelling_of_the_first_exports(name, today):
    assert FORMAT.canonical_name(name) == today


def test_names_of_today_stay():
    names = OUTSIDE + MASKED_LM + [f"transformer/layer_3/{name}" for name in LAYER]
    assert [FORMAT.canonical_name(name) for name in names] == names
