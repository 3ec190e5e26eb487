"""Scores survive a restart, drop what is run again, and know the best."""

import json

import pytest

from bert_tf.training.monitoring.scores import Scores


@pytest.fixture
def scores(tmp_path):
    """Three evaluations of which the second is the best, the fourth as good as that."""
    scores = Scores(tmp_path, "f1")
    for step, f1 in ((10, 0.5), (20, 0.75), (30, 0.6), (40, 0.75)):
        scores.add(step, {"f1": f1, "loss": step / 10})
    scores.write()
    return scores


def test_before_the_first_evaluation(tmp_path):
    scores = Scores(tmp_path, "f1")
    assert (scores.best, scores.last, scores.results("eval_")) == (None, None, {})


def test_add_tells_whether_it_is_the_best_so_far_the_earlier_of_equals(tmp_path):
    scores = Scores(tmp_path, "f1")
    values = (0.5, 0.75, 0.6, 0.75, 0.8)
    found = [scores.add(step, {"f1": f1}) for step, f1 in enumerate(values, start=1)]
    assert found == [True, True, False, False, True]


@pytest.mark.parametrize("metric", ["loss", "mean_squared_error"])
def test_of_a_loss_the_lowest_is_the_best(tmp_path, metric):
    scores = Scores(tmp_path, metric)
    values = (2.0, 1.5, 1.5, 1.75, 1.25)
    found = [scores.add(step, {metric: each}) for step, each in enumerate(values, start=1)]
    assert found == [True, True, False, False, True]
    scores.forget_after(4)
    assert scores.best["step"] == 2


def test_what_is_no_number_is_the_worst(tmp_path):
    scores = Scores(tmp_path, "pearson")
    values = (float("nan"), -0.5, float("nan"), 0.25)
    found = [scores.add(step, {"pearson": each}) for step, each in enumerate(values, start=1)]
    assert found == [True, True, False, True]


def test_best_and_last(scores):
    assert scores.best == {"step": 20, "f1": 0.75, "loss": 2.0}
    assert scores.last == {"step": 40, "f1": 0.75, "loss": 4.0}


def test_results(scores):
    assert scores.results("eval_") == {
        "global_step": 40,
        "best_global_step": 20,
        "eval_f1": 0.75,
        "eval_loss": 4.0,
        "best_eval_f1": 0.75,
        "best_eval_loss": 2.0,
    }
    assert scores.results()["best_loss"] == 2.0


def test_results_leave_the_lines_as_they_are(scores):
    assert scores.results("eval_") == scores.results("eval_")
    assert scores.last["step"] == 40


def test_the_file_holds_a_line_for_each_evaluation(scores, tmp_path):
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 20, 30, 40]
    assert lines[1] == {"step": 20, "f1": 0.75, "loss": 2.0}


def test_a_restart_goes_on_where_the_state_was_saved(scores, tmp_path):
    again = Scores(tmp_path, "f1")
    assert again.last == scores.last
    again.forget_after(19)
    assert again.best["step"] == again.last["step"] == 10
    assert again.add(20, {"f1": 0.75, "loss": 2.0})  # so that its weights are saved again
    again.write()
    steps = [json.loads(line)["step"] for line in open(tmp_path / "scores.jsonl")]
    assert steps == [10, 20]


def test_forget_after_keeps_the_evaluation_at_the_saved_update(scores):
    scores.forget_after(30)
    assert scores.last["step"] == 30
