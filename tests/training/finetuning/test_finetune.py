"""Fine-tuning keeps the best and the last weights, and a restart the scores."""

import json
import os
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf import checkpoints, features
from bert_tf.checkpoints import model_directory, saving
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples.rows import Rows
from bert_tf.options import Classifier
from bert_tf.tasks import registry
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.training import setup
from bert_tf.training.devices import strategies
from bert_tf.training.finetuning import finetune
from bert_tf.training.finetuning.predict import Predictor
from bert_tf.training.inputs import Inputs
from bert_tf.training.resume import completion, state_files

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
PATHS = {"data_dir": "d", "task_name": "t", "bert_config_file": "c", "vocab_file": "v"}


def options(output_dir="o", **changes):
    values = {
        "do_train": True,
        "train_batch_size": 4,
        "learning_rate": 1e-2,
        "num_micro_batches": 1,
    }
    return Classifier(**PATHS, output_dir=str(output_dir), **values | changes)


def rows(num_rows=11):
    rng = np.random.default_rng(5)
    word_ids = [rng.integers(1, 7, rng.integers(3, 12)).tolist() for _ in range(num_rows)]
    labels = {features.LABEL_IDS.name: rng.integers(0, 3, num_rows).astype(np.int32)}
    return Rows(word_ids, [[0] * len(row) for row in word_ids], labels)


class CutOff(Exception):
    """Ends a run as a kill does."""


class DevSet:
    """Gives the scores it is told to, and keeps the weights that it sees."""

    def __init__(self, *scores):
        self.scores = list(scores)
        self.seen = []

    def __call__(self, predictor):
        score = self.scores.pop(0)
        self.seen.append(weights(predictor.model))
        return Evaluation({"f1": score, "loss": 1 - score})


class CopyingDevSet(DevSet):
    """In evaluation `number`, from 1, copies what a kill would leave of the run."""

    def __init__(self, directory, copy, number, *scores):
        super().__init__(*scores)
        self.directory, self.copy, self.number = directory, copy, number

    def __call__(self, predictor):
        if len(self.seen) + 1 == self.number:
            shutil.copytree(self.directory, self.copy)
        return super().__call__(predictor)


def mirrored(num_replicas):
    return tf.distribute.MirroredStrategy([f"cpu:{number}" for number in range(num_replicas)])


def weights(model):
    return {variable.path: variable.numpy() for variable in model.variables}


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.fixture
def train(tmp_path):
    """Runs `finetune.train` in a directory; returns (scores, opened directory)."""
    vocab_file = tmp_path / "vocab.txt"
    vocab_file.write_text("\n".join(TOKENS) + "\n")
    metadata = model_directory.ModelMetadata(
        kind="classify", task="t", labels=("x", "y", "z"), do_lower_case=True, max_seq_length=12
    )
    tf.config.experimental.enable_op_determinism()

    def run(evaluate, strategy=None, name="run", main_metric="f1", **changes):
        keras.utils.set_random_seed(3)
        path = str(tmp_path / name)
        directory = model_directory.create(path, CONFIG, str(vocab_file), metadata)
        given = options(path, **changes)
        start = given.init_checkpoint and checkpoints.open_checkpoint(given.init_checkpoint)
        inputs = Inputs(given, CONFIG, directory.vocabulary, str(vocab_file), start)
        run = setup.Run(inputs, strategy or strategies.make("one_device"), directory)
        scores = finetune.train(run, rows(), registry.REGISTRY["cola"], main_metric, evaluate)
        return scores, directory

    return run


@pytest.mark.parametrize(
    ("num_rows", "epochs", "wanted"),
    [(11, 3.0, (3, 9, 2)), (12, 3.0, (3, 9, 2)), (13, 2.0, (4, 8, 2)), (11, 1.5, (3, 4, 1))]
    + [(3, 0.1, (1, 1, 0))],
)
def test_num_steps(num_rows, epochs, wanted):
    found = finetune.num_steps(num_rows, options(num_train_epochs=epochs, warmup_proportion=0.25))
    assert found == wanted


