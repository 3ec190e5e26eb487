"""Exact match and F1 against values worked out by hand from the official scripts' rules."""

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.tasks import squad_metrics


def question(question_id, *answers):
    return SpanExample(
        question_id, "x", "y", tuple(Answer(a, 0) for a in answers), is_impossible=not answers
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Amazon River", "amazon river"),
        ("a  cat,\nan owl\u00a0and the dog", "cat owl and dog"),
        ("theatre another", "theatre another"),
        ("O'Neill's U.S.A.", "oneills usa"),
        ("20–30 “quoted”", "20–30 “quoted”"),  # only ASCII punctuation goes
        ("the-end", "theend"),  # punctuation first, then articles
        ("A!", ""),
        ("", ""),
    ],
)
def test_normalize_answer(text, expected):
    assert squad_metrics.normalize_answer(text) == expected


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("the red house", "A red house", 1.0),
        ("red house", "red", 2 * (1 / 2) * 1 / (1 / 2 + 1)),
        ("red red house", "red house house", 2 / 3),
        ("blue", "red", 0.0),
        ("the", "an", 0.0),  # nothing left to share, although both read the same
    ],
)
def test_f1(prediction, gold, expected):
    assert squad_metrics.f1(prediction, gold) == pytest.approx(expected)
    assert squad_metrics.f1(gold, prediction) == pytest.approx(expected)


def test_v1_takes_the_best_gold_answer_and_scores_missing_predictions_zero():
    examples = [question("1", "Oslo", "in Oslo"), question("2", "red house"), question("3", "x")]
    results = squad_metrics.evaluate(examples, {"1": "In Oslo!", "2": "house"})
    assert results == {
        "exact_match": pytest.approx(100 / 3),
        "f1": pytest.approx(100 * (1 + 2 / 3) / 3),
    }


def test_v1_scores_an_empty_normal_form_as_exact_but_without_f1():
    results = squad_metrics.evaluate([question("1", "the")], {"1": "a"})
    assert results == {"exact_match": 100.0, "f1": 0.0}


def test_v1_counts_repeated_ids_each_time():
    examples = [question("1", "red"), question("1", "blue")]
    assert squad_metrics.evaluate(examples, {"1": "red"})["exact_match"] == 50.0


def test_v2_splits_by_whether_there_is_an_answer():
    examples = [question("1", "red house"), question("2", "Oslo"), question("3"), question("4")]
    predictions = {"1": "house", "2": "", "3": "", "4": "Oslo"}
    results = squad_metrics.evaluate(examples, predictions, version_2_with_negative=True)
    assert results == {
        "exact": 25.0,
        "f1": pytest.approx(100 * (2 / 3 + 1) / 4),
        "total": 4,
        "HasAns_exact": 0.0,
        "HasAns_f1": pytest.approx(100 * (2 / 3) / 2),
        "HasAns_total": 2,
        "NoAns_exact": 50.0,
        "NoAns_f1": 50.0,
        "NoAns_total": 2,
    }


def test_v2_leaves_out_a_group_without_questions():
    results = squad_metrics.evaluate_v2([question("1", "red")], {"1": "red"})
    assert list(results) == ["exact", "f1", "total", "HasAns_exact", "HasAns_f1", "HasAns_total"]


def test_v2_empty_normal_forms():
    # A gold answer that is empty once normalised does not count; then "" is the right answer.
    results = squad_metrics.evaluate_v2([question("1", "the"), question("2")], {"1": "", "2": "a."})
    assert (results["exact"], results["f1"], results["HasAns_f1"]) == (100.0, 100.0, 100.0)


def test_what_cannot_be_scored():
    with pytest.raises(InputError, match="no questions"):
        squad_metrics.evaluate([], {})
    with pytest.raises(
        InputError, match="Question 1 has no gold answer.*--version_2_with_negative"
    ):
        squad_metrics.evaluate([question("1")], {"1": "x"})
    with pytest.raises(InputError, match="1 of 2 questions have no prediction, among them 2"):
        squad_metrics.evaluate([question("1"), question("2")], {"1": ""}, True)
