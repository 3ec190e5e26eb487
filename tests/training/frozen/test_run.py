"""A tagger on frozen layers, trained, evaluated and used by run_classifier.py."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import checkpoints, options
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.modeling.encoder import Encoder
from bert_tf.training.finetuning import classifier_data
from bert_tf.training.frozen import cached_rows
from tests.checkpoints import samples
from tests.modeling import harness

SENTENCES = ["a NNP I-NP I-PER", "b NNP I-NP I-ORG", "c NNP I-NP O", "d NNP I-NP B-ORG"]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """`given(**flags)`: options; a model and a data set of 5 and 3 sentences are on disk."""
    folder = tmp_path_factory.mktemp("frozen")
    checkpoints.save(
        harness.randomize(Encoder(harness.config(num_hidden_layers=2))), folder / "model"
    )
    samples.vocab_file(folder / "model")
    for name, lengths in (("eng.train", (1, 4, 2, 3, 7)), ("eng.testa", (3, 1, 5))):
        words = [SENTENCES * 2] * len(lengths)
        text = "\n\n".join("\n".join(w[:n]) for w, n in zip(words, lengths, strict=True))
        (folder / name).write_text(f"-DOCSTART- -X- O O\n\n{text}\n")

    def make(**flags):
        values = {
            "task_name": "conll-2003",
            "data_dir": str(folder),
            "init_checkpoint": str(folder / "model"),
            "output_dir": str(folder / "out"),
            "max_seq_length": 11,
            "train_batch_size": 3,
            "num_train_epochs": 2,
            "learning_rate": 0.05,
            "num_micro_batches": 1,
            "do_eval": True,
        }
        return options.Classifier(**values | flags)

    return make


@pytest.fixture(autouse=True)
def eager():
    """Graphs of LSTMs take long to make, and are tested in tests/modeling."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def scores(given_options):
    path = pathlib.Path(given_options.output_dir, "eval_results.txt")
    lines = [line.split(" = ") for line in path.read_text().splitlines()]
    return {name: float(value) for name, value in lines}


def test_training_evaluation_and_prediction(given, monkeypatch):
    training = given(do_train=True, feature_based="weighted_all", lstm_units=3)
    passes = []
    write = cached_rows.VectorCache._write

    def counted(self, path, rows, *arguments):
        passes.append(len(rows))
        write(self, path, rows, *arguments)

    monkeypatch.setattr(cached_rows.VectorCache, "_write", counted)
    classifier_data.main(training)
    assert passes == [3, 5]  # once each, in two epochs
    output = pathlib.Path(training.output_dir)
    assert not (output / "training" / "layer_vectors").exists()
    of_training = scores(training)
    assert {"eval_entity_f1", "best_eval_loss"} <= of_training.keys()

    opened = ModelDirectory.open(str(output))
    assert (opened.metadata.feature_based, opened.metadata.lstm_units) == ("weighted_all", 3)
    trained = {v.path: np.asarray(v) for v in opened.build_model("last").variables}
    start = checkpoints.read(checkpoints.open_checkpoint(training.init_checkpoint))[0].arrays
    for path, array in start.items():
        np.testing.assert_array_equal(trained[path], array)  # the encoder is as it was
    assert np.abs(trained["tagger/layer_mix/mix"]).max() > 0.01

    # Without the flags, and with the encoder in place of the vectors.
    classifier_data.main(given())
    for name, value in scores(training).items():
        np.testing.assert_allclose(value, of_training[name], rtol=0, atol=2e-6)
    assert passes == [3, 5]
