"""Span logits to answers, in the graph: the decoding of `bert_tf.tasks.squad`.

A chunk of windows is reduced to the best spans of each window at once, so that what is kept of a
long context does not grow with the length of its windows. These are then merged by question.
"""

from typing import NamedTuple, Protocol

import tensorflow as tf

from bert_tf.tasks.squad import NOTHING_TO_ANSWER
from bert_tf.text import graph_spans
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.graph_windows import Windows

# Where an answer is, if there is none: `text[-1:-1]` is empty.
NOWHERE = -1
_LEAST = -float("inf")


class Settings(Protocol):
    """How a question is answered; `bert_tf.tasks.squad.decode` explains. No threshold is 0."""

    @property
    def n_best_size(self) -> int: ...

    @property
    def max_answer_length(self) -> int: ...

    @property
    def version_2_with_negative(self) -> bool: ...

    @property
    def null_score_diff_threshold(self) -> float | None: ...


class Contexts:
    """Contexts as tokens, with the characters and the bytes that each token comes from.

    Args:
      texts: string [B]; bytes that are not UTF-8 are ignored.

    Attributes:
      texts: string [B], valid UTF-8.
      ids: int32 ragged [B (T)].
      starts, ends: int32 [N + 1], characters of each token of all contexts; the last is a
        placeholder.
      start_bytes, end_bytes: the same in bytes of `texts`.
    """

    def __init__(self, texts: tf.Tensor, tokenizer: GraphTokenizer) -> None:
        self.texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="ignore")
        self.ids, *spans = graph_spans.tokens_with_spans(self.texts, tokenizer)
        self.starts, self.ends, self.start_bytes, self.end_bytes = (
            tf.pad(x, [[0, 1]]) for x in spans
        )


class Spans(NamedTuple):
    """Spans of contexts and their scores: `scores` float64, `starts` and `ends` int32 characters.

    Where a text is empty there is no span.
    """

    texts: tf.Tensor
    scores: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor


def specs_of_windows(n_best_size: int) -> dict[str, tf.TensorSpec]:
    """Names, types and shapes of what `reduce_windows` returns."""
    dtypes = dict(texts=tf.string, scores=tf.float64, starts=tf.int32, ends=tf.int32)
    specs = {name: tf.TensorSpec([None, n_best_size], dtype) for name, dtype in dtypes.items()}
    return specs | {"null_scores": tf.TensorSpec([None], tf.float64)}


def reduce_windows(
    logits: tf.Tensor, rows: tf.Tensor, windows: Windows, contexts: Contexts, settings: Settings
) -> dict[str, tf.Tensor]:
    """The best spans with distinct texts of some windows, and their scores of no answer.

    That suffices: a text that is among the n best of a question is among the n best of the window
    where it first occurs.

    Args:
      logits: float32 [B' 2 T], of start and end.
      rows: int32 [B'], the windows.

    Returns:
      The fields of `Spans`, [B' n_best_size] each, best first, and `null_scores` float64 [B'].
    """
    logits = tf.cast(logits, tf.float64)
    null_scores = logits[:, 0, 0] + logits[:, 1, 0]
    first, last, scores = _best_spans(logits, rows, windows, settings)
    texts = _texts_of(first, last, rows, windows, contexts)
    texts = tf.where(scores > _LEAST, texts, "")
    count = tf.size(texts)
    group = tf.range(count) // tf.shape(texts)[1]
    spans = Spans(
        tf.reshape(texts, [count]),
        tf.reshape(scores, [count]),
        tf.reshape(tf.gather(contexts.starts, first), [count]),
        tf.reshape(tf.gather(contexts.ends, last), [count]),
    )
    best, _ = _distinct(spans, group, tf.size(rows), settings.n_best_size)
    return best._asdict() | {"null_scores": null_scores}


