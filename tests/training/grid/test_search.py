"""A grid from start to end: runs are made once, compared and gone on with; the best is the model.

Runs are made at once, by writing what a training leaves; tests/end_to_end/test_grid.py trains one.
"""

import json
import os
import pathlib
import re
import signal

import pytest

from bert_tf import options
from bert_tf.errors import InputError, UnfinishedError
from bert_tf.training.grid import search
from bert_tf.training.resume.interrupt import Interrupted

GRID = "learning_rate=1e-4,3e-3;train_batch_size=4"
NAMES = [
    f"learning_rate={rate}+train_batch_size=4+seed={seed}"
    for seed in (1, 2)
    for rate in ("1e-4", "0.003")
]
ACCURACIES = dict(zip(NAMES, (0.5, 0.625, 0.875, 0.75), strict=True))


class Child:
    """Makes a run at once; `made` has the names of all runs, `fails` those of runs that fail."""

    made, fails = [], set()
    has_ended, share_done = True, 1.0

    def __init__(self, command, options, environment):
        assert (command, environment) == ("classify", {})
        self.directory, self.error = options.output_dir, ""
        directory = pathlib.Path(options.output_dir)
        self.made.append(directory.name)
        if directory.name in self.fails:
            self.error = "no memory"
            return
        for which in ("best", "last"):
            (directory / which).mkdir(parents=True)
            (directory / which / "bert_model.ckpt.index").write_text(directory.name)
        (directory / "model.json").write_text(f'{{"kind": "classify", "task": "{directory.name}"}}')
        (directory / "flags.txt").write_text("--a=1\n")
        score = ACCURACIES.get(directory.name, 0.25)
        lines = [{"step": 3, "accuracy": score / 2}, {"step": 6, "accuracy": score}]
        (directory / "scores.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))

    def ask_to_end(self):
        pass

    def wait(self):
        pass


class Grid:
    """A directory, and what a script is asked for while it makes the runs of a grid."""

    def __init__(self, path):
        self.path, self.checked, self.started = path, [], []

    def run(self, **changes):
        values = {"output_dir": str(self.path), "data_dir": "data", "task_name": "sst-2"}
        values |= {"init_checkpoint": "bert", "do_train": True, "do_eval": True}
        values |= {"grid": GRID, "restarts": 2, "random_seed": 1}
        script = search.Script("classify", self.check, self.started.append)
        search.run(options.Classifier(**values | changes), script)

    def check(self, given):
        self.checked.append(given)
        return "accuracy"

    @property
    def results(self):
        return json.loads((self.path / "grid_results.json").read_text())


@pytest.fixture
def grid(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "Child", Child)
    monkeypatch.setattr(Child, "made", [])
    monkeypatch.setattr(Child, "fails", set())
    monkeypatch.setattr("bert_tf.training.grid.children._SECONDS_BETWEEN_LOOKS", 0.0)
    return Grid(tmp_path / "out")


def test_the_best_run_is_the_model_of_the_grid(grid, capsys):
    grid.run()
    assert Child.made == NAMES
    assert (grid.results["main_metric"], grid.results["best"]) == ("accuracy", NAMES[2])
    assert [run["metrics"]["accuracy"] for run in grid.results["runs"]] == list(ACCURACIES.values())
    assert {run["step"] for run in grid.results["runs"]} == {6}
    assert (grid.path / "best/bert_model.ckpt.index").read_text() == NAMES[2]
    assert NAMES[2] in (grid.path / "model.json").read_text()
    assert "Scores by point" in (grid.path / "report.html").read_text()
    assert "--restarts=2" in (grid.path / "flags.txt").read_text()
    printed = capsys.readouterr().out
    assert f"Run 3 of 4, {NAMES[2]}: accuracy 0.875, " in printed
    assert f"Best run: {NAMES[2]}, accuracy 0.875 after step 6; " in printed
    for name in NAMES:
        has_weights = (grid.path / "runs" / name / "best").exists()
        assert has_weights == (name == NAMES[2])


def test_all_runs_keep_their_weights_if_that_is_asked_for(grid):
    grid.run(keep_all_runs=True)
    assert all((grid.path / "runs" / name / "last").is_dir() for name in NAMES)


def test_the_data_is_checked_once_with_the_options_of_a_run(grid):
    grid.run()
    (given,) = grid.checked
    assert given.output_dir == str(grid.path / "runs" / NAMES[0])
    assert (given.learning_rate, given.random_seed, given.has_grid) == (1e-4, 1, False)


def test_wrong_data_is_refused_before_anything_is_written(grid):
    def refuse(given):
        raise InputError("no such file")

    grid.check = refuse
    with pytest.raises(InputError, match="no such file"):
        grid.run()
    assert Child.made == [] and not grid.path.exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_one_process_makes_a_grid(grid, monkeypatch, workers):
    cluster = {"cluster": {"worker": [f"host{i}:1" for i in range(workers)]}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    if workers == 1:
        grid.run()
    else:
        with pytest.raises(InputError, match="TF_CONFIG names 2. Unset it"):
            grid.run()


def test_a_failed_run_does_not_end_the_others_and_is_tried_again(grid, capsys):
    Child.fails = {NAMES[2]}
    message = f"1 of 4 runs failed: {re.escape(NAMES[2])}.*tries them again"
    with pytest.raises(UnfinishedError, match=message):
        grid.run()
    assert Child.made == NAMES
    assert grid.results["best"] == NAMES[3]
    assert f"Run 3 of 4, {NAMES[2]}: failed: no memory (" in capsys.readouterr().out
    Child.fails = set()
    grid.run()
    assert Child.made[4:] == [NAMES[2]]
    assert [run["name"] for run in grid.results["runs"]] == NAMES
    assert (grid.path / "best/bert_model.ckpt.index").read_text() == NAMES[2]


def test_a_grid_without_a_good_run_has_no_model(grid):
    Child.fails = set(NAMES)
    with pytest.raises(UnfinishedError, match="4 of 4 runs failed"):
        grid.run(do_predict=True)
    assert grid.results["best"] is None and grid.started == []
    assert not (grid.path / "best").exists()


def test_complete_runs_are_not_made_again_and_the_data_is_not_read(grid):
    grid.run()
    grid.checked.clear()
    grid.run()
    assert len(Child.made) == 4 and grid.checked == []


def test_more_values_and_more_restarts_make_only_the_new_runs(grid, capsys):
    grid.run()
    grid.run(grid=f"{GRID},8", restarts=3)
    new = set(Child.made[4:])
    assert len(Child.made) == 12 and not new & set(NAMES)
    assert len(grid.results["points"]) == 4
    capsys.readouterr()
    grid.run(grid="learning_rate=1e-5;train_batch_size=4", restarts=1)
    assert len(Child.made) == 13
    assert "Runs of earlier starts, which count too: 12" in capsys.readouterr().out
    assert grid.results["best"] == NAMES[2]


def test_the_best_model_predicts_with_the_options_of_its_run(grid):
    grid.run(do_predict=True)
    (given,) = grid.started
    assert given.output_dir == str(grid.path)
    assert (given.do_train, given.do_eval, given.do_predict) == (False, False, True)
    assert (given.learning_rate, given.random_seed, given.has_grid) == (1e-4, 2, False)


def test_when_told_to_end_the_grid_stops_and_goes_on_later(grid, capsys, monkeypatch):
    made = []

    class Interrupting(Child):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)
            if len(made) == 2:
                os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(search, "Child", Interrupting)
    with pytest.raises(Interrupted):
        grid.run()
    assert [run["name"] for run in grid.results["runs"]] == NAMES[:1]
    assert "The same command goes on." in capsys.readouterr().err
    for directory in (grid.path / "runs" / NAMES[1] / which for which in ("best", "last")):
        (directory / "bert_model.ckpt.index").unlink()
        directory.rmdir()  # the run has saved a state, and no weights
    monkeypatch.setattr(search, "Child", Child)
    grid.run()
    assert Child.made[2:] == NAMES[1:]
    assert grid.results["best"] == NAMES[2]


def test_the_time_left_counts_what_this_start_has_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    work = search._Work([2.0, 4.0])
    assert work.seconds_left is None

    class AtWork:
        share_done = 0.5  # when it is first looked at, because an earlier start has done so much

    child = AtWork()
    work.update({0: child})
    assert work.seconds_left is None
    now[0], child.share_done = 110.0, 1.0
    work.update({0: child})
    work.end(0)
    assert work.seconds_left == pytest.approx(10.0 * 4.0 / 1.0)  # an epoch in 10 s, 4 are left
    assert work.shares == []
