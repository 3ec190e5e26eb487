"""Question and long context -> windows that fit the encoder, and answers as token spans.

Ids come with character offsets, so an answer is always cut out of the original context and
never put together from word pieces.
"""

import dataclasses

import numpy as np

from bert_tf.errors import InputError

_NUM_SPECIAL = 3  # [CLS] question [SEP] context [SEP]


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A gold answer: `context[start : start + len(text)]` is `text`."""

    text: str
    start: int

    @property
    def end(self):
        """Index of the character after the answer."""
        return self.start + len(self.text)


@dataclasses.dataclass(frozen=True, slots=True)
class SpanExample:
    """A question about a context, before packing.

    Attributes:
      question_id: str. Files repeat ids; only the place in the list of examples is unique.
      question, context: str.
      answers: tuple of `Answer`; empty where unanswerable, or where the file has none.
      is_impossible: bool, the file says that the context does not hold the answer.
    """

    question_id: str
    question: str
    context: str
    answers: tuple[Answer, ...] = ()
    is_impossible: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Window:
    """[CLS] question [SEP] part of the context [SEP].

    Attributes:
      example_index: int, place of the question in the list of examples.
      word_ids, type_ids: lists of int, [T] without padding.
      context_position: int, position in the window of its first context token.
      context_start: int, index of that token among the tokens of the whole context.
      offsets: int32 [S 2], first character and the one after the last in the context, of each
        of the S context tokens in the window.
      is_max_context: bool [S], whether of all windows this one shows the token with most
        context, see `max_context`.
      start_position, end_position: int, first and last token of the answer in the window;
        both 0, which is [CLS], if the window does not hold the whole answer.
    """

    example_index: int
    word_ids: list[int]
    type_ids: list[int]
    context_position: int
    context_start: int
    offsets: np.ndarray
    is_max_context: np.ndarray
    start_position: int = 0
    end_position: int = 0

    @property
    def has_answer(self):
        """Whether the labels point at an answer and not at [CLS]."""
        return self.start_position > 0


def window_starts(num_tokens, capacity, doc_stride):
    """Where windows of at most `capacity` tokens start, `doc_stride` tokens apart.

    The last one is the first that reaches the end of the context; one window if there are no
    tokens. A stride longer than a window is cut, so that no token is left out (released code).

    >>> window_starts(10, capacity=5, doc_stride=2)
    [0, 2, 4, 6]
    """
    step = min(doc_stride, capacity)
    return list(range(0, max(num_tokens - capacity, 0) + step, step)) if num_tokens else [0]


def max_context(starts, lengths, num_tokens):
    """For every token the window that shows it with most context on its poorer side.

    The released score is min(tokens to the left, to the right) + 0.01 * length of the window;
    the earlier window wins a tie.

    Args:
      starts, lengths: [W], tokens of the context that each window holds.
      num_tokens: int, in the context.

    Returns:
      int [num_tokens], index of the window.
    """
    tokens = np.arange(num_tokens)
    left = tokens - np.asarray(starts)[:, None]  # [W num_tokens]
    right = np.asarray(lengths)[:, None] - 1 - left
    score = np.minimum(left, right) + 0.01 * np.asarray(lengths)[:, None]
    return np.where((left >= 0) & (right >= 0), score, -np.inf).argmax(axis=0)


def token_span(offsets, start, end):
    """The first and the last token that overlap the characters from `start` to before `end`.

    A token that only partly overlaps counts: an answer that begins inside a token ("Japan" in
    "Japanese") cannot be had without the rest of it.

    Args:
      offsets: int [S 2].
      start, end: int, characters.

    Returns:
      (first, last), both inclusive, or None if no token overlaps.
    """
    overlapping = np.flatnonzero((offsets[:, 1] > start) & (offsets[:, 0] < end))
    return (int(overlapping[0]), int(overlapping[-1])) if overlapping.size else None


def make_windows(
    examples,
    tokenizer,
    vocabulary,
    *,
    max_seq_length=384,
    doc_stride=128,
    max_query_length=64,
    keep_without_answer=True,
):
    """Cuts every example into windows with labels.

    The label is the first of several gold answers; the others only serve evaluation. The
    flags' defaults are the released ones.

    Args:
      examples: iterable of `SpanExample`.
      tokenizer: has `encode(text) -> ids` and `encode_with_offsets(text) -> (ids, offsets)`.
      vocabulary: `text.vocab.Vocabulary`.
      max_seq_length: int, tokens of a window, special tokens included.
      doc_stride: int, tokens between the starts of two windows.
      max_query_length: int, tokens of the question; what is longer is cut off.
      keep_without_answer: bool, keep windows that do not hold the answer of a question that
        has one, labelled [CLS]. Prediction and SQuAD 2.0 need them; SQuAD 1.1 trains without,
        because there [CLS] is never right (the released code means to, but keeps them).

    Yields:
      `Window`, in the order of the examples.

    Raises:
      InputError: no room for context, or a stride below 1.
    """
    if max_seq_length - max_query_length - _NUM_SPECIAL < 1:
        raise InputError(
            f"--max_seq_length={max_seq_length} leaves no room for the context beside "
            f"--max_query_length={max_query_length} and {_NUM_SPECIAL} special tokens."
        )
    if doc_stride < 1:
        raise InputError(f"--doc_stride={doc_stride} must be at least 1.")
    context, context_ids, offsets = None, [], _as_offsets([])
    for index, example in enumerate(examples):
        if example.context != context:  # the questions of a paragraph follow one another
            context = example.context
            context_ids, offsets = tokenizer.encode_with_offsets(context)
            context_ids, offsets = list(context_ids), _as_offsets(offsets)
        question_ids = list(tokenizer.encode(example.question))[:max_query_length]
        packed = _pack(
            index, question_ids, context_ids, offsets, vocabulary, max_seq_length, doc_stride
        )
        span = None
        if example.answers and not example.is_impossible:
            span = token_span(offsets, example.answers[0].start, example.answers[0].end)
        for window in packed:
            window = _labelled(window, span)
            if keep_without_answer or window.has_answer or example.is_impossible:
                yield window


def _as_offsets(pairs):
    return np.asarray(pairs, np.int32).reshape(-1, 2)


def _pack(index, question_ids, context_ids, offsets, vocabulary, max_seq_length, doc_stride):
    """The windows of one example, without labels."""
    capacity = max_seq_length - len(question_ids) - _NUM_SPECIAL
    starts = window_starts(len(context_ids), capacity, doc_stride)
    lengths = [min(capacity, len(context_ids) - start) for start in starts]
    best_window = max_context(starts, lengths, len(context_ids))
    head = [vocabulary.cls_id, *question_ids, vocabulary.sep_id]
    for number, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        part = slice(start, start + length)
        yield Window(
            example_index=index,
            word_ids=[*head, *context_ids[part], vocabulary.sep_id],
            type_ids=[0] * len(head) + [1] * (length + 1),
            context_position=len(head),
            context_start=start,
            offsets=offsets[part],
            is_max_context=best_window[part] == number,
        )


def _labelled(window, span):
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


def span_text(context, offsets, first, last):
    """The characters of the context from token `first` to token `last`, both inclusive."""
    return context[offsets[first, 0] : offsets[last, 1]]
