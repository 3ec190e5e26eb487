"""Scores of answers, and the best threshold of no answer, as the official SQuAD scripts count them.

evaluate-v1.1.py and evaluate-v2.0.py of the SQuAD web site; `benchmarks/tasks/squad_metrics.py`
compares with them.
"""

import collections
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bert_tf.errors import InputError
from bert_tf.examples.labelled import SpanExample

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
# A threshold is kept this far from the null odds that it was found at: scores that another program
# computes differ by less, and log-odds that differ by less mean the same.
_CLEARANCE = 0.01


def normalize_answer(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, words separated by one space.

    >>> normalize_answer("The  Amazon-basin, a river's")
    'amazonbasin rivers'
    """
    text = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(prediction: str, gold: str) -> float:
    """1.0 if both are the same once normalized, else 0.0."""
    return float(normalize_answer(prediction) == normalize_answer(gold))


def f1(prediction: str, gold: str) -> float:
    """F1 over normalized words, each counted as often as it occurs; 0.0 if none is shared."""
    return _f1_of_normalized(normalize_answer(prediction), normalize_answer(gold))


def _f1_of_normalized(prediction: str, gold: str) -> float:
    predicted, wanted = prediction.split(), gold.split()
    shared = sum((collections.Counter(predicted) & collections.Counter(wanted)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


class Score(NamedTuple):
    """How an answer agrees with the gold answer that is nearest to it; both from 0 to 1."""

    exact: float
    f1: float


def score(answer: str, golds: Iterable[str], version_2_with_negative: bool = False) -> Score:
    """Compares an answer with the gold answers of its question.

    In 2.0, gold answers that are empty once normalized do not count; without any other one, no
    answer is right. Two answers that are both empty once normalized have F1 1 there, and 0 in 1.1.

    Args:
      answer: "" for none.
      golds: texts of the gold answers; none: the score is 0 in 1.1.
      version_2_with_negative: whether by the rules of 2.0, not those of 1.1.
    """
    predicted = normalize_answer(answer)
    wanted = {normalize_answer(gold) for gold in set(golds)}
    if version_2_with_negative:
        wanted = wanted - {""} or {""}
        if not predicted or wanted == {""}:
            return Score(*[float(predicted in wanted)] * 2)
    overlaps = (_f1_of_normalized(predicted, each) for each in wanted)
    return Score(float(predicted in wanted), max(overlaps, default=0.0))


def scores(
    examples: Sequence[SpanExample],
    answers: Mapping[str, str],
    version_2_with_negative: bool = False,
) -> list[Score]:
    """The score of each question, in their order.

    Args:
      examples: with their gold answers.
      answers: by question id, "" for none. In 1.1, a question without an entry scores 0.
      version_2_with_negative: see `score`.

    Raises:
      InputError: in 1.1, a question has no gold answer; in 2.0, one has no entry in `answers`.
    """
    if version_2_with_negative:
        _require_entries(examples, answers, "prediction", 'Give "" where there is no answer.')
    found = []
    for example in examples:
        if not (example.answers or version_2_with_negative):
            raise InputError(
                f"Question {example.question_id} has no gold answer, so SQuAD 1.1 cannot score "
                "it. SQuAD 2.0 can: give --version_2_with_negative=true."
            )
        golds = (gold.text for gold in example.answers)
        answer = answers.get(example.question_id)
        found.append(
            Score(0.0, 0.0) if answer is None else score(answer, golds, version_2_with_negative)
        )
    return found


def _require_entries(
    examples: Sequence[SpanExample], values: Mapping[str, object], name: str, way_out: str
) -> None:
    if missing := [e.question_id for e in examples if e.question_id not in values]:
        raise InputError(
            f"{len(missing)} of {len(examples)} questions have no {name}, among them "
            f"{', '.join(missing[:3])}. {way_out}"
        )


def evaluate(
    examples: Sequence[SpanExample],
    predictions: Mapping[str, str],
    version_2_with_negative: bool = False,
) -> dict[str, float]:
    """Scores predictions by the rules of one of the two official scripts.

    Args:
      examples: with their gold answers.
      predictions: answers by question id, "" for none.
      version_2_with_negative: whether by the rules of 2.0, not those of 1.1.

    Returns:
      Percent or counts by the official script's keys. 1.1: exact_match and f1. 2.0:
      exact, f1, total, and the same for HasAns_ and NoAns_ questions where there are any.

    Raises:
      InputError: there is nothing to score by.
    """
    if not examples:
        raise InputError("There are no questions to score.")
    return (evaluate_v2 if version_2_with_negative else evaluate_v1)(examples, predictions)


def evaluate_v1(
    examples: Sequence[SpanExample], predictions: Mapping[str, str]
) -> dict[str, float]:
    """SQuAD 1.1: the best match of all gold answers; a question without prediction scores 0."""
    found = scores(examples, predictions)
    return {
        "exact_match": 100.0 * sum(each.exact for each in found) / len(examples),
        "f1": 100.0 * sum(each.f1 for each in found) / len(examples),
    }


def evaluate_v2(
    examples: Sequence[SpanExample], predictions: Mapping[str, str]
) -> dict[str, float]:
    """SQuAD 2.0: a question without gold answer is right if and only if nothing is predicted."""
    by_id = _scores_by_id(examples, predictions)
    has_answer = _has_answer(examples)
    groups = {
        "": list(by_id),
        "HasAns_": [key for key in by_id if has_answer[key]],
        "NoAns_": [key for key in by_id if not has_answer[key]],
    }
    results: dict[str, float] = {}
    for prefix, keys in groups.items():
        if keys:
            results[f"{prefix}exact"] = 100.0 * sum(by_id[key].exact for key in keys) / len(keys)
            results[f"{prefix}f1"] = 100.0 * sum(by_id[key].f1 for key in keys) / len(keys)
            results[f"{prefix}total"] = len(keys)
    return results


def _scores_by_id(examples: Sequence[SpanExample], answers: Mapping[str, str]) -> dict[str, Score]:
    """Scores of 2.0; of questions with one id the last one counts, as in the official script."""
    found = scores(examples, answers, version_2_with_negative=True)
    return {e.question_id: each for e, each in zip(examples, found, strict=True)}


def _has_answer(examples: Sequence[SpanExample]) -> dict[str, bool]:
    return {example.question_id: bool(example.answers) for example in examples}


def with_threshold(
    answers: Mapping[str, str], null_odds: Mapping[str, float], threshold: float
) -> dict[str, str]:
    """The answers, "" where the null odds of the question are above the threshold.

    Args:
      answers: by question id.
      null_odds: see `best_thresholds`.
      threshold: `--null_score_diff_threshold`.
    """
    return {key: "" if null_odds[key] > threshold else text for key, text in answers.items()}


def best_thresholds(
    examples: Sequence[SpanExample], answers: Mapping[str, str], null_odds: Mapping[str, float]
) -> dict[str, float]:
    """The thresholds that give the best scores on these questions, as evaluate-v2.0.py finds them.

    A question is answered if its null odds are not above the threshold. The search begins with no
    question answered and lets them be answered one by one, the smallest null odds first and equal
    ones in the order of `null_odds`; the first of the best scores counts. With equal null odds, the
    best score may thus be one that no threshold reaches, and the threshold is 0 where answering
    nothing is best. `threshold_to_keep` has neither of the two.

    Args:
      examples: with their gold answers.
      answers: by question id: the best answer of each, which competes with no answer. Those of
        predictions.json, where a threshold has already emptied some, are what the official script
        is given; then the result depends on that threshold.
      null_odds: by question id, score of no answer less that of the best answer (null_odds.json).

    Returns:
      best_exact and best_f1 in percent, best_exact_thresh and best_f1_thresh.

    Raises:
      InputError: a question has no answer or no null odds.
    """
    results: dict[str, float] = {}
    by_id = _searched_scores(examples, answers, null_odds)
    for name in Score._fields:
        values = {key: getattr(each, name) for key, each in by_id.items()}
        best, threshold = _search(values, _has_answer(examples), answers, null_odds)
        results[f"best_{name}"] = 100.0 * best / len(by_id)
        results[f"best_{name}_thresh"] = 0.0 if threshold is None else threshold
    return results


def _searched_scores(
    examples: Sequence[SpanExample], answers: Mapping[str, str], null_odds: Mapping[str, float]
) -> dict[str, Score]:
    if not examples:
        raise InputError("There are no questions to find a threshold with.")
    _require_entries(examples, null_odds, "null odds", "null_odds.json has them.")
    return _scores_by_id(examples, answers)


def _search(
    values: Mapping[str, float],
    has_answer: Mapping[str, bool],
    answers: Mapping[str, str],
    null_odds: Mapping[str, float],
) -> tuple[float, float | None]:
    """The best sum of `values`, and the threshold that gives it; None: nothing is answered."""
    total: float = sum(not each for each in has_answer.values())
    best, threshold = total, None
    for key in sorted(null_odds, key=null_odds.__getitem__):
        if key not in values:
            continue
        if has_answer[key]:
            total += values[key]
        elif answers[key]:
            total -= 1
        if total > best:
            best, threshold = total, null_odds[key]
    return best, threshold


def threshold_to_keep(
    examples: Sequence[SpanExample], answers: Mapping[str, str], null_odds: Mapping[str, float]
) -> float:
    """The threshold with the best F1, for a model to use from now on.

    It is a little above the null odds where `best_thresholds` finds the best F1, and decides the
    same for all of these questions. Otherwise one of them would have null odds equal to the
    threshold, and rounding would decide whether an exported model answers it. It is below all null
    odds where answering nothing is best. Questions with equal null odds are answered together.

    Args:
      examples, answers, null_odds: see `best_thresholds`.

    Raises:
      InputError: as `best_thresholds`.
    """
    by_id = _searched_scores(examples, answers, null_odds)
    has_answer = _has_answer(examples)
    gains: dict[float, float] = collections.defaultdict(float)
    for key, each in by_id.items():
        gains[null_odds[key]] += each.f1 if has_answer[key] else -float(bool(answers[key]))
    odds = sorted(gains)
    total = best = 0.0
    threshold, following = odds[0] - 2 * _CLEARANCE, odds[0]
    for index, value in enumerate(odds):
        total += gains[value]
        if total > best:
            best, threshold = total, value
            following = odds[index + 1] if index + 1 < len(odds) else value + 2 * _CLEARANCE
    return threshold + min((following - threshold) / 2, _CLEARANCE)
