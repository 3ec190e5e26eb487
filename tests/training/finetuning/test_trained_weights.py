"""Weights that are evaluated later are scored under the names that the training would give them."""

import json
import os
import types

import keras
import pytest

from bert_tf import checkpoints
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.options import Classifier
from bert_tf.training import setup
from bert_tf.training.devices import strategies
from bert_tf.training.finetuning import trained_weights
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.resume import completion

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
METADATA = model_directory.ModelMetadata(
    kind="classify", task="t", labels=("x", "y", "z"), do_lower_case=True, max_seq_length=12
)
OPTIONS = Classifier(init_checkpoint="c", output_dir="o", data_dir="d", do_predict=True)
LINES = [{"step": 3, "f1": 0.75, "loss": 2.0}, {"step": 6, "f1": 0.5, "loss": 1.0}]


@pytest.fixture
def find(tmp_path):
    """`find(lines, *which, **options)`: of a directory with these scores and weights.

    The weights are told apart by the bias of the head: 1 for the last, 2 for the best ones.
    """
    vocab_file = tmp_path / "vocab.txt"
    vocab_file.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")

    def find(lines, *which, with_last=True):
        path = str(tmp_path / "run")
        directory = model_directory.create(path, CONFIG, str(vocab_file), METADATA)
        model = model_directory.new_model(CONFIG, METADATA)
        for name in which:
            model.classifier.bias.assign([{"last": 1.0, "best": 2.0}[name]] * 3)
            checkpoints.save(model, os.path.join(path, name))
        (tmp_path / "run" / "scores.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        if "last" in which:
            completion.finish(path, 6, keeps_states=False)
        inputs = types.SimpleNamespace(options=OPTIONS)
        strategy, scores = strategies.make("one_device"), Scores(path, "f1")
        found = trained_weights.find(inputs, directory, scores, strategy, with_last=with_last)
        return list(found)

    return find


def biases(found):
    return [float(weights.predictor.model.classifier.bias[0]) for weights in found]


def results(found):
    """What `results` gives where the last weights score f1 0.5 and the best ones 0.75."""
    named = {}
    for weights, bias in zip(found, biases(found), strict=True):
        named |= weights.results({"f1": {1.0: 0.5, 2.0: 0.75}[bias]}, "eval_")
    return named


def test_the_last_weights_come_before_the_best_ones(find):
    found = find(LINES, "last", "best")
    assert biases(found) == [1.0, 2.0]
    assert results(found) == {
        "global_step": 6,
        "eval_f1": 0.5,
        "best_global_step": 3,
        "best_eval_f1": 0.75,
    }


def test_only_the_best_weights_predict(find):
    found = find(LINES, "last", "best", with_last=False)
    assert biases(found) == [2.0]
    assert results(found) == {"best_global_step": 3, "best_eval_f1": 0.75}


def test_the_best_weights_may_be_the_last_ones(find):
    found = find([LINES[0], LINES[1] | {"f1": 1.0}], "last", "best")
    assert biases(found) == [2.0]
    assert found[0].results({"f1": 1.0}) == {
        "global_step": 6,
        "f1": 1.0,
        "best_global_step": 6,
        "best_f1": 1.0,
    }


@pytest.mark.parametrize("with_last", [True, False])
def test_a_run_without_a_dev_set_has_last_weights_only(find, with_last):
    found = find([], "last", with_last=with_last)
    assert results(found) == {"global_step": 6, "eval_f1": 0.5}


def test_a_killed_run_has_best_weights_only(find):
    assert results(find(LINES[:1], "best")) == {"best_global_step": 3, "best_eval_f1": 0.75}


def test_without_weights_those_of_the_checkpoint_are_taken(find, monkeypatch):
    model = keras.Model()
    monkeypatch.setattr(setup, "trained_model", lambda *_: model)
    (found,) = find([])
    assert found.predictor.model is model
    assert found.results({"f1": 0.5}) == {"global_step": 0, "f1": 0.5}
