"""Span logits to answers and to the released prediction files of SQuAD 1.1 and 2.0."""

import collections
import dataclasses
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.examples import spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.examples.spans import Window
from bert_tf.tasks.scoring import span_probabilities

_Scored = tuple[Window, npt.NDArray, npt.NDArray]  # a window, its start logits, its end logits
# First and last context tokens of some spans of a window, and their scores: [K] each.
_Spans = tuple[npt.NDArray, npt.NDArray, npt.NDArray]
# Text, start logit, end logit, and where the text begins in the context; None for no answer.
_Entry = tuple[str, float, float, int | None]

# Null score difference of a v2 question whose context has no token: no answer is all there is.
NOTHING_TO_ANSWER = 1e6


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
      best_text: the best answer, even where no answer is predicted; "" if there is none.
      null_score_diff: score of no answer less that of the best answer; None in v1.1.
      starts: index in the context of the first character of each of `n_best`; None for no answer.
      shares: probability of each of `n_best` among all spans of all windows, in v2.0 with no
        answer. That of a `Candidate` is the larger, the fewer the entries are.
    """

    text: str
    n_best: tuple[Candidate, ...]
    best_text: str = ""
    null_score_diff: float | None = None
    starts: tuple[int | None, ...] = ()
    shares: tuple[float, ...] = ()

    @property
    def null_odds(self) -> float:
        """`null_score_diff` of SQuAD 2.0."""
        assert self.null_score_diff is not None, "a prediction of SQuAD 2.0"
        return self.null_score_diff

    def at_threshold(self, threshold: float) -> "Prediction":
        """The same prediction with another `null_score_diff_threshold`; see `decode`."""
        text = "" if self.null_odds > threshold else self.best_text
        return dataclasses.replace(self, text=text)


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
    spans_of = [_spans(*pair, max_answer_length) for pair in scored]
    # Room for the spans with equal texts, which are dropped: the released code has as many.
    best_spans = [_best_spans(*each, n_best_size**2) for each in spans_of]
    entries = _distinct_texts(example.context, scored, best_spans, n_best_size)
    scores = [each for _, each in spans_of]
    if threshold is None:
        entries = entries or [("", 0.0, 0.0, None)]
        shares = _shares(entries, span_probabilities.log_normalizer(scores))
        text = entries[0][0]
        candidates = _with_probabilities(entries)
        return Prediction(text, candidates, text, None, _starts(entries), shares)
    best = entries[0] if entries else None
    starts_and_ends = [(logits[0, 0], logits[1, 0]) for _, logits in scored] or [(0.0, 0.0)]
    start, end = min(starts_and_ends, key=sum)
    null = ("", float(start), float(end), None)
    text = best[0] if best else ""
    diff = _score(null) - _score(best) if best else NOTHING_TO_ANSWER
    entries = _with_null(entries, null, n_best_size)
    shares = _shares(entries, span_probabilities.log_normalizer(scores, _score(null)))
    candidates = _with_probabilities(entries)
    found = Prediction("", candidates, text, diff, _starts(entries), shares)
    return found.at_threshold(threshold)


def _shares(entries: list[_Entry], normalizer: float) -> tuple[float, ...]:
    if normalizer == -np.inf:  # nothing to answer
        return (1.0,)
    found = span_probabilities.probabilities([_score(entry) for entry in entries], normalizer)
    return tuple(found.tolist())


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


def _spans(
    window: Window, logits: npt.NDArray[np.float64], max_answer_length: int
) -> tuple[npt.NDArray, npt.NDArray]:
    """First tokens [F] of the spans of a window that may answer, and scores [F K] by length.

    -inf where a span would leave the window.
    """
    num_tokens = len(window.offsets)
    start, end = logits[:, window.context_position :][:, :num_tokens]
    first = np.flatnonzero(window.is_max_context)
    last = first[:, None] + np.arange(min(max_answer_length, num_tokens))  # [F K]
    if not first.size:
        return first, np.zeros(last.shape)
    scores = start[first][:, None] + end[np.minimum(last, num_tokens - 1)]
    return first, np.where(last < num_tokens, scores, -np.inf)


def _best_spans(first: npt.NDArray, scores: npt.NDArray, count: int) -> _Spans:
    """The `count` best spans of `_spans`, in no particular order."""
    flat = scores.ravel()
    count = min(count, int((flat > -np.inf).sum()))
    chosen = np.sort(np.argpartition(-flat, count - 1)[:count]) if count else np.arange(0)
    row, length = np.divmod(chosen, max(1, scores.shape[1]))
    return first[row], first[row] + length, flat[chosen]


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

    Entries of nbest_predictions.json have a key more than the released ones: `span_probability`,
    see `Prediction.shares`.

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
            key: [
                dataclasses.asdict(candidate) | {"span_probability": share}
                for candidate, share in zip(p.n_best, p.shares, strict=True)
            ]
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
