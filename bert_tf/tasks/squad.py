"""SQuAD 1.1 and 2.0: JSON file -> `SpanExample`s; span logits -> the released prediction files."""

import collections
import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.examples import readers, spans
from bert_tf.examples.spans import Answer, SpanExample, Window

_Scored = tuple[Window, npt.NDArray, npt.NDArray]  # a window, its start logits, its end logits
# First and last context tokens of some spans of a window, and their scores: [K] each.
_Spans = tuple[npt.NDArray, npt.NDArray, npt.NDArray]
# Text, start logit, end logit, and where the text begins in the context; None for no answer.
_Entry = tuple[str, float, float, int | None]

# Null score difference of a v2 question whose context has no token: no answer is all there is.
NOTHING_TO_ANSWER = 1e6


def read_examples(
    path: str, *, version_2_with_negative: bool = False, is_training: bool = False
) -> tuple[list[SpanExample], list[str]]:
    """Reads a SQuAD 1.1 or 2.0 JSON file, gzipped if its name ends in .gz.

    To train, a question is left out if it has no answer or if its first answer is not the text
    at its position in the context; otherwise all questions are kept.

    Args:
      path: of the file.
      version_2_with_negative: whether questions may be unanswerable.
      is_training: whether the examples are to train on.

    Returns:
      The examples, and what is wrong with which question.

    Raises:
      InputError: not a JSON file of that layout, unanswerable questions without
        `version_2_with_negative`, or nothing to train on.
    """
    examples: list[SpanExample] = []
    problems: list[str] = []
    num_impossible = 0
    for where, context, question in _questions(path):
        example, wrong = _example(where, context, question)
        num_impossible += example.is_impossible
        if is_training and not wrong and not (example.answers or example.is_impossible):
            wrong = "has no answer"
        if wrong:
            problems.append(f"{where} (id {example.question_id}): {wrong}.")
        if not (is_training and wrong):
            examples.append(example)
    if num_impossible and not version_2_with_negative:
        raise InputError(
            f"{path} marks {num_impossible} of {len(examples)} questions as unanswerable, so it "
            "is SQuAD 2.0. Give --version_2_with_negative=true."
        )
    if not examples:
        raise InputError(
            f"{path}: no question {'to train on ' if is_training else ''}was found. "
            + " ".join(problems[:3])
        )
    return examples, problems


