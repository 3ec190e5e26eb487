"""The runs of a grid side by side, from files as the runs leave them."""

import json
import math
import pathlib
import re

import numpy as np
import pytest

from bert_tf.tasks.evaluation import Column, Evaluation, Part, Table
from bert_tf.tasks.scoring import calibration
from bert_tf.training.grid import results
from bert_tf.training.grid.results import Result, Results
from bert_tf.training.monitoring import evaluation_file
from bert_tf.training.report import grid_page, page
from bert_tf.training.report.grid_page import Line
from tests.reference.html_page import Page

STYLE = (pathlib.Path(page.__file__).parent / "templates" / "style.css").read_text()
SCORES = {(2e-5, 1): 0.5, (2e-5, 2): 0.75, (3e-5, 1): 0.7, (3e-5, 2): 0.675}


def make_run(directory, rate, score):
    """The files of a run of 8 updates in 2 epochs."""
    directory.mkdir(parents=True)
    lines = [{"step": 0, "time": 1.0, "event": "plan", "num_steps": 8}]
    lines += [{"step": step, "time": 2.0 + step, "loss": 1.0 / step} for step in range(1, 9)]
    for step, share in ((4, 0.5), (8, 1.0)):
        scores = {"f1": share * score, "loss": 0.5}
        lines.append({"step": step, "time": 9.0, "event": "evaluation", "metrics": scores})
    (directory / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    flags = {"learning_rate": rate, "num_train_epochs": 2.0, "task_name": "mrpc"}
    (directory / "flags.txt").write_text("".join(f"--{k}={v}\n" for k, v in flags.items()))
    (directory / "model.json").write_text('{"kind": "classify", "labels": ["no", "yes"]}')
    (directory / "eval_results.txt").write_text("best_global_step = 8\n")
    found = Evaluation(
        {"f1": score},
        [[3, 1], [2, 5]],
        calibration.of_labels(np.array([[0.75, 0.25]]), np.array([0])),
        [Table("Worst errors", "The surest.", [Column("Text")], [[(Part("<b>", "right"),)]])],
    )
    evaluation_file.write(str(directory), 8, found)


@pytest.fixture
def directory(tmp_path):
    """A grid of four runs with scores and one that failed."""
    runs = []
    for (rate, seed), score in SCORES.items():
        name = f"learning_rate={rate:g}+seed={seed}"
        make_run(tmp_path / "runs" / name, rate, score)
        metrics = {"f1": score, "loss": 0.5}
        values = {"learning_rate": rate}
        runs.append(Result(name=name, values=values, seed=seed, metrics=metrics, step=8, seconds=9))
    runs.append(Result(name="broken", values={"learning_rate": 1.0}, seed=1, error="<no memory>"))
    results.write(str(tmp_path), Results("f1", runs))
    (tmp_path / "flags.txt").write_text("--task_name=mrpc\n")
    (tmp_path / "model.json").write_text('{"kind": "classify", "task": "mrpc"}')
    return tmp_path


@pytest.fixture
def written(directory):
    return Page.of(page.write(str(directory)))


def test_points_have_their_mean_and_spread(written):
    """Of two scores, the deviation is their distance over the square root of 2."""
    cells = [text for text in written.texts_in("td") if text.strip()]
    assert cells[:5] == ["3e-5", "2", "0.6875", "0.018", "0.7"]
    assert cells[5:10] == ["2e-5", "2", "0.625", "0.18", "0.75"]
    assert len(written.with_class("svg", "spread")) == 2
    dots = [each for each in written.with_class("circle", "held-out") if each["r"] == "4"]
    assert [float(dot["cx"]) for dot in dots] == [186.0, 164.0, 10.0, 230.0]  # of 10 to 230
    assert "seed 2: 0.75" in written.texts_in("title")


def test_the_best_run_is_shown_with_its_answers_and_options(written):
    assert " learning_rate=2e-05+seed=2" in written.texts_in("p")
    wanted = ["Scores by point", "Learning curves", "Runs", "Failed runs"]
    wanted += ["Answers of the best run by label", "Calibration", "Worst errors"]
    assert written.texts_in("h2") == [*wanted, "Options of the best run"]
    assert written.texts_in("h1") == ["Classification: mrpc"]
    assert {"task_name", "random_seed", "broken", "After update"} <= set(written.texts_in("th"))
    assert "<no memory>" in written.texts_in("td")


def test_curves_of_all_runs_and_the_best_on_top(written):
    figures = [each["aria-label"] for each in written.with_class("svg", "curves")]
    assert figures == [
        "F1, held-out by epoch",
        "Loss, held-out by epoch",
        "Loss, training by epoch",
    ]
    kinds = [each["class"] for tag, each in written.tags if tag == "g"]
    assert kinds == ["run", "run", "run", "smooth"] * 3
    assert "learning_rate=2e-05+seed=2: last 0.75" in written.texts_in("title")


def test_it_refers_to_nothing_outside_and_every_class_has_a_style(directory):
    text = pathlib.Path(page.write(str(directory))).read_text(encoding="utf-8")
    assert re.search(r"https?:|url\(|@import| src=| href=|<script", text) is None
    used = {name for each in re.findall(r'class="([^"]*)"', text) for name in each.split()}
    assert used - set(re.findall(r"\.([a-z][\w-]*)", STYLE)) == set()


def test_without_the_files_of_the_runs_the_scores_remain(directory):
    for run in (directory / "runs").iterdir():
        for file in run.iterdir():
            file.unlink()
    written = Page.of(page.write(str(directory)))
    assert written.texts_in("h2") == ["Scores by point", "Runs", "Failed runs"]


def test_a_grid_whose_runs_all_failed(directory):
    results.write(str(directory), Results("f1", [Result(name="a", values={}, seed=1, error="x")]))
    assert Page.of(page.write(str(directory))).texts_in("h2") == ["Failed runs"]


def test_scores_that_are_not_a_number_are_left_out(directory):
    values = {"learning_rate": 1.0}
    runs = [
        Result(name=f"seed={seed}", values=values, seed=seed, metrics={"f1": score})
        for seed, score in ((1, math.nan), (2, 0.5))
    ]
    results.write(str(directory), Results("f1", runs))
    assert len(Page.of(page.write(str(directory))).with_class("svg", "spread")) == 1


def test_the_last_point_of_a_curve_is_at_its_last_epoch():
    epochs, values = np.array([1.0, 2.0]), np.array([0.25, 0.75])
    short = Line("short", epochs, values, is_best=False)
    long = Line("long", 2 * epochs, values, is_best=True)
    dots = re.findall(r'<circle cx="([\d.]+)"', grid_page.overlay("F1", [long, short], False))
    left, right = 58, 548
    wanted = [left + (right - left) * share for share in (0.25, 0.5, 0.5, 1.0)]
    assert [float(x) for x in dots] == pytest.approx(wanted, abs=0.06)
