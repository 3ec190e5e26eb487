"""The command that exports for TensorFlow Hub: what it writes, prints and refuses."""

import contextlib
import io
import json
import pathlib

import pytest
import tensorflow as tf

from bert_tf import checkpoints
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.model_directory import new_model
from bert_tf.errors import InputError
from bert_tf.modeling.models import PretrainingModel
from export import hub
from export.options import HubExport
from tests.checkpoints import samples
from tests.modeling import harness
from tests.reference import snippets


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A directory as Google released them, with the pre-training heads."""
    folder = tmp_path_factory.mktemp("released") / "bert"
    checkpoints.save(harness.randomize(PretrainingModel(harness.config())), folder)
    samples.vocab_file(folder)
    return folder


@pytest.fixture
def classifier(model_directory):
    """The model directory of a classifier."""
    directory = model_directory("classify", 1)
    model = new_model(directory.config, directory.metadata)
    checkpoints.save(model, pathlib.Path(directory.path) / "last")
    return directory


def export(model_dir, export_dir, **options):
    hub.run(HubExport(model_dir=str(model_dir), export_dir=str(export_dir), **options))


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """(folder with the exports that docs/hub.md begins with, what was printed)."""
    folder = tmp_path_factory.mktemp("page")
    config = harness.config(max_position_embeddings=131)  # rows of 128 tokens
    checkpoints.save(harness.randomize(PretrainingModel(config)), folder / "bert")
    samples.vocab_file(folder / "bert")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        hub_folder = folder / "out" / "hub"
        export(folder / "bert", hub_folder / "encoder", export_type="model_with_mlm")
        options = {"export_type": "preprocessing", "tokenize_with_offsets": True}
        export(folder / "bert", hub_folder / "text", **options)
    return folder, printed.getvalue()


def test_what_is_printed(exports):
    folder, printed = exports
    for line in (
        f"Exported {folder}/out/hub/encoder/1: ",
        "  mlm: and masked_lm_positions int32 [B P] -> and mlm_logits float32 [B P V]\n",
        "  largest difference of an output from the Python path: ",
        f"Exported {folder}/out/hub/text/1: ",
        "  texts string [B] -> input_word_ids, input_mask, input_type_ids int32 [B 128]\n",
        "  ids of single texts and pairs equal those of the Python path\n",
        "  smallest TensorFlow Serving image: 2.12; of TensorFlow Text it needs FastBertNormalize, ",
    ):
        assert line in printed
    assert hasattr(tf.saved_model.load(f"{folder}/out/hub/text/1"), "tokenize_with_offsets")


def test_the_python_blocks_of_the_page(exports, monkeypatch, capsys):
    monkeypatch.chdir(exports[0])
    for block in snippets.blocks("docs/hub.md"):
        exec(compile(block, "docs/hub.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out
    assert printed.startswith("(2, 21) (2, 128, 21)\n(1, 21)\n")


def test_the_encoder_of_a_classifier_in_the_next_version(classifier, tmp_path, capsys):
    (tmp_path / "7").mkdir()
    export(classifier.path, tmp_path)
    assert f"{tmp_path}/8: " in capsys.readouterr().out
    assets = tmp_path / "8" / "assets"
    assert (assets / "vocab.txt").read_bytes() == pathlib.Path(classifier.vocab_file).read_bytes()
    assert json.loads((assets / "bert_config.json").read_text())["hidden_size"] == 21
    assert not hasattr(tf.saved_model.load(str(tmp_path / "8")), "mlm")


def test_a_model_without_a_masked_lm(classifier, tmp_path):
    with pytest.raises(InputError, match="no masked LM head.*--export_type=model exports"):
        export(classifier.path, tmp_path / "hub", export_type="model_with_mlm")
    assert not (tmp_path / "hub").exists()


def test_a_model_without_a_pooler_is_exported_with_a_warning(tmp_path, capsys):
    given = samples.state_dict("span", tmp_path / "source", without=("encoder/pooler",))
    (tmp_path / "model").mkdir()
    HuggingFace().write(given, str(tmp_path / "model"))
    export(tmp_path / "model", tmp_path / "hub")
    assert "no pooler: pooled_output comes from random weights" in capsys.readouterr().out


def test_a_model_without_a_vocabulary(released, tmp_path):
    for name in ("bert_config.json", *(path.name for path in released.glob("bert_model*"))):
        (tmp_path / name).symlink_to(released / name)
    with pytest.raises(InputError, match="no vocab.txt next to .* --vocab_file"):
        export(tmp_path, tmp_path / "hub")
    export(
        tmp_path,
        tmp_path / "hub",
        export_type="preprocessing",
        default_seq_length=5,
        vocab_file=str(released / "vocab.txt"),
    )
    assert (tmp_path / "hub" / "1" / "assets" / "vocab.txt").is_file()


@pytest.mark.parametrize("length", [4, 18])
def test_a_length_that_does_not_fit(length, released, tmp_path):
    with pytest.raises(InputError, match=f"default_seq_length={length} must be from 5.* to 17"):
        export(released, tmp_path / "hub", export_type="preprocessing", default_seq_length=length)


def test_offsets_of_an_encoder():
    with pytest.raises(InputError, match="tokenize_with_offsets is for"):
        HubExport(model_dir="a", export_dir="b", tokenize_with_offsets=True)


def test_an_export_directory_that_is_a_file(released, tmp_path):
    (tmp_path / "hub").write_text("x")
    with pytest.raises(InputError, match="--export_dir=.* is not a directory"):
        export(released, tmp_path / "hub")
