"""What version 0.1.0 wrote is read, and gives the numbers that version 0.1.0 computed.

`tests/data/version-0.1.0` has records, a pre-training that was killed after its first saved state,
a classifier and its export, and in expected.json what 0.1.0 made of them.
"""

import json
import pathlib
import re
import shutil
import tarfile

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401  ops of the export

from bert_tf import options
from bert_tf.records.inspect import show
from bert_tf.training.finetuning import classifier_data
from bert_tf.training.pretraining import pretrain
from tests.reference.pretraining_runs import weights

ROOT = pathlib.Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "version-0.1.0"
EXPECTED = json.loads((DATA / "expected.json").read_text())
MODEL = {
    "bert_config_file": "bert_config.json",
    "vocab_file": "vocab.txt",
    "max_seq_length": 32,
    "learning_rate": 1e-3,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the data as the working directory, for flags with relative paths."""
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    lines = (ROOT / "data" / "topics" / "train.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "dev.tsv").write_text("".join(lines[:25]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_records_have_the_same_statistics(folder, capsys):
    show.main(options.InspectRecords(vocab_file="vocab.txt", num_examples=0), ["text.tfrecord"])
    numbers = re.findall(r"\d+(?:[.,]\d+)*", capsys.readouterr().out)
    assert " ".join(numbers) == EXPECTED["numbers"]


def test_a_classifier_has_the_same_scores(folder):
    (folder / "classifier" / "eval_results.txt").unlink()
    classifier_data.main(
        options.Classifier(
            **MODEL,
            task_name="tsv",
            data_dir=".",
            do_eval=True,
            output_dir="classifier",
        )
    )
    lines = (folder / "classifier" / "eval_results.txt").read_text().splitlines()
    scores = {name: float(value) for name, value in (line.split(" = ") for line in lines)}
    # Its best weights are its last ones.
    expected = EXPECTED["scores"] | {f"best_{name}": x for name, x in EXPECTED["scores"].items()}
    expected |= {"global_step": 6, "best_global_step": 6}
    assert scores == pytest.approx(expected, abs=1e-6)


def test_a_killed_training_goes_on_to_the_same_weights(folder, capsys):
    pretrain.run(
        options.PreTraining(
            **MODEL | {"vocab_file": None},
            input_file="text.tfrecord",
            output_dir="pretraining",
            do_train=True,
            num_train_steps=8,
            num_warmup_steps=2,
            save_checkpoints_steps=4,
            train_batch_size=4,
        )
    )
    assert "after step 4" in capsys.readouterr().out
    sums = {
        name: float(np.abs(value.astype(np.float64)).sum())
        for name, value in weights(folder / "pretraining").items()
    }
    assert sums == pytest.approx(EXPECTED["weights"], rel=1e-6)


def test_an_export_gives_the_same_answers(tmp_path):
    with tarfile.open(DATA / "export.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (path,) = (tmp_path / "export" / "topics").iterdir()
    signature = tf.saved_model.load(path).signatures["serving_default"]
    answers = signature(tf.constant(EXPECTED["texts"]))
    assert answers.keys() == EXPECTED["answers"].keys()
    for name, expected in EXPECTED["answers"].items():
        if answers[name].dtype == tf.string:
            assert [text.decode() for text in answers[name].numpy()] == expected
        else:
            np.testing.assert_allclose(answers[name], expected, rtol=0, atol=1e-6)
