"""Scores at thresholds, counted by hand."""

import dataclasses

import numpy as np
import pytest

from bert_tf.tasks.scoring import abstention
from bert_tf.tasks.scoring.abstention import Outcomes

THIRD = 1 / 3
# Answered in the order of their odds: right, partly right, wrong twice where there is no answer,
# right; the last one has nothing to answer, and there is no answer.
SIX = Outcomes(
    odds=np.array([-2.0, -0.5, 0.75, 3.0, 4.0, 1e6]),
    has_candidate=np.array([True] * 5 + [False]),
    exact=np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    f1=np.array([1.0, 2 * THIRD, 0.0, 0.0, 1.0, 0.0]),
    none_is_right=np.array([0.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
    has_answer=np.array([True, True, False, False, True, False]),
)


def column(table, name):
    (index,) = [i for i, each in enumerate(table.columns) if each.name == name]
    return [row[index] for row in table.rows]


def test_the_scores_at_each_threshold():
    table = abstention.by_null_odds(SIX, threshold=0.0)
    assert column(table, "Threshold") == ["no answers", -2.0, -0.5, 0.0, 0.75, 3.0, 4.0]
    assert column(table, "Comment") == ["", "", "best F1", "used", "", "", ""]
    assert column(table, "Answered") == pytest.approx([n / 6 for n in (0, 1, 2, 2, 3, 4, 5)])
    assert column(table, "Exact match") == pytest.approx([n / 6 for n in (3, 4, 4, 4, 3, 2, 3)])
    f1 = (3, 4, 4 + 2 * THIRD, 4 + 2 * THIRD, 3 + 2 * THIRD, 2 + 2 * THIRD, 3 + 2 * THIRD)
    assert column(table, "F1") == pytest.approx([n / 6 for n in f1])
    assert column(table, "Precision")[0] == ""
    assert column(table, "Precision")[1:] == pytest.approx([1, 1 / 2, 1 / 2, THIRD, 1 / 4, 2 / 5])
    recall = [0.0, THIRD, THIRD, THIRD, THIRD, THIRD, 2 * THIRD]
    assert column(table, "Recall") == pytest.approx(recall)
    assert table.diagram.marks == ((2, "best F1"), (3, "used"))
    assert [table.columns[i].name for i in (table.diagram.x, *table.diagram.lines)] == [
        *("Answered", "F1", "Exact match", "Precision", "Recall")
    ]


def test_the_best_threshold_may_be_the_one_used():
    table = abstention.by_null_odds(SIX, threshold=-0.5)
    assert column(table, "Comment") == ["", "", "best F1, used", "", "", ""]
    assert table.diagram.marks == ((2, "best F1, used"),)


def test_questions_with_equal_odds_are_answered_together():
    together = dataclasses.replace(SIX, odds=np.array([1.0, 2.0, 1.0, 3.0, 4.0, 1e6]))
    assert together.best_threshold == 2.0  # neither 1 is better than nothing, 2 is by 2/3
    assert SIX.best_threshold == -0.5


def test_where_nothing_should_be_answered():
    wrong = dataclasses.replace(SIX, exact=np.zeros(6), f1=np.zeros(6))
    assert wrong.best_threshold == -np.inf
    table = abstention.by_null_odds(wrong, threshold=0.0)
    assert column(table, "Comment")[:2] == ["best F1", ""]
    assert table.diagram.marks[0] == (0, "best F1")
    nothing = dataclasses.replace(SIX, has_candidate=np.zeros(6, bool))
    assert nothing.thresholds() == [] and nothing.best_threshold == -np.inf
    rows = abstention.by_null_odds(nothing, threshold=0.0).rows
    assert rows == [
        ["no answers", "best F1", 0.0, 0.5, 0.5, "", 0.0],
        [0.0, "used", 0.0, 0.5, 0.5, "", 0.0],
    ]


def test_many_thresholds_are_tenths_of_the_answers():
    many = Outcomes(
        odds=np.arange(1000.0)[::-1],
        has_candidate=np.ones(1000, bool),
        exact=np.ones(1000),
        f1=np.ones(1000),
        none_is_right=np.zeros(1000),
        has_answer=np.ones(1000, bool),
    )
    assert many.thresholds() == [99, 199, 299, 399, 499, 599, 699, 799, 899, 999]
    shares = column(abstention.by_null_odds(many, 999.0), "Answered")
    assert shares == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])


def test_the_surest_answers():
    outcomes = Outcomes(
        odds=np.array([-0.5, -0.875, 0.0, -0.5]),
        has_candidate=np.array([True, True, False, True]),
        exact=np.array([0.0, 1.0, 0.0, 1.0]),
        f1=np.array([0.5, 1.0, 0.0, 1.0]),
        none_is_right=np.zeros(4),
        has_answer=np.ones(4, bool),
    )
    table = abstention.by_probability(outcomes)
    assert table.rows == [
        [0.875, 0.25, 1.0, 1.0],
        [0.5, 0.75, pytest.approx(2 / 3), pytest.approx(2.5 / 3)],
    ]
    assert table.diagram.x == 1 and table.columns[table.diagram.lines[0]].name == "F1"