def _questions(path: str) -> Iterator[tuple[str, str, dict]]:
    """Yields (where it is in the file, context, question object)."""
    try:
        document = json.loads(readers.read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    for a, article in enumerate(_field(document, "data", list, path)):
        place = f"{path}: data[{a}]"
        for p, paragraph in enumerate(_field(article, "paragraphs", list, place)):
            where = f"{place}.paragraphs[{p}]"
            context = _field(paragraph, "context", str, where)
            for q, question in enumerate(_field(paragraph, "qas", list, where)):
                yield f"{where}.qas[{q}]", context, question


def _field(holder: Any, key: str, kind: type, where: str) -> Any:
    """`holder[key]`, which must be of type `kind`."""
    if not isinstance(holder, dict):
        raise InputError(
            f"{where} is a {type(holder).__name__}; an object with {key!r} was wanted."
        )
    if key not in holder:
        raise InputError(
            f"{where} has no {key!r}, only {sorted(holder)}; it is not in the layout of SQuAD."
        )
    if not isinstance(holder[key], kind):
        raise InputError(
            f"{where}: {key!r} is a {type(holder[key]).__name__}, wanted a {kind.__name__}."
        )
    return holder[key]


def _example(where: str, context: str, question: dict) -> tuple[SpanExample, str]:
    """The example, and what is wrong with its first answer or ""."""
    question_id = _field(question, "id", str, where)
    answers: list[Answer] = []
    if "answers" in question:
        for number, answer in enumerate(_field(question, "answers", list, where)):
            place = f"{where}.answers[{number}]"
            start = _field(answer, "answer_start", int, place)
            answers.append(Answer(_field(answer, "text", str, place), start))
    example = SpanExample(
        question_id=question_id,
        question=_field(question, "question", str, where),
        context=context,
        answers=tuple(answers),
        is_impossible=bool(question.get("is_impossible", False)),
    )
    return example, "" if example.is_impossible or not answers else _misplaced(context, answers[0])


def _misplaced(context: str, answer: Answer) -> str:
    text = context[max(answer.start, 0) : max(answer.end, 0)]
    if text == answer.text and answer.text.strip():
        return ""
    return f"answer {answer.text!r} is not at character {answer.start}, where {text!r} is"


def require_unique_ids(examples: Sequence[SpanExample], path: str) -> None:
    """Refuses to predict for a file in which two questions have one id.

    predictions.json has one entry per id, so all but one of their answers would be lost. Training
    on such a file is fine.

    Raises:
      InputError: names ids that occur twice.
    """
    counts = collections.Counter(example.question_id for example in examples)
    if twice := [question_id for question_id, count in counts.items() if count > 1]:
        raise InputError(
            f"{path} has {len(examples)} questions but {len(counts)} different ids; "
            f"{', '.join(twice[:5])} occur more than once. Predictions are kept by id, so the "
            "ids must be made unique first."
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """An entry of nbest_predictions.json; an empty text is no answer."""

    text: str
    probability: float
    start_logit: float
    end_logit: float


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction for one question.

    Attributes:
      text: the answer; "" for none.
      n_best: best first, never empty.
      null_score_diff: score of no answer less that of the best answer; None in v1.1.
      starts: index in the context of the first character of each of `n_best`; None for no answer.
    """

    text: str
    n_best: tuple[Candidate, ...]
    null_score_diff: float | None = None
    starts: tuple[int | None, ...] = ()


def decode(
    examples: Sequence[SpanExample],
    windows: Iterable[Window],
    start_logits: Iterable[npt.NDArray],
    end_logits: Iterable[npt.NDArray],
    *,
    n_best_size: int = 20,
    max_answer_length: int = 30,
    version_2_with_negative: bool = False,
    null_score_diff_threshold: float = 0.0,
) -> list[Prediction]:
    """Predicts every question from the logits of its windows (BERT sections 4.2 and 4.3).

    The score of a span is S.Ti + E.Tj with j >= i. All spans are compared, where the released
    code combines the n best starts with the n best ends, so the best answer does not depend on
    `n_best_size`. A span is scored in the one window that shows its first token with most
    context, as released: with the same demand on the last token, no window would score a span
    that crosses from one window's share of the context into the next one's.

    Args:
      examples: predictions come in their order.
      windows: [N], in any order.
      start_logits, end_logits: [N (T)]; padding behind a window is not read.
      n_best_size: entries per question.
      max_answer_length: in tokens.
      version_2_with_negative: whether no answer competes with the spans.
      null_score_diff_threshold: no answer wins if its score is higher than the best span's by more
        than this.

    Raises:
      InputError: `n_best_size` or `max_answer_length` is below 1.
      ValueError: a logit is not finite.
    """
    if n_best_size < 1 or max_answer_length < 1:
        raise InputError(
            f"--n_best_size={n_best_size} and --max_answer_length={max_answer_length} "
            "must be at least 1."
        )
    scored: dict[int, list[_Scored]] = collections.defaultdict(list)
    for triple in zip(windows, start_logits, end_logits, strict=True):
        scored[triple[0].example_index].append(triple)
    threshold = null_score_diff_threshold if version_2_with_negative else None
    return [
        _predict(example, scored[index], n_best_size, max_answer_length, threshold)
        for index, example in enumerate(examples)
    ]


def _predict(
    example: SpanExample,
    triples: list[_Scored],
    n_best_size: int,
    max_answer_length: int,
    threshold: float | None,
) -> Prediction:
    """The `Prediction` of one question; `threshold` is None in v1.1."""
    scored = [(triple[0], _logits(example, *triple)) for triple in triples]
    # Room for the spans with equal texts, which are dropped: the released code has as many.
    best_spans = [_best_spans(*pair, n_best_size**2, max_answer_length) for pair in scored]
    entries = _distinct_texts(example.context, scored, best_spans, n_best_size)
    if threshold is None:
        entries = entries or [("", 0.0, 0.0, None)]
        return Prediction(entries[0][0], _with_probabilities(entries), starts=_starts(entries))
    best = entries[0] if entries else None
    starts_and_ends = [(logits[0, 0], logits[1, 0]) for _, logits in scored] or [(0.0, 0.0)]
    start, end = min(starts_and_ends, key=sum)
    null = ("", float(start), float(end), None)
    diff = _score(null) - _score(best) if best else NOTHING_TO_ANSWER
    text = "" if best is None or diff > threshold else best[0]
    entries = _with_null(entries, null, n_best_size)
    return Prediction(text, _with_probabilities(entries), diff, _starts(entries))


def _starts(entries: list[_Entry]) -> tuple[int | None, ...]:
    return tuple(start for *_, start in entries)


def _logits(
    example: SpanExample, window: Window, start: npt.NDArray, end: npt.NDArray
) -> npt.NDArray[np.float64]:
    """Start and end logits of the window without its padding, float64 [2 T]."""
    size = len(window.word_ids)
    logits = np.stack([start[:size], end[:size]]).astype(np.float64)
    if logits.shape != (2, size) or not np.all(np.isfinite(logits)):
        raise ValueError(
            f"Question {example.question_id}: logits of a window of {size} tokens have shape "
            f"{logits.shape} or are not finite."
        )
    return logits


def _best_spans(
    window: Window, logits: npt.NDArray[np.float64], count: int, max_answer_length: int
) -> _Spans:
    """The `count` best spans of a window that may answer, in no particular order."""
    num_tokens = len(window.offsets)
    start, end = logits[:, window.context_position :][:, :num_tokens]
    first = np.flatnonzero(window.is_max_context)[:, None]  # [F 1]
    last = first + np.arange(min(max_answer_length, num_tokens))  # [F K]
    is_inside = last < num_tokens
    scores = start[first] + end[np.minimum(last, num_tokens - 1)] if first.size else last * 0.0
    scores = np.where(is_inside, scores, -np.inf).ravel()
    count = min(count, int(is_inside.sum()))
    chosen = np.sort(np.argpartition(-scores, count - 1)[:count]) if count else np.arange(0)
    return (
        np.broadcast_to(first, last.shape).ravel()[chosen],
        last.ravel()[chosen],
        scores[chosen],
    )


def _distinct_texts(
    context: str,
    scored: list[tuple[Window, npt.NDArray[np.float64]]],
    best_spans: list[_Spans],
    n_best_size: int,
) -> list[_Entry]:
    """The best spans of all windows, each text once."""
    owner = np.repeat(np.arange(len(best_spans)), [len(scores) for _, _, scores in best_spans])
    if not owner.size:
        return []
    first, last, scores = (np.concatenate(parts) for parts in zip(*best_spans, strict=True))
    entries: dict[str, _Entry] = {}
    for k in np.argsort(-scores, kind="stable"):
        window, logits = scored[owner[k]]
        text = spans.span_text(context, window.offsets, first[k], last[k])
        if text and text not in entries:
            start, end = window.context_position + first[k], window.context_position + last[k]
            first_char = int(window.offsets[first[k], 0])
            entries[text] = (text, float(logits[0, start]), float(logits[1, end]), first_char)
            if len(entries) == n_best_size:
                break
    return list(entries.values())


def _with_null(entries: list[_Entry], null: _Entry, n_best_size: int) -> list[_Entry]:
    """Adds no answer: at its rank, or behind the n best if it is not among them (released)."""
    rank = sum(_score(entry) >= _score(null) for entry in entries)
    if rank < n_best_size:
        return [*entries[:rank], null, *entries[rank : n_best_size - 1]]
    return [*entries, null]


def _score(entry: _Entry) -> float:
    return entry[1] + entry[2]


def _with_probabilities(entries: list[_Entry]) -> tuple[Candidate, ...]:
    """Softmax over the entries only, as released: they sum to 1 for any `n_best_size`."""
    scores = np.array([_score(entry) for entry in entries])
    weights = np.exp(scores - scores.max())
    return tuple(
        Candidate(text, float(weight), start, end)
        for (text, start, end, _), weight in zip(entries, weights / weights.sum(), strict=True)
    )


def write_predictions(
    output_dir: str, examples: Sequence[SpanExample], predictions: Sequence[Prediction]
) -> list[str]:
    """Writes predictions.json, nbest_predictions.json and, for SQuAD 2.0, null_odds.json.

    Args:
      output_dir: an existing directory.
      examples: with unique ids.
      predictions: in the same order.

    Returns:
      The paths written.

    Raises:
      InputError: two examples have one id.
    """
    require_unique_ids(examples, "The file to predict")
    by_id = {e.question_id: p for e, p in zip(examples, predictions, strict=True)}
    contents: dict[str, dict[str, Any]] = {
        "predictions.json": {key: p.text for key, p in by_id.items()},
        "nbest_predictions.json": {
            key: [dataclasses.asdict(candidate) for candidate in p.n_best]
            for key, p in by_id.items()
        },
    }
    diffs: dict[str, Any] = {
        key: p.null_score_diff for key, p in by_id.items() if p.null_score_diff is not None
    }
    if diffs:
        contents["null_odds.json"] = diffs
    paths = []
    for name, content in contents.items():
        paths.append(os.path.join(output_dir, name))
        files.write_text(paths[-1], json.dumps(content, indent=4) + "\n")
    return paths
