import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import open_checkpoint, state_dict
from bert_tf.checkpoints.formats import tf_hub_files
from bert_tf.errors import InputError
from tests.checkpoints import hub_exports, samples


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """(directory, `Contents`) of an export with a masked LM; read only."""
    return hub_exports.saved_model(tmp_path_factory.mktemp("hub"), "pretrain")


@pytest.fixture
def copy(export, tmp_path):
    """A copy of it that may be damaged."""
    return pathlib.Path(shutil.copytree(export[0], tmp_path / "copy"))


def test_an_export_with_masked_lm(export):
    directory, wanted = export
    checkpoint = open_checkpoint(directory)
    assert checkpoint.format == "tf_hub" and checkpoint.config == wanted.config
    found, report = state_dict.read(checkpoint)
    samples.assert_equal_arrays(found.arrays, wanted.arrays)
    assert found.kind == "pretrain" and found.do_lower_case is True
    assert report.not_weights == ("do_lower_case",)
    vocabulary = pathlib.Path(found.vocab_file)
    assert vocabulary == directory / "assets/vocab.txt"
    assert vocabulary.read_bytes() == pathlib.Path(wanted.vocab_file).read_bytes()


def test_an_encoder_alone_and_cased(tmp_path):
    directory, wanted = hub_exports.saved_model(tmp_path, lower_case=False)
    found, _ = state_dict.read(open_checkpoint(directory))
    samples.assert_equal_arrays(found.arrays, wanted.arrays)
    assert found.kind == "encoder" and found.do_lower_case is False


def test_nothing_of_the_graph_is_run(export, monkeypatch):
    def run(*args, **kwargs):
        raise AssertionError("A graph was loaded.")

    monkeypatch.setattr(tf.saved_model, "load", run)
    monkeypatch.setattr(tf.compat.v1.saved_model, "load", run)
    state_dict.read(open_checkpoint(export[0]))


@pytest.mark.parametrize(
    "part",
    ["", "saved_model.pb", "variables"]
    + [f"variables/variables{end}" for end in ("", ".index", ".data-00000-of-00001")],
)
def test_an_export_is_found_by_its_directory_or_a_part(part, export):
    directory, _ = export
    assert tf_hub_files.find(str(directory / part)).rstrip("/") == str(directory)
    assert open_checkpoint(directory / part).format == "tf_hub"


def test_a_part_is_found_from_inside_and_what_is_none_is_not(export, monkeypatch):
    directory, _ = export
    monkeypatch.chdir(directory)
    assert tf_hub_files.find("variables/variables") == str(directory)
    assert tf_hub_files.find("variables/nothing") is None
    monkeypatch.chdir(directory / "variables")
    assert tf_hub_files.find("variables") == str(directory)


def test_dropout_comes_from_what_keras_left(copy):
    values = {"output_dropout": 0.25, "attention_dropout": 0.5, "norm_first": False}
    hub_exports.keras_metadata(copy, "Text>BertEncoder", values)
    config = open_checkpoint(copy).config
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (0.25, 0.5)


def test_a_config_beside_the_graph_wins(copy, export):
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
        state_dict.read(open_checkpoint(copy))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"dense/kernel": (2, 3), "dense/bias": (3,)},
            "no BERT encoder.*no variable word_embeddings/embeddings of 2 axes. It holds 3",
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
    assert checkpoint.format == "tf1" and checkpoint.config == wanted.config
    found, _ = state_dict.read(checkpoint)
    samples.assert_equal_arrays(found.arrays, wanted.arrays)
    assert found.kind == "pretrain" and found.do_lower_case is True
    assert pathlib.Path(found.vocab_file) == directory / "assets/vocab.txt"


def test_a_module_that_does_not_tell_its_heads(tmp_path):
    directory, wanted = hub_exports.module(tmp_path, num_heads=0, lower_case=False)
    with pytest.raises(InputError, match="number of attention heads. Give .* bert_config.json"):
        open_checkpoint(directory)
    (directory / "bert_config.json").write_text(wanted.config.to_json())
    checkpoint = open_checkpoint(directory)
    assert checkpoint.config == wanted.config and checkpoint.do_lower_case is False


def test_a_saved_model_of_tensorflow_1_that_is_no_module(tmp_path):
    directory, _ = hub_exports.module(tmp_path)
    (directory / "tfhub_module.pb").unlink()
    with pytest.raises(InputError, match="has no tfhub_module.pb"):
        open_checkpoint(directory)
