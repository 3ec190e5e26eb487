"""Exact match and F1 as the official SQuAD 1.1 and 2.0 evaluation scripts count them."""

import collections
import re
import string
from collections.abc import Mapping, Sequence

from bert_tf.errors import InputError
from bert_tf.examples.labelled import SpanExample

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


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
    predicted, wanted = normalize_answer(prediction).split(), normalize_answer(gold).split()
    shared = sum((collections.Counter(predicted) & collections.Counter(wanted)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


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
    total_exact = total_f1 = 0.0
    for example in examples:
        if not example.answers:
            raise InputError(
                f"Question {example.question_id} has no gold answer, so SQuAD 1.1 cannot score "
                "it. SQuAD 2.0 can: give --version_2_with_negative=true."
            )
        if (prediction := predictions.get(example.question_id)) is not None:
            total_exact += max(exact_match(prediction, gold.text) for gold in example.answers)
            total_f1 += max(f1(prediction, gold.text) for gold in example.answers)
    return {
        "exact_match": 100.0 * total_exact / len(examples),
        "f1": 100.0 * total_f1 / len(examples),
    }


def evaluate_v2(
    examples: Sequence[SpanExample], predictions: Mapping[str, str]
) -> dict[str, float]:
    """SQuAD 2.0: a question without gold answer is right if and only if nothing is predicted.

    Unlike in 1.1, two answers that are both empty once normalized have F1 1.
    """
    if missing := [e.question_id for e in examples if e.question_id not in predictions]:
        raise InputError(
            f"{len(missing)} of {len(examples)} questions have no prediction, among them "
            f'{", ".join(missing[:3])}. Give "" where there is no answer.'
        )
    exact: dict[str, float] = {}
    overlap: dict[str, float] = {}
    has_answer: dict[str, bool] = {}
    for example in examples:
        key, prediction = example.question_id, predictions[example.question_id]
        golds = [a.text for a in example.answers if normalize_answer(a.text)] or [""]
        exact[key] = max(exact_match(prediction, gold) for gold in golds)
        overlap[key] = max(_f1_or_both_empty(prediction, gold) for gold in golds)
        has_answer[key] = bool(example.answers)
    groups = {
        "": list(exact),
        "HasAns_": [key for key in exact if has_answer[key]],
        "NoAns_": [key for key in exact if not has_answer[key]],
    }
    results: dict[str, float] = {}
    for prefix, keys in groups.items():
        if keys:
            results[f"{prefix}exact"] = 100.0 * sum(exact[key] for key in keys) / len(keys)
            results[f"{prefix}f1"] = 100.0 * sum(overlap[key] for key in keys) / len(keys)
            results[f"{prefix}total"] = len(keys)
    return results


def _f1_or_both_empty(prediction: str, gold: str) -> float:
    if not normalize_answer(prediction) or not normalize_answer(gold):
        return exact_match(prediction, gold)
    return f1(prediction, gold)
