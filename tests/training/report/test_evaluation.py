"""Tables of held-out data: by update, last against best weights, answers by label."""

import pytest

from bert_tf.training.monitoring.history import History
from bert_tf.training.report import evaluation
from bert_tf.training.report.run_files import Run


def line(step, metrics, **details):
    return {"step": step, "time": 1.0, "event": "evaluation", "metrics": metrics} | details


LINES = [
    line(4, {"accuracy": 0.75, "loss": 0.5}, confusion=[[3, 1], [0, 0]]),
    line(8, {"accuracy": 0.5, "loss": 0.25}, confusion=[[2, 2], [0, 0]]),
]
RESULTS = {
    "best_eval_accuracy": "0.75",
    "best_eval_loss": "0.5",
    "best_global_step": "4",
    "eval_accuracy": "0.5",
    "eval_loss": "0.25",
    "global_step": "1200",
}


def run(lines=LINES, results=RESULTS, labels=("no", "yes")):
    return Run(
        config={},
        metadata={"labels": list(labels)},
        flags={},
        results=results,
        history=History(list(lines)),
        records=[],
    )


def test_by_update():
    assert evaluation.by_update(History(LINES)) == {
        "header": ["After update", "Accuracy", "Loss"],
        "rows": [["4", "75 %", "0.5"], ["8", "50 %", "0.25"]],
    }
    assert evaluation.by_update(History([])) == {}


def test_last_and_best_weights_stand_side_by_side():
    assert evaluation.last_and_best(RESULTS) == {
        "header": [
            "Metric",
            "Last weights, after update 1,200",
            "Best weights, after update 4",
        ],
        "rows": [["Accuracy", "50 %", "75 %"], ["Loss", "0.25", "0.5"]],
    }


@pytest.mark.parametrize("left_out", ["", "best_", "eval_", "global_step"])
def test_one_set_of_weights_has_nothing_to_stand_next_to(left_out):
    results = {name: x for name, x in RESULTS.items() if not name.startswith(left_out)}
    assert evaluation.last_and_best(results) == {}


def test_answers_by_label_are_those_of_the_best_weights():
    assert evaluation.confusion(run()) == {
        "step": "4",
        "header": ["Label", "Recall", "Precision", "answered no", "answered yes"],
        # 3 of the 4 examples; all 3 answers. No example has the other label.
        "rows": [["no", "75 %", "100 %", "3", "1"], ["yes", "", "0 %", "0", "0"]],
    }


def test_without_best_weights_the_answers_are_those_of_the_last_ones():
    assert evaluation.confusion(run(results={}))["step"] == "8"


@pytest.mark.parametrize(
    "changes",
    [{"lines": []}, {"lines": [line(4, {"f1": 0.5})]}, {"labels": ()}, {"labels": ("a", "b", "c")}],
)
def test_a_run_without_counts_by_label(changes):
    assert evaluation.confusion(run(**changes)) == {}
