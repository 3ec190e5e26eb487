"""What a report shows of the answers to questions about passages."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.tasks import squad_metrics
from bert_tf.tasks.evaluation import Cell, Column, Evaluation, Table
from bert_tf.tasks.scoring import abstention, calibration, excerpts
from bert_tf.tasks.scoring.abstention import Outcomes
from bert_tf.tasks.scoring.excerpts import Mark
from bert_tf.tasks.squad import Prediction
from bert_tf.tasks.squad_metrics import Score

NUM_WRONG, NUM_RIGHT = 20, 5  # answers in a table
_NO_ANSWER = "(no answer)"
_WORD = re.compile(r"[^\W\d_]+")
_OTHER = "other"
_QUESTION_WORDS = ("what", "who", "when", "where", "which", "why", "how", "how many")
_FORMS = {"whom": "who", "whose": "who"} | {word: word for word in _QUESTION_WORDS}
# Names of the lengths of answers in words, and the longest of each.
_LENGTHS = {"1": 1, "2": 2, "3 to 4": 4, "5 to 8": 8}
_LONGER = "9 and more"


class _Scored(NamedTuple):
    """A question with its prediction.

    Attributes:
      score: that of the prediction.
      confidence: probability of the prediction.
    """

    example: SpanExample
    prediction: Prediction
    score: Score
    confidence: float


def evaluation(
    metrics: dict[str, float],
    examples: Sequence[SpanExample],
    predictions: Sequence[Prediction],
    threshold: float | None = None,
) -> Evaluation:
    """What a report shows of the answers, with their scores.

    Args:
      metrics: see `Evaluation`.
      examples: at least one, with gold answers.
      predictions: in the same order.
      threshold: at which the predictions of SQuAD 2.0 were made; None: they are those of 1.1.
    """
    is_v2 = threshold is not None
    scored = [
        _Scored(
            example,
            prediction,
            squad_metrics.score(prediction.text, _golds(example), is_v2),
            _probability(prediction, prediction.text),
        )
        for example, prediction in zip(examples, predictions, strict=True)
    ]
    by_certainty = (
        abstention.by_probability(_outcomes(scored, False))
        if threshold is None
        else abstention.by_null_odds(_outcomes(scored, True), threshold)
    )
    return Evaluation(
        metrics,
        calibration=calibration.of_answers(
            np.array([each.confidence for each in scored]),
            np.array([each.score.exact == 1.0 for each in scored]),
        ),
        tables=[*_by_question_word(scored), _by_length(scored), by_certainty, *_shown(scored)],
    )


def _probability(prediction: Prediction, text: str) -> float:
    """That of an answer among all spans; 0 if it is not among the n best."""
    pairs = zip(prediction.n_best, prediction.shares, strict=True)
    return next((share for each, share in pairs if each.text == text), 0.0)


def _golds(example: SpanExample) -> list[str]:
    return [answer.text for answer in example.answers]


def _outcomes(scored: Sequence[_Scored], is_v2: bool) -> Outcomes:
    """What answering and not answering give for each question."""
    best = [each.prediction.best_text for each in scored]
    golds = [_golds(each.example) for each in scored]
    answered = [
        each.score if text == each.prediction.text else squad_metrics.score(text, gold, is_v2)
        for each, text, gold in zip(scored, best, golds, strict=True)
    ]
    none = [squad_metrics.score("", gold, is_v2).exact if is_v2 else 0.0 for gold in golds]
    odds = [
        each.prediction.null_odds if is_v2 else -_probability(each.prediction, text)
        for each, text in zip(scored, best, strict=True)
    ]
    return Outcomes(
        odds=_floats(odds),
        has_candidate=np.array([bool(text) for text in best]),
        exact=_floats(each.exact for each in answered),
        f1=_floats(each.f1 for each in answered),
        none_is_right=_floats(none),
        has_answer=np.array([bool(gold) for gold in golds]),
    )


def _floats(values: Iterable[float]) -> npt.NDArray[np.float64]:
    return np.array(list(values), np.float64)


def question_word(question: str) -> str:
    """The first English question word of a question, "other" without one.

    >>> question_word("In which year, and how, did it end?")
    'which'
    """
    words = [*_WORD.findall(question.lower()), ""]
    for word, following in zip(words, words[1:], strict=False):
        for form in (f"{word} {following}", word):
            if form in _FORMS:
                return _FORMS[form]
    return _OTHER


def _by_question_word(scored: Sequence[_Scored]) -> Iterator[Table]:
    """A table, if there is a question word in any question."""
    words = [question_word(each.example.question) for each in scored]
    if set(words) != {_OTHER}:
        note = "By the first question word in the question."
        groups = _groups(words, (*_QUESTION_WORDS, _OTHER), scored)
        yield _by_group("Scores by question word", note, "Question word", groups)


def _by_length(scored: Sequence[_Scored]) -> Table:
    note = "By the number of words in the shortest right answer."
    lengths = [_length(each.example.answers) for each in scored]
    groups = _groups(lengths, (_NO_ANSWER, *_LENGTHS, _LONGER), scored)
    return _by_group("Scores by length of the right answer", note, "Words", groups)


def _length(answers: Sequence[Answer]) -> str:
    if not answers:
        return _NO_ANSWER
    words = min(len(answer.text.split()) for answer in answers)
    return next((name for name, most in _LENGTHS.items() if words <= most), _LONGER)


def _groups(
    keys: Sequence[str], names: Sequence[str], scored: Sequence[_Scored]
) -> dict[str, list[Score]]:
    """The scores of each group, by its name."""
    groups: dict[str, list[Score]] = {name: [] for name in names}
    for key, each in zip(keys, scored, strict=True):
        groups[key].append(each.score)
    return groups


def _by_group(title: str, note: str, column: str, groups: Mapping[str, list[Score]]) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            len(scores),
            sum(each.exact for each in scores) / len(scores),
            sum(each.f1 for each in scores) / len(scores),
        ]
        for name, scores in groups.items()
        if scores
    ]
    columns = (
        Column(column),
        Column("Questions"),
        Column("Exact match", True),
        Column("F1", True),
    )
    return Table(title, note, columns, rows)


def _shown(scored: Sequence[_Scored]) -> Iterator[Table]:
    """The wrong answers that the model is surest of, and some of the right ones."""
    surest = sorted(scored, key=lambda each: -each.confidence)
    wrong = [each for each in surest if each.score.exact != 1.0]
    right = [each for each in surest if each.score.exact == 1.0 and each.prediction.text]
    columns = (
        *map(Column, ("Id", "Question", "Passage", "Right answers", "Answer")),
        Column("Confidence", True),
        Column("F1", True),
    )
    if wrong:
        note = (
            "The answers that match no right one exactly, the surest first. F1 says how many words "
            "they share with the nearest right answer, which is marked in the passage."
        )
        yield Table("Worst errors", note, columns, [_row(each) for each in wrong[:NUM_WRONG]])
    if right:
        note = "The answers that match a right one exactly, the surest first."
        rows = [_row(each) for each in right[:NUM_RIGHT]]
        yield Table("Right answers", note, columns, rows)


def _row(scored: _Scored) -> list[Cell]:
    example, prediction, score, confidence = scored
    golds = " / ".join(dict.fromkeys(_golds(example)))
    return [
        excerpts.short(example.question_id),
        excerpts.short(example.question),
        excerpts.around(example.context, _marks(scored)),
        excerpts.short(golds or _NO_ANSWER),
        excerpts.short(prediction.text or _NO_ANSWER),
        confidence,
        score.f1,
    ]


def _marks(scored: _Scored) -> list[Mark]:
    """Where the prediction and the nearest right answer are in the passage.

    All of a prediction that matches a right answer exactly is marked "right". Of another one,
    what it shares with the nearest right answer is "right", the rest "wrong" or "missed".
    """
    example, prediction = scored.example, scored.prediction
    predicted = _position(prediction)
    if scored.score.exact == 1.0:
        return [Mark(predicted.start, predicted.stop, "right")] if predicted else []
    nearest, gold = -1.0, range(0)
    for answer in example.answers:
        overlap = squad_metrics.f1(prediction.text, answer.text)
        is_there = example.context[max(answer.start, 0) : max(answer.end, 0)] == answer.text
        if is_there and overlap > nearest:
            nearest, gold = overlap, range(answer.start, answer.end)
    return list(_compared(predicted, gold))


def _position(prediction: Prediction) -> range:
    """The characters of the passage that a prediction is, none of no answer."""
    pairs = zip(prediction.n_best, prediction.starts, strict=False)
    starts = (start for each, start in pairs if each.text == prediction.text and each.text)
    start = next(starts, None)
    return range(0) if start is None else range(start, start + len(prediction.text))


def _compared(predicted: range, gold: range) -> Iterator[Mark]:
    """Marks of what is in both ranges, in the first one or in the second one."""
    names = {(True, True): "right", (True, False): "wrong", (False, True): "missed"}
    edges = sorted({each for found in (predicted, gold) for each in (found.start, found.stop)})
    for start, end in zip(edges, edges[1:], strict=False):
        if name := names.get((start in predicted, start in gold)):
            yield Mark(start, end, name)
