"""run_classifier.py in process: a student of long texts, an ensemble, and what answers then."""

import json
import os

import numpy as np
import pytest

import bert_tf
from bert_tf import checkpoints, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.options import Classifier
from bert_tf.training.finetuning import classifier_data
from export import savedmodel

CONFIG = BertConfig(
    vocab_size=8,
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
TEXTS = ["a b c a b c a b c a b", "c", "b b b", "a c c c c c c c"]


def run(data, **flags):
    values = {"data_dir": str(data), "max_seq_length": 7, "do_eval": True, "do_predict": True}
    classifier_data.main(flagging.make(Classifier, values | flags))


def probabilities(directory):
    return np.loadtxt(os.path.join(directory, "test_results.tsv"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A directory with train.tsv, dev.tsv and test.tsv, and a model of the same labels."""
    folder = tmp_path_factory.mktemp("data")
    rows = [f"{text}\t{label}\n" for text, label in zip(TEXTS, "xyyx", strict=True)]
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "".join(rows))
    (folder / "test.tsv").write_text("text\n" + "".join(f"{text}\n" for text in TEXTS))
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    metadata = ModelMetadata(
        kind="classify", task="tsv", labels=("x", "y"), do_lower_case=True, max_seq_length=13
    )
    path = str(folder / "teacher")
    model_directory.create(path, CONFIG, str(folder / "vocab.txt"), metadata)
    model = model_directory.new_model(CONFIG, metadata)
    rng = np.random.default_rng(3)
    for variable in model.variables:
        variable.assign(rng.normal(size=variable.shape))
    checkpoints.save(model, os.path.join(path, "last"))
    return folder


def test_a_student_and_an_ensemble_of_long_texts(data, capsys):
    student, both = str(data / "student"), str(data / "both")
    windows = {"long_texts": "windows", "max_windows": 3}
    flags = {"do_train": True, "num_micro_batches": 1, "num_train_epochs": 1.0}
    run(
        data,
        output_dir=student,
        teacher=str(data / "teacher"),
        student_layers="1,",
        **windows,
        **flags,
    )
    assert "Student: 1 layers, from layers 1 of 2" in capsys.readouterr().out
    metadata = json.loads((data / "student" / "model.json").read_text())
    assert metadata["settings"]["max_windows"] == 3
    before = probabilities(student)
    assert before.shape == (4, 2)
    run(data, output_dir=student)  # the model says how it reads texts
    np.testing.assert_array_equal(probabilities(student), before)

    run(data, output_dir=both, ensemble=f"{student},{student}")
    np.testing.assert_allclose(probabilities(both), before, rtol=1e-5)
    answers = bert_tf.load(both)(TEXTS)
    found = [[answer.probabilities[label] for label in "xy"] for answer in answers]
    np.testing.assert_allclose(found, before, rtol=1e-5)
    assert bert_tf.load(student)(TEXTS[0]).label == answers[0].label

    with pytest.raises(InputError, match="reads long texts in windows, which this class does not"):
        bert_tf.TextClassifier.from_preset(student)
    assert savedmodel.check(model_directory.ModelDirectory.open(both)) == 7
    with pytest.raises(InputError, match="holds another run: settings is"):
        run(data, output_dir=student, long_texts="windows", max_windows=2)
    (data / "train.tsv").write_text("text\tlabel\na\tx\nb\tz\n")
    other = {"output_dir": str(data / "new"), "do_train": True, "do_eval": False}
    with pytest.raises(InputError, match="labels is .* there and .* here"):
        run(data, teacher=student, student_layers="1", do_predict=False, **other)
    assert not (data / "new").exists()
