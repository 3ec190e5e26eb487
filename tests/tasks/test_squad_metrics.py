"""Exact match and F1 against values worked out by hand from the official scripts' rules."""

import random

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


def test_scores_of_each_question():
    examples = [question("1", "red house", "red"), question("2"), question("1", "blue")]
    answers = {"1": "the Red", "2": ""}
    found = squad_metrics.scores(examples, answers, version_2_with_negative=True)
    assert found == [(1.0, 1.0), (1.0, 1.0), (0.0, 0.0)]
    # In 1.1, the F1 of two empty answers is 0.
    assert squad_metrics.score("", ["the"]) == (1.0, 0.0)
    assert squad_metrics.score("", ["the"], version_2_with_negative=True) == (1.0, 1.0)
    assert squad_metrics.score("red", []) == (0.0, 0.0)


@pytest.fixture
def searched():
    """Questions, the best answer to each, and null odds that no two of them share.

    Answered one after the other in the order 1, 3, 2, 4, 5, the sums of exact match are 2 (no
    question answered), 3, 3, 2, 1, 2, those of F1 2, 3, 3 2/3, 2 2/3, 1 2/3, 2 2/3.
    """
    examples = [
        *(question("1", "red"), question("2"), question("3", "red house"), question("4")),
        question("5", "Oslo"),
    ]
    answers = {"1": "Red", "2": "x", "3": "house", "4": "y", "5": "Oslo"}
    return examples, answers, {"5": 4.0, "4": 3.0, "3": -0.5, "2": 0.75, "1": -2.0}


def test_the_best_thresholds(searched):
    assert squad_metrics.best_thresholds(*searched) == {
        "best_exact": 60.0,
        "best_exact_thresh": -2.0,
        "best_f1": pytest.approx(100 * (3 + 2 / 3) / 5),
        "best_f1_thresh": -0.5,
    }


def test_the_best_thresholds_of_answers_that_a_threshold_has_emptied(searched):
    """Without a wrong answer to 2 and 4, nothing speaks against answering 5: 4 2/3 of 5."""
    examples, answers, null_odds = searched
    found = squad_metrics.best_thresholds(examples, answers | {"2": "", "4": ""}, null_odds)
    assert (found["best_f1"], found["best_f1_thresh"]) == (pytest.approx(100 * 14 / 15), 4.0)


def test_null_odds_of_other_questions_and_equal_ones():
    """Equal odds are taken in their order, although no threshold lies between them."""
    examples, answers = [question("1", "red"), question("2")], {"1": "red", "2": "x"}
    best = {"best_exact": 100.0, "best_exact_thresh": 0.5, "best_f1": 100.0, "best_f1_thresh": 0.5}
    odds = {"other": 0.25, "1": 0.5, "2": 0.5}
    assert squad_metrics.best_thresholds(examples, answers, odds) == best
    none = {"best_exact": 50.0, "best_exact_thresh": 0.0, "best_f1": 50.0, "best_f1_thresh": 0.0}
    odds = {"2": 0.5, "1": 0.5}
    assert squad_metrics.best_thresholds(examples, answers, odds) == none
    # Nothing is answered below the smallest odds.
    assert squad_metrics.threshold_to_keep(examples, answers, odds) == pytest.approx(0.49)


def test_the_threshold_to_keep_is_between_null_odds(searched):
    examples, answers, null_odds = searched
    assert squad_metrics.threshold_to_keep(*searched) == pytest.approx(-0.49)
    close = null_odds | {"2": -0.498}
    assert squad_metrics.threshold_to_keep(examples, answers, close) == pytest.approx(-0.499)
    last = null_odds | {"2": 9.0, "4": 9.5}
    assert squad_metrics.threshold_to_keep(examples, answers, last) == pytest.approx(4.01)
    last = {"1": 1.0}
    assert squad_metrics.threshold_to_keep(examples[:1], answers, last) == pytest.approx(1.01)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decimals", [0, 9])
def test_no_threshold_is_better_than_the_best(seed, decimals):
    """Against the scores at every threshold; with no decimals, many null odds are equal."""
    rng = random.Random(seed)
    words = ("red", "house", "red house", "Oslo")
    examples = [question(str(i), *rng.sample(words, rng.choice((0, 1, 2)))) for i in range(40)]
    answers = {str(i): rng.choice((*words, "")) for i in range(40)}
    null_odds = {str(i): round(rng.gauss(0.0, 3.0), decimals) for i in range(40)}

    def at(threshold):
        kept = squad_metrics.with_threshold(answers, null_odds, threshold)
        return squad_metrics.evaluate_v2(examples, kept)

    every = [at(threshold) for threshold in (-99.0, *null_odds.values())]
    best = {name: max(each[name] for each in every) for name in ("exact", "f1")}
    to_keep = squad_metrics.threshold_to_keep(examples, answers, null_odds)
    assert at(to_keep)["f1"] == pytest.approx(best["f1"])
    assert to_keep not in null_odds.values()
    found = squad_metrics.best_thresholds(examples, answers, null_odds)
    for name in ("exact", "f1"):
        assert found[f"best_{name}"] >= best[name] - 1e-9
        if decimals:
            assert found[f"best_{name}"] == pytest.approx(best[name])
            threshold = found[f"best_{name}_thresh"]
            if best[name] == every[0][name]:  # of no question answered
                assert threshold == 0.0
            else:
                assert at(threshold)[name] == pytest.approx(best[name])


def test_the_threshold_of_predictions():
    answers, null_odds = {"1": "a", "2": "b", "3": ""}, {"1": 0.5, "2": 0.75, "3": 0.0}
    assert squad_metrics.with_threshold(answers, null_odds, 0.5) == {"1": "a", "2": "", "3": ""}


def test_a_threshold_needs_questions_with_null_odds():
    with pytest.raises(InputError, match="no questions to find a threshold"):
        squad_metrics.best_thresholds([], {}, {})
    with pytest.raises(InputError, match="1 of 1 questions have no null odds, among them 1"):
        squad_metrics.best_thresholds([question("1")], {"1": ""}, {})
    with pytest.raises(InputError, match="no prediction"):
        squad_metrics.threshold_to_keep([question("1")], {}, {"1": 0.0})