def test_the_best_and_the_last_weights_are_kept(train):
    dev_set = DevSet(0.5, 0.75, 0.25)
    scores, directory = train(dev_set)
    first, second, third = dev_set.seen
    assert any(np.any(first[name] != second[name]) for name in first)
    assert_same(weights(directory.build_model("best")), second)
    assert_same(weights(directory.build_model("last")), third)
    assert scores.results("eval_") == {
        "global_step": 9,
        "best_global_step": 6,
        "eval_f1": 0.25,
        "eval_loss": 0.75,
        "best_eval_f1": 0.75,
        "best_eval_loss": 0.25,
    }


def test_the_end_is_scored_where_it_is_not_the_end_of_an_epoch(train):
    scores, _ = train(DevSet(0.5, 0.75), num_train_epochs=1.5)
    assert scores.last["step"] == 4


def test_without_a_dev_set_there_are_no_best_weights(train):
    scores, directory = train(None, num_train_epochs=1.0)
    assert scores.results() == {}
    assert not os.path.exists(os.path.join(directory.path, "best"))
    assert directory.weights("best") == directory.weights("last")
    # Now with one.
    dev_set = DevSet(0.25)
    scores, _ = train(dev_set, num_train_epochs=1.0)
    assert scores.results()["best_f1"] == scores.results()["f1"] == 0.25
    assert_same(dev_set.seen[0], weights(directory.build_model("best")))


def test_a_run_killed_in_an_evaluation_ends_as_if_it_had_not_been(train, tmp_path):
    straight = CopyingDevSet(tmp_path / "straight", tmp_path / "run", 3, 0.5, 0.75, 0.5)
    train(straight, name="straight", save_checkpoints_steps=5)
    # From update 5 on: the score after update 3 stays, the one after 6 is made again.
    again = DevSet(0.25, 0.125)
    scores, directory = train(again, save_checkpoints_steps=5)
    assert [again.scores, scores.best["step"], scores.last["step"]] == [[], 3, 9]
    for found, wanted in zip(again.seen, straight.seen[1:], strict=True):
        assert_same(found, wanted)
    assert_same(weights(directory.build_model("last")), straight.seen[-1])


def states(directory):
    return [saved.step for saved in state_files.listed(os.path.join(directory.path, "training"))]


def test_a_complete_run_keeps_no_optimizer_state_and_is_not_trained_again(train, capsys):
    scores, directory = train(DevSet(0.5), num_train_epochs=1.0)
    shown = capsys.readouterr().out
    assert "11 examples in batches of 4, 3 steps per epoch, 3 steps in all" in shown
    assert "google-research/bert makes 2 steps" in shown  # int(11 / 4 * 1.0)
    assert states(directory) == []
    before = weights(directory.build_model("last"))
    again, _ = train(DevSet(), num_train_epochs=1.0)
    assert "complete after step 3" in capsys.readouterr().out
    assert again.results() == scores.results()
    assert_same(weights(directory.build_model("last")), before)


def test_a_run_killed_at_its_end_is_complete(train, monkeypatch):
    def kill(*_, **__):
        raise CutOff

    for module, function in ((completion, "finish"), (state_files, "remove_all")):
        with monkeypatch.context() as patch:
            patch.setattr(module, function, kill)
            with pytest.raises(CutOff):
                train(None, num_train_epochs=1.0)
    _, directory = train(None, num_train_epochs=1.0)
    assert states(directory) == []
    assert completion.num_updates(directory.path) == 3


def test_a_run_of_version_0_1_0_goes_on_only_if_it_is_complete(train):
    _, directory = train(None, num_train_epochs=1.0, keep_training_state=True)
    assert states(directory) == [3]
    path = os.path.join(directory.path, "training", "identity.json")
    with open(path) as file:
        identity = json.load(file)
    assert identity.pop("dropout_masks")
    with open(path, "w") as file:
        json.dump(identity | {"batch_pieces": 4}, file)
    os.remove(os.path.join(directory.path, "training", completion.NAME))
    train(None, num_train_epochs=1.0, keep_training_state=True)
    shutil.rmtree(os.path.join(directory.path, "last"))
    os.remove(os.path.join(directory.path, "training", completion.NAME))
    with pytest.raises(InputError, match="version 0.1.0 began it, which drew other dropout masks"):
        train(None, num_train_epochs=1.0)