def _best_spans(
    logits: tf.Tensor, rows: tf.Tensor, windows: Windows, settings: Settings
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The first and last tokens of the best spans, among those of all contexts, and the scores.

    Returns:
      int32, int32 and float64 [B' K], best first; where a window has fewer spans, scores are -inf.
    """
    head, first_token, num_tokens, number = (
        tf.gather(x, rows)[:, tf.newaxis]  # [B' 1]
        for x in (
            windows.context_position,
            windows.first_token,
            windows.num_tokens,
            windows.number,
        )
    )
    length = tf.shape(logits)[2]
    token = tf.range(length)  # of the window's part of the context: [T]
    position = tf.minimum(head + token, length - 1)  # [B' T]
    start, end = (tf.gather(logits[:, i], position, batch_dims=1) for i in (0, 1))
    none = tf.size(windows.best_window) - 1  # the placeholder, of `Contexts` too
    in_context = tf.minimum(first_token + token, none)
    may_start = (token < num_tokens) & (tf.gather(windows.best_window, in_context) == number)
    num_lengths = tf.minimum(settings.max_answer_length, length)  # K'
    last = token[:, tf.newaxis] + tf.range(num_lengths)  # [T K']
    scores = start[:, :, tf.newaxis] + tf.gather(end, tf.minimum(last, length - 1), axis=1)
    is_span = may_start[:, :, tf.newaxis] & (last < num_tokens[:, :, tf.newaxis])
    scores = tf.reshape(tf.where(is_span, scores, _LEAST), [tf.size(rows), length * num_lengths])
    # As many as `squad.decode` compares: spans with equal texts are dropped later.
    count = tf.minimum(settings.n_best_size**2, length * num_lengths)
    scores, index = tf.math.top_k(scores, count)
    first = index // num_lengths
    last = first + index % num_lengths
    # Where there is no span the best one is repeated, so that no text grows by it.
    is_span = scores > _LEAST
    first, last = (
        tf.where(is_span, token, tf.where(is_span[:, :1], token[:, :1], none))
        for token in (first_token + first, first_token + last)
    )
    return first, last, scores


def _texts_of(
    first: tf.Tensor, last: tf.Tensor, rows: tf.Tensor, windows: Windows, contexts: Contexts
) -> tf.Tensor:
    """The texts of spans of windows, string [B' K]; first and last tokens are int32 [B' K].

    They are cut out of the texts of the windows, because cutting copies what is cut from.
    """
    start = tf.gather(contexts.start_bytes, first)
    size = tf.maximum(tf.gather(contexts.end_bytes, last) - start, 0)
    window_start = tf.reduce_min(start, axis=1)
    window_size = tf.reduce_max(start + size, axis=1) - window_start
    texts = tf.gather(contexts.texts, tf.gather(windows.question, rows))
    texts = tf.strings.substr(texts, window_start, window_size)
    return tf.strings.substr(texts[:, tf.newaxis], start - window_start[:, tf.newaxis], size)


def _distinct(
    spans: Spans, group: tf.Tensor, num_groups: tf.Tensor, n_best_size: int
) -> tuple[Spans, tf.Tensor]:
    """The first spans of each group with distinct texts that are not empty.

    Args:
      spans: [N] each, those of a group together, best first.
      group: int32 [N], ascending.

    Returns:
      [num_groups n_best_size] each, empty texts behind; and the number of spans, int32
      [num_groups].
    """
    count = tf.size(group)
    number = tf.range(count)
    keys = tf.strings.join([tf.strings.as_string(group), spans.texts], separator=" ")
    _, text = tf.unique(keys)
    first_of_text = tf.math.unsorted_segment_min(number, text, count)
    is_new = (tf.gather(first_of_text, text) == number) & (spans.texts != "")
    num_before = tf.cumsum(tf.cast(is_new, tf.int32), exclusive=True)
    before_group = tf.math.unsorted_segment_min(num_before, group, num_groups)
    rank = num_before - tf.gather(before_group, group)
    chosen = tf.where(is_new & (rank < n_best_size))[:, 0]
    slots = tf.gather(tf.stack([group, rank], axis=1), chosen)
    shape = tf.stack([num_groups, n_best_size])
    index = tf.scatter_nd(slots, tf.gather(number, chosen), shape)
    num_spans = tf.math.unsorted_segment_sum(
        tf.ones_like(chosen, tf.int32), slots[:, 0], num_groups
    )
    is_there = tf.range(n_best_size) < num_spans[:, tf.newaxis]
    absent = Spans("", _LEAST, NOWHERE, NOWHERE)
    # One more, so that there is something to gather where there is no span at all.
    spans = Spans(*(tf.concat([x, [y]], axis=0) for x, y in zip(spans, absent, strict=True)))
    return (
        Spans(
            *(
                tf.where(is_there, tf.gather(x, index), tf.cast(y, x.dtype))
                for x, y in zip(spans, absent, strict=True)
            )
        ),
        num_spans,
    )


def answer_questions(
    of_windows: dict[str, tf.Tensor],
    question: tf.Tensor,
    num_questions: tf.Tensor,
    settings: Settings,
) -> dict[str, tf.Tensor]:
    """The answers to B questions from the best spans of their windows.

    Args:
      of_windows: what `reduce_windows` gives for all windows, [W ...] each.
      question: int32 [W], ascending; every question has a window.
      num_questions: B.

    Returns:
      The outputs of the signature, [B ...] each; see `question_answering`.
    """
    spans, num_spans = _best_of_questions(of_windows, question, num_questions, settings.n_best_size)
    null_score = tf.math.unsorted_segment_min(of_windows["null_scores"], question, num_questions)
    has_span = num_spans > 0
    null_odds = tf.where(has_span, null_score - spans.scores[:, 0], NOTHING_TO_ANSWER)
    if settings.version_2_with_negative:
        threshold = settings.null_score_diff_threshold or 0.0
        has_answer = has_span & (null_odds <= tf.constant(threshold, tf.float64))
        null_rank = tf.reduce_sum(
            tf.cast(spans.scores >= null_score[:, tf.newaxis], tf.int32), axis=1
        )
    else:
        has_answer = has_span
        # No answer is an entry only if there is no other.
        null_rank = tf.where(has_span, settings.n_best_size, 0)
    n_best = _with_null(spans, num_spans, null_score, null_rank, settings)
    scores = tf.nn.softmax(n_best.scores, axis=1)
    chosen = tf.where(has_answer, tf.cast(null_rank == 0, tf.int32), null_rank)
    score = tf.gather(scores, chosen, batch_dims=1)
    return {
        "answer": tf.where(has_answer, spans.texts[:, 0], ""),
        "start": tf.where(has_answer, spans.starts[:, 0], NOWHERE),
        "end": tf.where(has_answer, spans.ends[:, 0], NOWHERE),
        "score": tf.cast(score, tf.float32),
        "null_odds": tf.cast(null_odds, tf.float32),
        "has_answer": has_answer,
        "n_best_answers": n_best.texts,
        "n_best_starts": n_best.starts,
        "n_best_ends": n_best.ends,
        "n_best_scores": tf.cast(scores, tf.float32),
    }


def _best_of_questions(
    of_windows: dict[str, tf.Tensor],
    question: tf.Tensor,
    num_questions: tf.Tensor,
    n_best_size: int,
) -> tuple[Spans, tf.Tensor]:
    """The best spans of each question, [B n_best_size] each, and their number, int32 [B]."""
    spans = Spans(*(of_windows[name] for name in Spans._fields))
    where = tf.where(spans.texts != "")
    group = tf.gather(question, where[:, 0])
    spans = Spans(*(tf.gather_nd(x, where) for x in spans))
    # Stable: of equal scores, those of the earlier window come first.
    by_score = tf.argsort(spans.scores, direction="DESCENDING", stable=True)
    order = tf.gather(by_score, tf.argsort(tf.gather(group, by_score), stable=True))
    spans = Spans(*(tf.gather(x, order) for x in spans))
    return _distinct(spans, tf.gather(group, order), num_questions, n_best_size)


def _with_null(
    spans: Spans,
    num_spans: tf.Tensor,
    null_score: tf.Tensor,
    null_rank: tf.Tensor,
    settings: Settings,
) -> Spans:
    """The spans and, at its rank, no answer: the entries of nbest_predictions.json.

    With `version_2_with_negative` there is a column more, for no answer behind n others.
    """
    num_columns = settings.n_best_size + settings.version_2_with_negative
    column, rank = tf.range(num_columns), null_rank[:, tf.newaxis]
    index = tf.where(column > rank, column - 1, column)
    index = tf.minimum(index, settings.n_best_size - 1)
    is_null = column == rank
    is_there = (index < num_spans[:, tf.newaxis]) & ~is_null
    is_there &= (column < settings.n_best_size) | (column < rank)
    texts, scores, starts, ends = (tf.gather(x, index, batch_dims=1) for x in spans)
    scores = tf.where(is_there, scores, _LEAST)
    return Spans(
        tf.where(is_there, texts, ""),
        tf.where(is_null, null_score[:, tf.newaxis], scores),
        tf.where(is_there, starts, NOWHERE),
        tf.where(is_there, ends, NOWHERE),
    )
