"""Means, deviations and the best run; files for programs, a table for people."""

import csv
import dataclasses
import json
import math
import statistics

import pytest

from bert_tf.errors import InputError
from bert_tf.training.grid import results
from bert_tf.training.grid.results import Result, Results


def run(rate, seed, f1=None, **more):
    metrics = {} if f1 is None else {"f1": f1, "loss": 0.5}
    return Result(
        name=f"learning_rate={rate}+seed={seed}",
        values={"learning_rate": rate},
        seed=seed,
        metrics=metrics,
        step=0 if f1 is None else 10,
        seconds=2.25,
        **more,
    )


SCORES = {(2e-5, 1): 0.70, (3e-5, 1): 0.75, (2e-5, 2): 0.90, (3e-5, 2): 0.875}
FOUND = Results("f1", [run(rate, seed, f1) for (rate, seed), f1 in SCORES.items()])


def test_points_have_mean_and_sample_deviation_and_the_highest_mean_is_first():
    first, second = FOUND.points
    assert (first.values, first.scores) == ({"learning_rate": 3e-5}, {1: 0.75, 2: 0.875})
    assert first.mean == pytest.approx((0.75 + 0.875) / 2)
    assert second.deviation == pytest.approx(statistics.stdev([0.70, 0.90]))


def test_the_best_run_need_not_be_of_the_best_point():
    assert FOUND.best.name == "learning_rate=2e-05+seed=2"


def test_of_equal_runs_the_first_is_the_best():
    equal = Results("f1", [run(1, 1, 0.5), run(2, 1, 0.5)])
    assert equal.best is equal.runs[0]


def test_of_a_loss_the_lowest_is_the_best():
    found = Results("loss", [run(1, 1, 0.5), run(2, 1, 0.75)])
    losses = [{"loss": 0.5}, {"loss": 0.25}]
    pairs = zip(found.runs, losses, strict=True)
    found = Results("loss", [dataclasses.replace(each, metrics=loss) for each, loss in pairs])
    assert found.best is found.runs[1]
    assert [point.mean for point in found.points] == [0.25, 0.5]


def test_nan_is_never_the_best():
    found = Results("f1", [run(1, 1, math.nan), run(2, 1, -0.5)])
    assert found.best is found.runs[1]
    assert [point.values["learning_rate"] for point in found.points] == [2, 1]


def test_failed_runs_count_for_nothing():
    found = Results("f1", [run(1, 1, 0.5), run(1, 2, error="no memory"), run(2, 1, error="x")])
    assert [len(point.scores) for point in found.points] == [1]
    assert found.points[0].deviation is None
    assert [(each.values["learning_rate"], each.seed) for each in found.failed] == [(1, 2), (2, 1)]
    assert Results("f1", [run(1, 1, error="x")]).best is None


def test_a_run_that_is_made_again_replaces_its_result():
    failed = Results("f1", [run(1, 1, error="x"), run(2, 1, 0.5)])
    found = failed.with_run(run(1, 1, 0.25)).with_run(run(3, 1, 0.75))
    assert [(each.values["learning_rate"], each.is_complete) for each in found.runs] == [
        (1, True),
        (2, True),
        (3, True),
    ]


def test_what_is_written_is_read_again(tmp_path):
    found = FOUND.with_run(run(1, 1, math.nan)).with_run(run(1, 2, error="no\nmemory"))
    assert results.read(tmp_path) is None
    results.write(tmp_path, found)
    again = results.read(tmp_path)
    assert again.main_metric == "f1"
    assert [each.name for each in again.complete] == [each.name for each in found.complete]
    assert math.isnan(again.get("learning_rate=1+seed=1").metrics["f1"])
    assert again.runs[:4] == found.runs[:4]

    text = (tmp_path / "grid_results.json").read_text()
    content = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert content["best"] == "learning_rate=2e-05+seed=2"
    of_points = [(each["runs"], each["best"]) for each in content["points"]]
    assert of_points == [(2, 0.875), (2, 0.9), (1, None)]


def test_the_table_has_a_row_for_each_run_with_the_spread_of_its_point(tmp_path):
    results.write(tmp_path, FOUND.with_run(run(1, 2, error="no\nmemory")))
    with open(tmp_path / "grid_results.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["learning_rate"] for row in rows] == ["2e-5", "3e-5", "2e-5", "3e-5", "1"]
    assert [float(row["f1"]) for row in rows[:4]] == list(SCORES.values())
    assert float(rows[0]["mean_f1"]) == pytest.approx(0.8)
    assert float(rows[2]["std_f1"]) == pytest.approx(statistics.stdev([0.70, 0.90]))
    assert (rows[4]["f1"], rows[4]["mean_f1"], rows[4]["error"]) == ("", "", "no memory")


def test_a_table_for_people():
    assert results.table(FOUND).splitlines() == [
        "  learning_rate  mean    std    f1 of each run",
        "  3e-5           0.8125  0.088  0.75 0.875",
        "  2e-5           0.8     0.14   0.7 0.9",
    ]
    seeds = [Result(name="seed=1", values={}, seed=1, metrics={"f1": 0.5})]
    assert results.table(Results("f1", seeds)).split() == ["f1", "0.5"]
    seeds.append(Result(name="seed=2", values={}, seed=2, metrics={"f1": 0.5}))
    assert results.table(Results("f1", seeds)).splitlines()[1].split() == ["0.5", "0", "0.5", "0.5"]


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2, "runs": []}', '{"format": 1}'])
def test_a_damaged_file_is_refused_with_a_way_out(tmp_path, text):
    (tmp_path / "grid_results.json").write_text(text)
    with pytest.raises(InputError, match="grid_results.json cannot be read .*Remove it"):
        results.read(tmp_path)