def test_a_restart_may_have_other_replicas_and_micro_batches(train, tmp_path):
    """With dropout; the update is the same one however its batch is cut."""
    wanted = CopyingDevSet(tmp_path / "straight", tmp_path / "run", 1, 0.5, 0.5)
    train(wanted, name="straight", num_train_epochs=2.0, save_checkpoints_steps=2)
    found = DevSet(0.5, 0.5)
    train(found, mirrored(2), num_train_epochs=2.0, num_micro_batches=3)
    for seen, expected in zip(found.seen, wanted.seen, strict=True):
        for name, value in expected.items():
            np.testing.assert_allclose(seen[name], value, rtol=0, atol=1e-6, err_msg=name)


def test_the_model_is_traced_once_for_all_evaluations(train, monkeypatch):
    traced = []
    forward = Predictor._logits

    def counted(self, inputs):
        traced.append(self)
        return forward(self, inputs)

    monkeypatch.setattr(Predictor, "_logits", counted)

    def evaluate(predictor):
        predictor.logits(rows(7), 3)  # a short last batch, and other lengths in each
        return Evaluation({"f1": 0.5})

    train(evaluate)
    assert len(traced) == 1


def test_options_that_change_the_course_are_refused_and_do_not_replace_those_of_the_run(train):
    _, directory = train(None, num_train_epochs=1.0)
    flags = os.path.join(directory.path, "flags.txt")
    with open(flags) as file:
        before = file.read()
    assert "--learning_rate=0.01\n" in before and "--num_train_epochs=1.0\n" in before
    with pytest.raises(InputError, match="learning_rate is 0.01 there and 0.02 here"):
        train(None, num_train_epochs=1.0, learning_rate=2e-2)
    with open(flags) as file:
        assert file.read() == before


def test_a_batch_that_the_replicas_cannot_share_is_refused(train):
    with pytest.raises(InputError, match="--train_batch_size=6 is not a multiple of the 4"):
        train(None, strategies.make("mirrored"), train_batch_size=6)


def test_write_results_sorts_the_metrics_and_shows_them_rounded(tmp_path, capsys):
    finetune.write_results(tmp_path, {"loss": 7.7417067414630925, "f1": 0.25, "global_step": 12345})
    text = "f1 = 0.25\nglobal_step = 12345\nloss = 7.74170674\n"
    assert (tmp_path / "eval_results.txt").read_text() == text
    shown = "Evaluation:\n  f1 = 0.25\n  global_step = 12,345\n  loss = 7.742\n"
    assert capsys.readouterr().out == shown


class Disk:
    """`saving.write` on a disk that is full for a while."""

    def __init__(self, monkeypatch):
        self.is_full, self._write = True, saving.write
        monkeypatch.setattr(saving, "write", self)

    def __call__(self, *arguments):
        if self.is_full:
            raise tf.errors.ResourceExhaustedError(None, None, "best; No space left on device")
        self._write(*arguments)


class DevSetThatMakesRoom(DevSet):
    """Before its last evaluation somebody makes room."""

    def __call__(self, predictor):
        self.disk.is_full = len(self.scores) > 1
        return super().__call__(predictor)


def test_best_weights_that_a_full_disk_refuses_are_written_later(train, monkeypatch, capsys):
    """Those after step 3 of 9."""
    dev_set = DevSetThatMakesRoom(0.75, 0.5, 0.25)
    dev_set.disk = Disk(monkeypatch)
    scores, directory = train(dev_set, save_checkpoints_steps=2)
    errors = capsys.readouterr().err
    assert "WARNING: the disk is full; " in errors and "/best or scores.jsonl" in errors
    assert "keeps them in memory, and saves no training state" in errors
    assert_same(weights(directory.build_model("best")), dev_set.seen[0])
    assert_same(weights(directory.build_model("last")), dev_set.seen[2])
    assert (scores.best["step"], scores.last["step"]) == (3, 9)


def test_a_disk_that_stays_full_ends_the_run_and_keeps_the_state_before(train, monkeypatch):
    dev_set = DevSet(0.25, 0.5, 0.75)
    disk = Disk(monkeypatch)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        train(dev_set, save_checkpoints_steps=2)
    assert len(dev_set.seen) == 3
    disk.is_full = False
    again = DevSet(0.25, 0.5, 0.75)
    scores, directory = train(again, save_checkpoints_steps=2)
    assert_same(weights(directory.build_model("last")), dev_set.seen[2])
    assert_same(weights(directory.build_model("best")), dev_set.seen[2])
    assert scores.best["step"] == 9
