"""Windows against the rule of the released code written out, and answers cut from the context."""

import re

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.examples import spans
from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.text.vocab import Vocabulary

CLS, SEP, UNK = 2, 3, 1
VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])


class Letters:
    """A tokenizer of words and marks; a word of more than three letters is cut after three."""

    pattern = re.compile(r"\w{1,3}|[^\w\s]")

    def encode(self, text):
        return self.encode_with_offsets(text)[0]

    def encode_with_offsets(self, text):
        offsets = [match.span() for match in self.pattern.finditer(text)]
        return [100 + text.index(text[a:b]) for a, b in offsets], offsets


def windows_of(*examples, **flags):
    return list(spans.make_windows(examples, Letters(), VOCABULARY, **flags))


def answer(context, text):
    return (Answer(text, context.index(text)),)


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 7, 11, 13, 17])
@pytest.mark.parametrize("doc_stride", [1, 2, 3, 7, 13, 19])
def test_window_starts_step_by_the_stride_until_the_end_is_reached(capacity, doc_stride):
    for num_tokens in range(1, 41):
        starts = spans.window_starts(num_tokens, capacity, doc_stride)
        assert starts[0] == 0
        assert all(
            b - a == min(doc_stride, capacity) for a, b in zip(starts, starts[1:], strict=False)
        )
        assert starts[-1] + capacity >= num_tokens
        assert all(start + capacity < num_tokens for start in starts[:-1])
    assert spans.window_starts(0, capacity, doc_stride) == [0]


def test_max_context_is_the_window_with_the_better_poorer_side():
    # Windows of 5 tokens, 2 apart. Token 4 has 2 on both sides in the second. Token 3 has
    # min(3, 1) in the first and min(1, 3) in the second: the earlier one wins a tie.
    assert list(spans.max_context([0, 2, 4], [5, 5, 5], 9)) == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    # Token 7 has none to the right in the second window, one to the left in the third.
    assert list(spans.max_context([0, 3, 6], [5, 5, 5], 11))[7] == 2
    # A shorter last window loses a tie: token 6 has 0 + 0.05 in the second, 0 + 0.03 there.
    assert list(spans.max_context([0, 2, 4], [5, 5, 3], 7)) == [0, 0, 0, 0, 1, 1, 1]


def test_every_token_is_in_max_context_exactly_once():
    context = " ".join(f"w{i}" for i in range(53))
    found = windows_of(
        SpanExample("q", "a b", context), max_seq_length=18, doc_stride=5, max_query_length=7
    )
    assert len(found) == 9  # 13 tokens each, until 8 * 5 + 13 = 53
    seen = np.zeros(53, int)
    for window in found:
        seen[window.context_start : window.context_start + 13] += window.is_max_context
    assert list(seen) == [1] * 53


def test_a_window_is_question_and_context_with_types():
    (window,) = windows_of(SpanExample("q", "who came", "anna came ."))
    # who, cam e; ann a, cam e, .: an id is 100 plus where its letters first occur in the text.
    assert window.word_ids == [CLS, 100, 104, 107, SEP, 100, 100, 105, 108, 110, SEP]
    assert window.type_ids == [0] * 5 + [1] * 6
    assert (window.context_position, window.context_start) == (5, 0)
    assert window.offsets.tolist() == [[0, 3], [3, 4], [5, 8], [8, 9], [10, 11]]
    assert (window.start_position, window.end_position, window.has_answer) == (0, 0, False)


