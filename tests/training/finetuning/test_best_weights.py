"""What a full disk refuses of scores and best weights stays in memory as it was."""

import errno
import json

import numpy as np
import pytest

from bert_tf import checkpoints, files
from bert_tf.checkpoints import saving
from bert_tf.modeling.encoder import Encoder
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.training.finetuning.best_weights import BestWeights
from bert_tf.training.monitoring import evaluation_file
from bert_tf.training.monitoring.scores import Scores
from tests.modeling import harness


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def read(directory):
    checkpoint = checkpoints.open_checkpoint(directory / "best")
    return {name: checkpoint.read(name) for name in checkpoint.names}


def lines(directory):
    return [json.loads(line) for line in (directory / "scores.jsonl").read_text().splitlines()]


def test_scores_and_the_best_weights_are_on_the_disk_at_once(tmp_path):
    model = harness.randomize(Encoder(harness.config()))
    best = BestWeights(str(tmp_path), Scores(str(tmp_path), "f1"))
    assert best.add(3, Evaluation({"f1": 0.5}), model)
    wanted = read(tmp_path)
    harness.randomize(model, seed=11)
    assert not best.add(5, Evaluation({"f1": 0.25}), model)
    assert [line["step"] for line in lines(tmp_path)] == [3, 5]
    assert evaluation_file.read(tmp_path)["metrics"] == {"f1": 0.5}  # of the best weights
    for name, array in read(tmp_path).items():
        np.testing.assert_array_equal(array, wanted[name])
    best.finish()


def test_what_is_kept_in_memory_is_not_what_the_variables_become(tmp_path, monkeypatch, capsys):
    model = harness.randomize(Encoder(harness.config()))
    wanted = {name: array.copy() for name, array in saving.to_arrays(model).items()}
    best = BestWeights(str(tmp_path), Scores(str(tmp_path), "f1"))
    with monkeypatch.context() as context:
        context.setattr(saving, "write_tensors", full)
        assert best.add(3, Evaluation({"f1": 0.5}), model)
        harness.randomize(model, seed=11)
        assert not best.add(5, Evaluation({"f1": 0.25}), model)
        assert not best.write()
        with pytest.raises(OSError, match="No space"):
            best.finish()
    assert not (tmp_path / "best").exists() and not (tmp_path / "scores.jsonl").exists()
    num_bytes = sum(array.nbytes for array in wanted.values())
    errors = capsys.readouterr().err
    assert errors.count("WARNING: the disk is full") == 3
    assert f"({num_bytes / 1000:.3g} kB are needed" in errors
    assert best.write()
    found = read(tmp_path)
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array, wanted[name])
    assert [line["step"] for line in lines(tmp_path)] == [3, 5]


def test_scores_that_do_not_fit_are_written_later(tmp_path, monkeypatch):
    best = BestWeights(str(tmp_path), Scores(str(tmp_path), "f1"))
    model = harness.randomize(Encoder(harness.config()))
    best.add(2, Evaluation({"f1": 0.5}), model)
    with monkeypatch.context() as context:
        context.setattr(files, "write_text", full)
        assert not best.add(3, Evaluation({"f1": 0.25}), model)
    assert [line["step"] for line in lines(tmp_path)] == [2]
    assert best.write()
    assert [line["step"] for line in lines(tmp_path)] == [2, 3]


def test_other_errors_are_raised(tmp_path, monkeypatch):
    best = BestWeights(str(tmp_path), Scores(str(tmp_path), "f1"))
    monkeypatch.setattr(saving, "write_tensors", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        best.add(3, Evaluation({"f1": 0.5}), harness.randomize(Encoder(harness.config())))
