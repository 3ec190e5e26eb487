"""Evaluations every few updates may end a training, which is then complete."""

import os
import types

import pytest

from bert_tf.training.finetuning import finetune
from bert_tf.training.monitoring import history
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.resume import completion, state_files
from bert_tf.training.step.loop import Loop
from tests.training.finetuning import test_finetune as runs

train = runs.train
# Of nine updates, an evaluation after every second one and after the last. The last two of these
# scores, after updates 6 and 8, do not reach that after update 4.
FLAGS = {"do_eval": True, "eval_steps": 2, "early_stopping_patience": 2}
SCORES = (0.5, 0.75, 0.7, 0.6)
REASON = "f1 did not rise above 0.75, the score after step 4, in 2 evaluations in a row"


def killed(*_, **__):
    """Stands for a function in which the process is killed."""
    raise runs.CutOff


def assert_ended(found, dev_set):
    """The run made eight updates, left the weights of a straight run and nothing to go on from."""
    scores, directory = found
    assert [line["step"] for line in scores.lines] == [2, 4, 6, 8]
    assert (scores.best["step"], completion.early_end(directory.path)) == (4, 8)
    runs.assert_same(runs.weights(directory.build_model("last")), dev_set.seen[3])
    runs.assert_same(runs.weights(directory.build_model("best")), dev_set.seen[1])
    assert state_files.listed(os.path.join(directory.path, "training")) == []


def test_a_training_ends_early_and_a_killed_one_at_the_same_update(
    train, monkeypatch, capsys, tmp_path
):
    straight = runs.CopyingDevSet(tmp_path / "run", tmp_path / "killed", 3, *SCORES)
    flags = FLAGS | {"save_checkpoints_steps": 5}
    found = train(straight, **flags)
    assert_ended(found, straight)
    assert f"Early stopping after step 8 of 9: {REASON}." in capsys.readouterr().out
    log = history.read(os.path.join(found[1].path, history.NAME))
    (end,) = log.events("end")
    assert (end["step"], end["num_steps"], end["early_stopping"]) == (8, 9, REASON)
    assert log.state == "complete"

    # The same command trains nothing again.
    assert_ended(train(runs.DevSet(), **flags), straight)
    assert f"complete after step 8; it ended early, because {REASON}" in capsys.readouterr().out

    # Killed in the evaluation after update 6, then behind the last one, before the weights are
    # written and before the run is marked: every start decides as the straight run did.
    flags["name"] = "killed"
    for dev_set, owner, name in (
        (runs.DevSet(0.7, 0.6), Loop, "save_weights"),
        (runs.DevSet(), completion, "finish"),
    ):
        with monkeypatch.context() as patch, pytest.raises(runs.CutOff):
            patch.setattr(owner, name, killed)
            train(dev_set, **flags)
    assert_ended(train(runs.DevSet(), **flags), straight)


def test_other_processes_evaluate_nothing_and_end_where_the_chief_does(monkeypatch, tmp_path):
    told = []

    class Workers:
        is_chief = False

        def __init__(self, strategy):
            pass

        def any(self, flag):
            told.append(flag)
            return True

    monkeypatch.setattr(finetune, "Workers", Workers)
    monkeypatch.setattr(finetune.Predictor, "of_run", lambda *_: None)
    run = types.SimpleNamespace(
        inputs=types.SimpleNamespace(options=runs.options(**FLAGS)), strategy=None
    )
    loop = types.SimpleNamespace(model=None)
    scores = Scores(str(tmp_path), "f1")
    evaluations = finetune._Evaluations(
        loop, run, finetune.Steps(3, 9, 0), scores, None, runs.DevSet()
    )
    assert [evaluations.after_update(step) for step in (1, 2)] == [False, True]
    assert told == [False]
