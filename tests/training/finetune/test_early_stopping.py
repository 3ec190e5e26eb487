"""Evaluations every few updates may end a training, which is then complete."""

import json
import os

import pytest

from bert_tf.tasks.evaluation import Evaluation
from bert_tf.training.monitoring import history
from bert_tf.training.resume import completion, state_files
from bert_tf.training.step.loop import Loop
from tests.training import test_finetune as runs

train = runs.train
# Nine updates in all; an evaluation after every second one and after the last.
EVERY_2 = {"do_eval": True, "eval_steps": 2}
# The scores after updates 2, 4, 6 and 8: the last two do not reach that after update 4.
STOPPING = EVERY_2 | {"early_stopping_patience": 2}
SCORES = (0.5, 0.75, 0.7, 0.6)


def test_evaluations_come_every_few_updates_and_at_the_end(train):
    scores, directory = train(runs.DevSet(0.1, 0.2, 0.3, 0.4, 0.5), **EVERY_2)
    assert [line["step"] for line in scores.lines] == [2, 4, 6, 8, 9]
    assert completion.early_end(directory.path) is None


@pytest.fixture
def ended(train):
    """(dev set with the weights seen, scores, directory) of a run that ended early."""
    dev_set = runs.DevSet(*SCORES)
    return (dev_set, *train(dev_set, name="ended", **STOPPING))


def assert_ended_as(found, ended):
    scores, directory = found
    dev_set, wanted, _ = ended
    assert scores.results() == wanted.results()
    assert completion.early_end(directory.path) == 8
    runs.assert_same(runs.weights(directory.build_model("last")), dev_set.seen[3])
    runs.assert_same(runs.weights(directory.build_model("best")), dev_set.seen[1])
    assert state_files.listed(os.path.join(directory.path, "training")) == []


def test_a_training_ends_after_evaluations_without_a_better_score(capsys, ended):
    dev_set, scores, directory = ended
    assert (scores.last["step"], scores.best["step"]) == (8, 4)
    assert_ended_as((scores, directory), ended)
    reason = "in 2 evaluations in a row, f1 never rose above 0.75, the score after step 4"
    assert f"Early stopping after step 8 of 9: {reason}." in capsys.readouterr().out
    log = history.read(os.path.join(directory.path, history.NAME))
    (end,) = log.events("end")
    assert (end["step"], end["num_steps"], end["early_stopping"]) == (8, 9, reason)
    assert log.state == "complete"


def test_the_same_command_trains_nothing_again(ended, train, capsys):
    found = train(runs.DevSet(), name="ended", **STOPPING)
    assert_ended_as(found, ended)
    shown = capsys.readouterr().out
    assert "complete after step 8; it ended early, because in 2 evaluations in a row" in shown


def test_a_run_killed_in_an_evaluation_ends_where_it_would_have(ended, train):
    with pytest.raises(runs.CutOff):
        train(runs.DevSet(0.5, 0.75, runs.CutOff), save_checkpoints_steps=5, **STOPPING)
    found = train(runs.DevSet(0.7, 0.6), save_checkpoints_steps=5, **STOPPING)
    assert_ended_as(found, ended)


@pytest.mark.parametrize(("owner", "name"), [(Loop, "save_weights"), (completion, "finish")])
def test_a_run_killed_after_it_ended_is_not_trained_on(ended, train, monkeypatch, owner, name):
    def kill(*_, **__):
        raise runs.CutOff

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, kill)
        with pytest.raises(runs.CutOff):
            train(runs.DevSet(*SCORES), **STOPPING)
    assert_ended_as(train(runs.DevSet(), **STOPPING), ended)


def test_of_a_loss_the_lowest_is_the_best(train):
    losses = [2.0, 1.0, 1.5, 1.25]
    scores, _ = train(
        lambda _: Evaluation({"f1": 0.5, "loss": losses.pop(0)}),
        main_metric="loss",
        best_metric="loss",
        **STOPPING,
    )
    assert (scores.best["step"], scores.last["step"]) == (4, 8)


def test_the_flags_that_end_a_run_are_part_of_its_identity(train, tmp_path):
    train(runs.DevSet(*SCORES), **STOPPING)
    with pytest.raises(runs.InputError, match="early_stopping is .*'patience': 2.* there and None"):
        train(runs.DevSet(), **EVERY_2)
    with open(tmp_path / "run" / "training" / "identity.json") as file:
        wanted = {"patience": 2, "min_delta": 0.0, "eval_steps": 2}
        assert json.load(file)["early_stopping"] == wanted
