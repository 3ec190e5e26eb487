"""Question and long context -> windows that fit the encoder, and answers as token spans.

Ids come with character offsets, so an answer is always cut out of the original context, never
joined from wordpieces.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.examples.labelled import SpanExample
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

_NUM_SPECIAL = 3  # [CLS] question [SEP] context [SEP]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Window:
    """[CLS] question [SEP] part of the context [SEP].

    Attributes:
      example_index: of the question in the list of examples.
      word_ids, type_ids: [T] without padding.
      context_position: position in the window of its first context token.
      context_start: index of that token among the tokens of the whole context.
      offsets: [S 2], first character and the one after the last in the context, of each of the S
        context tokens in the window.
      is_max_context: [S], whether of all windows this one shows the token with most context, see
        `max_context`.
      start_position, end_position: first and last token of the answer in the window; both 0, which
        is [CLS], if the window does not hold the whole answer.
    """

    example_index: int
    word_ids: list[int]
    type_ids: list[int]
    context_position: int
    context_start: int
    offsets: npt.NDArray[np.int32]
    is_max_context: npt.NDArray[np.bool_]
    start_position: int = 0
    end_position: int = 0

    @property
    def has_answer(self) -> bool:
        """Whether the labels point at an answer and not at [CLS]."""
        return self.start_position > 0


def window_starts(num_tokens: int, capacity: int, doc_stride: int) -> list[int]:
    """Where windows of at most `capacity` tokens start, `doc_stride` tokens apart.

    The last one is the first that reaches the end of the context; one window if there are no
    tokens. A stride longer than a window is cut, so that no token is left out (released code).

    >>> window_starts(10, capacity=5, doc_stride=2)
    [0, 2, 4, 6]
    """
    step = min(doc_stride, capacity)
    return list(range(0, max(num_tokens - capacity, 0) + step, step)) if num_tokens else [0]


def max_context(
    starts: Sequence[int], lengths: Sequence[int], num_tokens: int
) -> npt.NDArray[np.int64]:
    """For every token the window that shows it with most context on its poorer side.

    The released score is min(tokens to the left, to the right) + 0.01 * length of the window;
    the earlier window wins a tie.

    Args:
      starts, lengths: [W], the first token of the context that each window holds, and how many.
        Both starts and ends ascend.
      num_tokens: in the context.

    Returns:
      [num_tokens], index of the window.
    """
    tokens, start, length = np.arange(num_tokens), np.asarray(starts), np.asarray(lengths)
    # Only the few windows that hold a token are compared: all of them would take memory and time
    # that grow with the square of a long context.
    first = np.searchsorted(start + length, tokens, side="right")
    last = np.searchsorted(start, tokens, side="right") - 1
    best, best_score = first, np.full(num_tokens, -np.inf)
    for number in range(int((last - first).max(initial=-1)) + 1):
        window = np.minimum(first + number, last)
        left = tokens - start[window]
        score = np.minimum(left, length[window] - 1 - left) + 0.01 * length[window]
        is_better = score > best_score
        best = np.where(is_better, window, best)
        best_score = np.where(is_better, score, best_score)
    return best


def token_span(offsets: npt.NDArray[np.int32], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token that overlap the characters from `start` to before `end`.

    A token that only partly overlaps counts: an answer that begins inside a token ("Japan" in
    "Japanese") cannot be had without the rest of it.

    Args:
      offsets: [S 2].
      start, end: characters.

    Returns:
      Both inclusive; None if no token overlaps.
    """
    overlapping = np.flatnonzero((offsets[:, 1] > start) & (offsets[:, 0] < end))
    return (int(overlapping[0]), int(overlapping[-1])) if overlapping.size else None


def make_windows(
    examples: Iterable[SpanExample],
    tokenizer: WordPieceTokenizer,
    vocabulary: Vocabulary,
    *,
    max_seq_length: int = 384,
    doc_stride: int = 128,
    max_query_length: int = 64,
) -> Iterator[Window]:
    """Cuts every example into windows with labels.

    The label is the first of several gold answers; the others only serve evaluation. The
    flags' defaults are the released ones.

    Args:
      examples: windows come in their order.
      tokenizer: of the model.
      vocabulary: of the model.
      max_seq_length: tokens of a window, special tokens included.
      doc_stride: tokens between the starts of two windows.
      max_query_length: tokens of the question; the rest is cut off.

    Raises:
      InputError: no room for context, or a stride below 1.
    """
    if max_seq_length - max_query_length - _NUM_SPECIAL < 1:
        raise InputError(
            f"--max_seq_length={max_seq_length} leaves no room for the context next to "
            f"--max_query_length={max_query_length} and {_NUM_SPECIAL} special tokens."
        )
    if doc_stride < 1:
        raise InputError(f"--doc_stride={doc_stride} must be at least 1.")
    context: str | None = None
    context_ids: list[int] = []
    offsets = _as_offsets([])
    for index, example in enumerate(examples):
        if example.context != context:  # the questions of a paragraph follow one another
            context = example.context
            ids, pairs = tokenizer.encode_with_offsets(context)
            context_ids, offsets = list(ids), _as_offsets(pairs)
        question_ids = list(tokenizer.encode(example.question))[:max_query_length]
        head = [vocabulary.cls_id, *question_ids, vocabulary.sep_id]
        capacity = max_seq_length - len(head) - 1
        windows = _pack(index, head, vocabulary.sep_id, context_ids, offsets, capacity, doc_stride)
        span = None
        if example.answers and not example.is_impossible:
            span = token_span(offsets, example.answers[0].start, example.answers[0].end)
        for window in windows:
            yield _labelled(window, span)


def _as_offsets(pairs: Sequence[tuple[int, int]]) -> npt.NDArray[np.int32]:
    return np.asarray(pairs, np.int32).reshape(-1, 2)


def _pack(
    index: int,
    head: list[int],
    sep_id: int,
    context_ids: list[int],
    offsets: npt.NDArray[np.int32],
    capacity: int,
    doc_stride: int,
) -> Iterator[Window]:
    """The windows of one example, without labels; each has room for `capacity` context tokens."""
    starts = window_starts(len(context_ids), capacity, doc_stride)
    lengths = [min(capacity, len(context_ids) - start) for start in starts]
    best_window = max_context(starts, lengths, len(context_ids))
    for number, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        part = slice(start, start + length)
        yield Window(
            example_index=index,
            word_ids=[*head, *context_ids[part], sep_id],
            type_ids=[0] * len(head) + [1] * (length + 1),
            context_position=len(head),
            context_start=start,
            offsets=offsets[part],
            is_max_context=best_window[part] == number,
        )


def _labelled(window: Window, span: tuple[int, int] | None) -> Window:
    """The window with the positions of the answer, if it holds the whole answer."""
    if span is None:
        return window
    first, last = (token - window.context_start for token in span)
    if first < 0 or last >= len(window.offsets):
        return window
    return dataclasses.replace(
        window,
        start_position=window.context_position + first,
        end_position=window.context_position + last,
    )


def span_text(context: str, offsets: npt.NDArray[np.int32], first: int, last: int) -> str:
    """The characters of the context from token `first` to token `last`, both inclusive."""
    return context[offsets[first, 0] : offsets[last, 1]]
