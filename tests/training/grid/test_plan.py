"""Runs, their names and options; what may be added to a grid, and what makes it another one."""

import pytest

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.training.grid import plan
from bert_tf.training.grid.plan import PlannedRun


@pytest.fixture
def make(tmp_path):
    """`make(**flags)`: options of a grid in a directory."""
    given = {"init_checkpoint": "bert", "output_dir": str(tmp_path / "out"), "data_dir": "data"}
    given |= {"do_train": True, "do_eval": True, "task_name": "mrpc", "random_seed": 7}
    return lambda **flags: options.Classifier(**given | flags)


SIZE = "train_batch_size"
GRID = "train_batch_size=16,32;learning_rate=2e-5,3e-5"


def test_every_point_has_every_seed_and_the_first_seed_comes_first(make):
    found = plan.runs(make(grid=GRID, restarts=2))
    rates, sizes = ([run.values[name] for run in found] for name in ("learning_rate", SIZE))
    assert [run.seed for run in found] == [7, 7, 7, 7, 8, 8, 8, 8]
    assert rates == [2e-5, 2e-5, 3e-5, 3e-5] * 2
    assert sizes == [16, 32] * 4


def test_names_tell_values_and_not_how_they_were_written(make):
    (run,) = plan.runs(
        make(grid="train_batch_size=16;learning_rate=0.00003;adam_bias_correction=F")
    )
    assert run.name == "adam_bias_correction=false+learning_rate=3e-5+train_batch_size=16+seed=7"
    assert [run.name for run in plan.runs(make(restarts=2))] == ["seed=7", "seed=8"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3e-5, "3e-5"),
        (2.5e-5, "2.5e-5"),
        (1e-4, "1e-4"),
        (0.001, "0.001"),
        (0.0, "0"),
        (3.0, "3"),
        (0.5, "0.5"),
        (16, "16"),
    ]
    + [(True, "true"), ("lamb", "lamb"), (1e22, "1e22"), (1.23456789e-5, "1.23456789e-5")],
)
def test_values_as_text_keep_every_digit(value, text):
    assert plan.as_text(value) == text
    if isinstance(value, float):
        assert float(text) == value


def test_a_run_trains_and_evaluates_in_its_own_directory(make, tmp_path):
    given = make(grid=GRID, restarts=3, do_predict=True, parallel_runs=2, keep_all_runs=True)
    found = plan.options_of(given, PlannedRun({"learning_rate": 2e-5, "train_batch_size": 16}, 9))
    assert (found.learning_rate, found.train_batch_size, found.random_seed) == (2e-5, 16, 9)
    name = "learning_rate=2e-5+train_batch_size=16+seed=9"
    assert found.output_dir == str(tmp_path / "out" / "runs" / name)
    assert found.do_train and found.do_eval and not found.do_predict
    assert not found.has_grid


def test_a_grid_may_get_more_values_more_restarts_and_other_ways_to_run(make):
    plan.keep(make(grid="learning_rate=2e-5;train_batch_size=16"), "classify")
    more = make(grid=GRID, restarts=3, parallel_runs=2, log_steps=1, random_seed=1)
    plan.claim(more, "classify")
    other = [run.name for run in plan.runs(make(grid="learning_rate=1e-5;train_batch_size=16"))]
    assert plan.others([*other, plan.runs(more)[0].name], plan.runs(more)) == other


@pytest.mark.parametrize(
    ("flags", "difference"),
    [
        ({"grid": "learning_rate=2e-5"}, r"searched options is \['learning_rate', 'train_batch"),
        ({"grid": GRID, "num_train_epochs": 2.0}, "num_train_epochs is None there and 2.0 here"),
        ({"grid": GRID, "data_dir": "other"}, "data_dir is 'data' there and 'other' here"),
    ],
)
def test_another_grid_in_the_same_directory_is_refused(make, flags, difference):
    plan.keep(make(grid=GRID), "classify")
    with pytest.raises(InputError, match=f"holds another grid: {difference}.*new --output_dir"):
        plan.claim(make(**flags), "classify")


def test_the_grid_of_another_script_is_refused(make):
    plan.keep(make(grid=GRID), "classify")
    with pytest.raises(InputError, match="command is 'classify' there and 'squad' here"):
        plan.claim(make(grid=GRID), "squad")


def test_a_grid_and_a_single_run_exclude_each_other(make, tmp_path):
    (tmp_path / "out").mkdir()
    plan.claim(make(grid=GRID), "classify")
    plan.refuse_single_run(str(tmp_path / "out"))
    (tmp_path / "out" / "model.json").write_text("{}")
    with pytest.raises(InputError, match="holds a run that is not of a grid"):
        plan.claim(make(grid=GRID), "classify")
    plan.keep(make(grid=GRID), "classify")
    with pytest.raises(InputError, match="holds the runs of a grid. Give --grid"):
        plan.refuse_single_run(str(tmp_path / "out"))
