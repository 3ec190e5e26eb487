"""The best run's weights become the grid's without a copy; losers lose theirs."""

import os
import pathlib

import pytest

from bert_tf.training.grid import best_model
from bert_tf.training.grid.results import Result, Results


@pytest.fixture
def grid(tmp_path):
    """A directory with two runs."""
    for name in ("a", "b"):
        for which in ("best", "last"):
            folder = tmp_path / "runs" / name / which
            folder.mkdir(parents=True)
            (folder / "bert_model.ckpt.index").write_text(f"{name} {which}")
        (tmp_path / "runs" / name / "model.json").write_text(name)
    return tmp_path


def weights(directory):
    return (directory / "best" / "bert_model.ckpt.index").read_text()


def test_the_weights_are_linked_and_the_next_best_replaces_them(grid):
    best_model.place(str(grid), "a")
    assert weights(grid) == "a best" and (grid / "model.json").read_text() == "a"
    name = "best/bert_model.ckpt.index"
    assert os.path.samefile(grid / name, grid / "runs/a" / name)
    before = (grid / "best").stat().st_ino
    best_model.place(str(grid), "a")
    assert (grid / "best").stat().st_ino == before  # nothing to do

    best_model.place(str(grid), "b")
    assert weights(grid) == "b best" and (grid / "model.json").read_text() == "b"
    assert weights(grid / "runs/a") == "a best"


def test_without_links_the_weights_are_copied(grid, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    best_model.place(str(grid), "a")
    assert weights(grid) == "a best"


def test_a_grid_whose_runs_were_removed_keeps_its_model(grid):
    best_model.place(str(grid), "a")
    pathlib.Path(grid / "runs/a/best/bert_model.ckpt.index").unlink()
    pathlib.Path(grid / "runs/a/best").rmdir()
    best_model.place(str(grid), "a")
    assert weights(grid) == "a best"


def test_only_the_best_run_keeps_its_weights(grid):
    def run(name, f1):
        metrics = {} if f1 is None else {"f1": f1}
        return Result(name=name, values={}, seed=1, metrics=metrics)

    best_model.remove_others(str(grid), Results("f1", [run("a", 0.5), run("b", None)]))
    assert (grid / "runs/a/best").is_dir() and (grid / "runs/b/best").is_dir()  # b may go on
    best_model.remove_others(str(grid), Results("f1", [run("a", 0.5), run("b", 0.75)]))
    assert os.listdir(grid / "runs/a") == ["model.json"]
    assert (grid / "runs/b/best").is_dir() and (grid / "runs/b/last").is_dir()