def test_windows_cover_the_context_and_the_question_is_cut():
    context = " ".join("abcdefghijk")  # 11 tokens
    flags = {"max_seq_length": 10, "doc_stride": 3, "max_query_length": 2}
    found = windows_of(SpanExample("q", "x y z", context), **flags)
    ids = Letters().encode(context)
    assert [w.context_start for w in found] == [0, 3, 6]
    assert [w.word_ids[4:-1] for w in found] == [ids[0:5], ids[3:8], ids[6:11]]
    assert all(w.word_ids[:4] == [CLS, 100, 102, SEP] for w in found)
    assert all(len(w.word_ids) == len(w.type_ids) <= 10 for w in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna", "Anna"),
        ("Anna Bell", "Anna Bell"),
        ("1895", "1895"),
        ("(1895-1901)", "(1895-1901)"),
        ("Bell (1895", "Bell (1895"),
        ("Ann", "Ann"),  # a token of its own
        ("Japan", "Japane"),  # the second token is cut in the middle
        ("apanese", "Japanese"),  # begins inside the first token
    ],
)
def test_the_label_is_the_answer_in_the_context(text, expected):
    context = "Anna Bell (1895-1901) was not Japanese."
    example = SpanExample("q", "Who?", context, answer(context, text))
    (window,) = windows_of(example)
    first, last = (
        position - window.context_position
        for position in (window.start_position, window.end_position)
    )
    assert spans.span_text(context, window.offsets, first, last) == expected


def test_answers_that_no_token_overlaps_have_no_span():
    offsets = np.array([[0, 3], [5, 8]])
    assert spans.token_span(offsets, 3, 5) is None
    assert spans.token_span(offsets, 8, 9) is None
    assert spans.token_span(np.zeros((0, 2), int), 0, 1) is None
    assert spans.token_span(offsets, 2, 5) == (0, 0)
    assert spans.token_span(offsets, 0, 8) == (0, 1)


def test_wordpieces_of_one_character_share_its_offsets():
    # A letter that decomposes into three tokens: all of them have the position of the letter.
    offsets = np.array([[0, 1], [1, 2], [1, 2], [1, 2], [2, 3]])
    assert spans.token_span(offsets, 1, 2) == (1, 3)


def test_windows_without_the_whole_answer():
    context = " ".join("abcdefghijk")
    flags = {"max_seq_length": 9, "doc_stride": 3, "max_query_length": 1}
    example = SpanExample("q", "x", context, answer(context, "e f"))
    found = windows_of(example, **flags)  # a-e, d-h, g-k
    assert [(w.start_position, w.end_position) for w in found] == [(0, 0), (4, 5), (0, 0)]


def test_unanswerable_questions_point_at_cls():
    context = " ".join("abcdefghijk")
    flags = {"max_seq_length": 9, "doc_stride": 3, "max_query_length": 1}
    example = SpanExample("q", "x", context, is_impossible=True)
    found = windows_of(example, **flags)
    assert [(w.start_position, w.end_position) for w in found] == [(0, 0)] * 3


def test_the_first_of_several_answers_is_the_label():
    context = "red or blue"
    example = SpanExample("q", "x", context, (Answer("blue", 7), Answer("red", 0)))
    (window,) = windows_of(example)
    assert (window.start_position, window.end_position) == (5, 6)


def test_windows_know_their_example_when_ids_repeat():
    examples = [SpanExample("same", "x", c) for c in ("a b", "a b", "c d e")]
    found = windows_of(*examples)
    assert [w.example_index for w in found] == [0, 1, 2]
    assert [len(w.offsets) for w in found] == [2, 2, 3]


def test_a_context_without_tokens_has_one_window():
    (window,) = windows_of(SpanExample("q", "x", "  "))
    assert window.word_ids == [CLS, 100, SEP, SEP]
    assert window.offsets.shape == (0, 2)
    assert window.is_max_context.shape == (0,)


def test_a_context_is_tokenised_once_for_all_its_questions():
    class Counting(Letters):
        calls = 0

        def encode_with_offsets(self, text):
            self.calls += 1
            return super().encode_with_offsets(text)

        def encode(self, text):
            return Letters().encode(text)

    tokenizer = Counting()
    examples = [SpanExample(str(i), "x", "a b c") for i in range(5)]
    assert len(list(spans.make_windows(examples, tokenizer, VOCABULARY))) == 5
    assert tokenizer.calls == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_seq_length": 67}, "--max_seq_length=67 leaves no room .* --max_query_length=64"),
        ({"doc_stride": 0}, "--doc_stride=0 must be at least 1"),
    ],
)
def test_wrong_flags(flags, message):
    with pytest.raises(InputError, match=message):
        windows_of(SpanExample("q", "x", "a"), **flags)
    windows_of(SpanExample("q", "x", "a"), max_seq_length=68, doc_stride=1)
