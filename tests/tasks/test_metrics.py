"""The table of metrics: which task can have which, and their scores together."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tasks import metrics
from bert_tf.tasks.metrics import CHOICES, LABEL_SETS, LABELS, METRICS, TAGS, VALUES


def test_every_metric_suits_some_task_and_says_what_it_is():
    for name, metric in METRICS.items():
        assert set(metric.answers) <= {LABELS, CHOICES, LABEL_SETS, VALUES, TAGS}, name
        assert metric.answers and metric.meaning[0] != " " and metric.meaning[-1] != ".", name
        assert not (metric.is_of_probabilities and VALUES in metric.answers), name


def test_less_is_better_for_losses_and_errors():
    worse = {name for name in METRICS if not metrics.more_is_better(name)}
    assert worse == {"log_loss", "mean_squared_error", "mean_absolute_error"}
    assert not metrics.more_is_better("loss")
    assert metrics.more_is_better("exact")


def test_the_metrics_that_each_form_of_answers_can_have():
    averages = {
        f"{average}_{name}"
        for average in ("macro", "micro", "weighted")
        for name in ("f1", "precision", "recall")
    }
    ranks = {"roc_auc", "average_precision", "log_loss"}
    several = {"accuracy", "balanced_accuracy", "matthews"} | averages | ranks
    assert set(metrics.possible(LABELS, 3)) == several
    assert set(metrics.possible(LABELS, 2)) == several | {"f1", "precision", "recall"}
    assert set(metrics.possible(LABELS)) == several | {"f1", "precision", "recall"}
    assert set(metrics.possible(LABEL_SETS, 5)) == averages | ranks | {"exact_match"}
    assert set(metrics.possible(CHOICES)) == {"accuracy", "log_loss"}
    assert set(metrics.possible(VALUES)) == {
        *("pearson", "spearman", "mean_squared_error", "mean_absolute_error")
    }
    assert set(metrics.possible(TAGS, 9)) == {
        *("entity_f1", "entity_precision", "entity_recall", "entity_macro_f1"),
        *("strict_entity_f1", "token_accuracy"),
    }


@pytest.mark.parametrize(
    ("names", "answers", "num_labels", "message"),
    [
        (["pearson", "roc_auc"], VALUES, 0, "'roc_auc' is for labels or sets of labels, and the "),
        (["f1"], LABELS, 3, "'f1' needs two labels, and there are 3. Possible are: accuracy, "),
        (["f1"], TAGS, 9, "the answers are tags. Possible are: entity_f1, "),
        (["macrof1"], LABELS, 3, "no metric 'macrof1'. Did you mean macro_f1?"),
        (["zzz"], CHOICES, 4, "no metric 'zzz'. Possible are: accuracy, log_loss."),
    ],
)
def test_check_refuses_what_a_task_cannot_have(names, answers, num_labels, message):
    with pytest.raises(InputError, match="^Task x: ") as caught:
        metrics.check(names, answers, num_labels, "Task x")
    assert message in str(caught.value)


def test_evaluate_gives_the_metrics_in_the_order_of_their_names():
    results = metrics.evaluate(["f1", "accuracy"], [1, 1, 0, 0], [1, 0, 0, 0])
    assert results == {"f1": pytest.approx(2 / 3), "accuracy": 0.75}
    assert list(results) == ["f1", "accuracy"]
    assert all(type(value) is float for value in results.values())
    results = metrics.evaluate(["spearman"], [1, 2, 3], [1.0, 2.0, 4.0])
    assert results["spearman"] == pytest.approx(1.0)
    results = metrics.evaluate(["entity_f1"], [["B-X", "O"], ["O"]], [["B-X", "O"], ["I-X"]])
    assert results == {"entity_f1": pytest.approx(2 / 3)}
    results = metrics.evaluate(["exact_match"], [[True, False], [True, True]], [[1, 0], [0, 1]])
    assert results == {"exact_match": 0.5}


def test_metrics_of_probabilities_need_probabilities():
    names, references = ["roc_auc", "accuracy"], [0, 1, 0]
    assert list(metrics.evaluate(names, [0, 1, 1], references)) == ["accuracy"]
    chances = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    results = metrics.evaluate(names, [0, 1, 1], references, chances)
    assert results == {"roc_auc": 0.5, "accuracy": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("answers", "references", "message"),
    [
        ([1, 0], [1], r"shape \(2,\), references \(1,\)"),
        ([], [], r"N of at least 1"),
        ([[[1]]], [[[1]]], r"shape \(1, 1, 1\)"),
        ([1.0, np.nan], [1.0, 0.0], "an answer that is not a finite number"),
    ],
)
def test_evaluate_refuses_arrays(answers, references, message):
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(["accuracy"], answers, references)


def test_evaluate_refuses_probabilities_of_other_rows():
    with pytest.raises(ValueError, match=r"shape \(1, 2\); wanted \[2 C\]"):
        metrics.evaluate(["log_loss"], [1, 0], [1, 0], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="a probability that is not a finite number"):
        metrics.evaluate(["log_loss"], [1], [1], [[0.5, np.inf]])


def test_evaluate_refuses_tags_of_other_words():
    with pytest.raises(ValueError, match="1 sentences with 1 tags, and references of 1 with 2"):
        metrics.evaluate(["entity_f1"], [["O"]], [["O", "O"]])
    with pytest.raises(ValueError, match="at least one"):
        metrics.evaluate(["entity_f1"], [[]], [[]])
