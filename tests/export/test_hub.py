"""The command that exports for TensorFlow Hub: what it writes, prints and refuses."""

import dataclasses
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


def test_text_to_vectors_with_two_exports(released, tmp_path, capsys):
    export(released, tmp_path / "encoder", export_type="model_with_mlm")
    printed = capsys.readouterr().out
    assert f"Exported {tmp_path}/encoder/1: " in printed
    assert "mlm_logits float32 [B P V]" in printed
    assert "largest difference of an output from the Python path: " in printed
    options = {"export_type": "preprocessing", "default_seq_length": 11}
    export(released, tmp_path / "text", tokenize_with_offsets=True, **options)
    printed = capsys.readouterr().out
    assert "ids of single texts and pairs equal those of the Python path" in printed
    assert "needs FastBertNormalize" in printed

    preprocessor, encoder = (
        tf.saved_model.load(str(tmp_path / name / "1")) for name in ("text", "encoder")
    )
    batch = preprocessor(tf.constant(["a b c", "word1"]))
    assert batch["input_word_ids"].shape == (2, 11)
    assert encoder(batch)["pooled_output"].shape == (2, harness.H)
    assert hasattr(preprocessor, "tokenize_with_offsets")


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


def test_the_python_blocks_of_the_page(classifier, tmp_path, monkeypatch, capsys):
    """docs/hub.md, after the exports that it begins with; rows have 128 tokens there."""
    config = dataclasses.replace(classifier.config, max_position_embeddings=131)
    checkpoints.save(new_model(config, classifier.metadata), f"{classifier.path}/last")
    pathlib.Path(classifier.path, "bert_config.json").write_text(config.to_json())
    monkeypatch.chdir(tmp_path)
    export(classifier.path, "out/hub/encoder")
    export(classifier.path, "out/hub/text", export_type="preprocessing")
    capsys.readouterr()
    for block in snippets.blocks("docs/hub.md"):
        exec(compile(block, "docs/hub.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out
    assert printed.startswith("(2, 21) (2, 128, 21)\n(1, 21)\n")
