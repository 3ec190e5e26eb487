"""Decoding against a search written out, and the released prediction format."""

import json
import math

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.examples import spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.tasks import squad


def test_predictions_need_different_ids():
    examples = [SpanExample("q1", "x", "a b"), SpanExample("q1", "y", "a b")]
    with pytest.raises(InputError, match="x.json has 2 questions but 1 different ids; q1 occur"):
        squad.require_unique_ids(examples, "x.json")
    squad.require_unique_ids(examples[:1], "x.json")


# Decoding. A context of one-letter tokens parted by spaces, token t at characters 2t to 2t + 1.


def window_of(num_tokens, context_start=0, question=2, example_index=0, is_max_context=None):
    tokens = np.arange(context_start, context_start + num_tokens)
    if is_max_context is None:
        is_max_context = np.ones(num_tokens, bool)
    return spans.Window(
        example_index=example_index,
        word_ids=[0] * (question + 2 + num_tokens + 1),
        type_ids=[0] * (question + 2) + [1] * (num_tokens + 1),
        context_position=question + 2,
        context_start=context_start,
        offsets=np.stack([2 * tokens, 2 * tokens + 1], axis=1).reshape(-1, 2),
        is_max_context=np.asarray(is_max_context, bool),
    )


def logits_of(window, rng, padding=0):
    size = len(window.word_ids) + padding
    return rng.normal(size=size).astype(np.float32), rng.normal(size=size).astype(np.float32)


def all_spans(context, windows, starts, ends, max_answer_length):
    """Every span that may answer, best first, written as loops over tokens."""
    found = []
    for window, start, end in zip(windows, starts, ends, strict=True):
        for i in range(len(window.offsets)):
            for j in range(i, min(i + max_answer_length, len(window.offsets))):
                if window.is_max_context[i]:
                    s, e = start[window.context_position + i], end[window.context_position + j]
                    text = context[window.offsets[i][0] : window.offsets[j][1]]
                    found.append((float(s) + float(e), text, float(s), float(e)))
    best = {}
    for _, text, s, e in sorted(found, key=lambda row: -row[0]):
        best.setdefault(text, (text, s, e))
    return list(best.values())


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("max_answer_length", [1, 3, 11, 50])
def test_decoding_finds_the_best_of_all_spans(seed, max_answer_length):
    rng = np.random.default_rng(seed)
    context = " ".join("abcdefghijklmnopqrs")
    windows = [
        window_of(11, 0, is_max_context=[1] * 7 + [0] * 4),
        window_of(11, 5, is_max_context=[0] * 2 + [1] * 6 + [0] * 3),
        window_of(7, 12, is_max_context=[0] + [1] * 6),
    ]
    starts, ends = zip(*(logits_of(w, rng, padding=5) for w in windows), strict=True)
    (prediction,) = squad.decode(
        [SpanExample("q", "x", context)],
        windows,
        starts,
        ends,
        n_best_size=5,
        max_answer_length=max_answer_length,
    )
    expected = all_spans(context, windows, starts, ends, max_answer_length)[:5]
    assert [(c.text, c.start_logit, c.end_logit) for c in prediction.n_best] == expected
    assert prediction.text == expected[0][0]
    total = sum(math.exp(s + e) for _, s, e in expected)
    for candidate, (_, s, e) in zip(prediction.n_best, expected, strict=True):
        assert candidate.probability == pytest.approx(math.exp(s + e) / total)


@pytest.mark.parametrize("n_best_size", [1, 4])
@pytest.mark.parametrize("is_v2", [False, True])
def test_shares_are_of_all_spans_of_all_windows(n_best_size, is_v2):
    """No answer has the least score of the windows; no text of this context occurs twice."""
    rng = np.random.default_rng(3)
    context = " ".join("abcdefghijk")
    windows = [
        window_of(7, 0, is_max_context=[1] * 5 + [0] * 2),
        window_of(7, 4, is_max_context=[0] + [1] * 6),
    ]
    starts, ends = zip(*(logits_of(w, rng, padding=2) for w in windows), strict=True)
    (prediction,) = squad.decode(
        [SpanExample("q", "x", context)],
        windows,
        starts,
        ends,
        n_best_size=n_best_size,
        max_answer_length=3,
        version_2_with_negative=is_v2,
    )
    weights = {t: math.exp(s + e) for t, s, e in all_spans(context, windows, starts, ends, 3)}
    assert len(weights) == 5 * 3 + 4 * 3 + 2 + 1  # by first token
    if is_v2:
        no_answer = [float(s[0]) + float(e[0]) for s, e in zip(starts, ends, strict=True)]
        weights[""] = math.exp(min(no_answer))
    total = sum(weights.values())
    assert prediction.shares == pytest.approx(
        [weights[each.text] / total for each in prediction.n_best]
    )


def peaked(window, start, end, height=9.0):
    """Logits that favour a span of context tokens."""
    logits = np.zeros((2, len(window.word_ids)), np.float32)
    logits[0, window.context_position + start] = height
    logits[1, window.context_position + end] = height
    return logits


def predict(window, logits, context="a b c d e", **flags):
    (prediction,) = squad.decode(
        [SpanExample("q", "x", context)], [window], logits[:1], logits[1:], **flags
    )
    return prediction


def test_special_question_and_padding_positions_never_answer():
    window = window_of(5)
    logits = peaked(window, 1, 3)
    logits[:, [0, 1, 2, 3, 9]] = 99.0  # [CLS], question, both [SEP]
    padded = np.pad(logits, ((0, 0), (0, 7)), constant_values=99.0)
    assert predict(window, padded).text == "b c d"


def test_the_end_is_not_before_the_start_and_not_too_far():
    window = window_of(5)
    assert predict(window, peaked(window, 3, 1)).text in ("d", "a b", "b", "d e")
    assert predict(window, peaked(window, 0, 4), max_answer_length=5).text == "a b c d e"
    assert predict(window, peaked(window, 0, 4), max_answer_length=4).text != "a b c d e"


def test_the_first_token_decides_which_window_scores_a_span():
    # Token 2 belongs to the first window, token 3 to the second; the span crosses over.
    windows = [
        window_of(4, 0, is_max_context=[1, 1, 1, 0]),
        window_of(3, 2, is_max_context=[0, 1, 1]),
    ]
    logits = [peaked(windows[0], 2, 3, 5.0), peaked(windows[1], 0, 1, 9.0)]
    (prediction,) = squad.decode(
        [SpanExample("q", "x", "a b c d e")],
        windows,
        [x[0] for x in logits],
        [x[1] for x in logits],
    )
    assert prediction.n_best[0] == squad.Candidate("c d", pytest.approx(0.7, abs=0.3), 5.0, 5.0)


def test_a_text_counts_once_with_its_best_score():
    window = window_of(5)
    logits = peaked(window, 1, 1)
    logits[:, window.context_position + 3] = 5.0
    prediction = predict(window, logits, context="a b c b e")
    texts = [candidate.text for candidate in prediction.n_best]
    assert texts[0] == "b"
    assert len(set(texts)) == len(texts)
    assert (prediction.n_best[0].start_logit, prediction.n_best[0].end_logit) == (9.0, 9.0)


def test_n_best_size_does_not_change_the_answer():
    rng = np.random.default_rng(3)
    window = window_of(13)
    logits = np.stack(logits_of(window, rng))
    context = " ".join("abcdefghijklm")
    answers = {predict(window, logits, context, n_best_size=n).text for n in (1, 2, 20, 1000)}
    assert len(answers) == 1
    assert len(predict(window, logits, context, n_best_size=3).n_best) == 3


def test_examples_are_told_apart_by_place_and_windows_come_in_any_order():
    windows = [window_of(5, example_index=i) for i in (1, 0, 1)]
    logits = [peaked(windows[0], 1, 1, 3.0), peaked(windows[1], 2, 2), peaked(windows[2], 4, 4)]
    examples = [SpanExample("same", "x", "a b c d e"), SpanExample("same", "x", "v w x y z")]
    predictions = squad.decode(examples, windows, [x[0] for x in logits], [x[1] for x in logits])
    assert [p.text for p in predictions] == ["c", "z"]


def test_null_score_is_the_least_of_the_windows():
    windows = [window_of(5), window_of(5)]
    logits = [peaked(windows[0], 1, 1, 2.0), peaked(windows[1], 3, 3, 1.0)]
    logits[0][:, 0] = (3.0, 4.0)
    logits[1][:, 0] = (1.0, 2.5)
    (prediction,) = squad.decode(
        [SpanExample("q", "x", "a b c d e")],
        windows,
        [x[0] for x in logits],
        [x[1] for x in logits],
        version_2_with_negative=True,
    )
    assert prediction.null_score_diff == 3.5 - 4.0
    assert prediction.text == "b"
    null = [(i, c) for i, c in enumerate(prediction.n_best) if c.text == ""]
    assert [(i, c.start_logit, c.end_logit) for i, c in null] == [(1, 1.0, 2.5)]


@pytest.mark.parametrize(("threshold", "text"), [(-2.1, ""), (-2.0, "b"), (0.0, "b")])
def test_null_wins_above_the_threshold_only(threshold, text):
    window = window_of(5)
    logits = peaked(window, 1, 1, 2.0)
    logits[:, 0] = 1.0  # 2 - 4 = -2
    flags = {"version_2_with_negative": True, "null_score_diff_threshold": threshold}
    prediction = predict(window, logits, **flags)
    assert (prediction.text, prediction.null_score_diff) == (text, -2.0)


def test_null_is_appended_if_it_is_not_among_the_n_best():
    window = window_of(5)
    logits = peaked(window, 1, 1)
    logits[:, 0] = -50.0
    prediction = predict(window, logits, version_2_with_negative=True, n_best_size=4)
    assert len(prediction.n_best) == 5
    assert prediction.n_best[-1].text == ""
    assert sum(c.probability for c in prediction.n_best) == pytest.approx(1.0)


def test_null_first_with_one_entry_still_knows_the_best_span():
    window = window_of(5)
    logits = peaked(window, 1, 1, 2.0)
    logits[:, 0] = 3.0
    flags = {"version_2_with_negative": True, "n_best_size": 1}
    prediction = predict(window, logits, **flags)
    assert (prediction.text, prediction.null_score_diff) == ("", 2.0)
    assert [c.text for c in prediction.n_best] == [""]
    assert predict(window, logits, null_score_diff_threshold=2.0, **flags).text == "b"


@pytest.mark.parametrize("windows", [[], [window_of(0)]])
def test_nothing_to_answer_with(windows):
    logits = [np.ones(len(window.word_ids), np.float32) for window in windows]
    for is_v2, diff in ((False, None), (True, squad.NOTHING_TO_ANSWER)):
        (prediction,) = squad.decode(
            [SpanExample("q", "x", " ")], windows, logits, logits, version_2_with_negative=is_v2
        )
        assert (prediction.text, prediction.null_score_diff) == ("", diff)
        (candidate,) = prediction.n_best
        assert (candidate.text, candidate.probability) == ("", 1.0)


def test_wrong_flags_and_logits():
    window = window_of(5)
    for flags in ({"n_best_size": 0}, {"max_answer_length": 0}):
        with pytest.raises(InputError, match="must be at least 1"):
            predict(window, peaked(window, 1, 1), **flags)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Question q: logits of a window of 10 tokens"):
            predict(window, peaked(window, 1, 1, bad))
    with pytest.raises(ValueError, match=r"logits of a window of 10 tokens have shape \(2, 7\)"):
        predict(window, peaked(window, 1, 1)[:, :7])


def test_prediction_files_have_the_released_layout(tmp_path):
    examples = [SpanExample("q2", "x", "a é"), SpanExample("q1", "x", "a é")]
    windows = [window_of(2, example_index=0), window_of(2, example_index=1)]
    logits = [peaked(windows[0], 1, 1, 2.0), peaked(windows[1], 0, 0, 1.0)]
    arguments = (examples, windows, [x[0] for x in logits], [x[1] for x in logits])
    paths = squad.write_predictions(str(tmp_path / "v1"), examples, squad.decode(*arguments))
    assert [p.rsplit("/", 1)[1] for p in paths] == ["predictions.json", "nbest_predictions.json"]
    text = (tmp_path / "v1" / "predictions.json").read_text()
    assert text == '{\n    "q2": "\\u00e9",\n    "q1": "a"\n}\n'
    n_best = json.loads((tmp_path / "v1" / "nbest_predictions.json").read_text())
    assert list(n_best) == ["q2", "q1"]
    *released, ours = n_best["q2"][0]
    assert released == ["text", "probability", "start_logit", "end_logit"]
    assert ours == "span_probability"  # here all spans are entries
    assert all(x["span_probability"] == pytest.approx(x["probability"]) for x in n_best["q2"])
    assert [entry["text"] for entry in n_best["q2"]] == ["é", "a é", "a"]
    predictions = squad.decode(*arguments, version_2_with_negative=True)
    paths = squad.write_predictions(str(tmp_path / "v2"), examples, predictions)
    assert json.loads(open(paths[2]).read()) == {"q2": -4.0, "q1": -2.0}


def test_no_prediction_files_for_repeated_ids(tmp_path):
    examples = [SpanExample("q", "x", "a b"), SpanExample("q", "x", "a b")]
    predictions = [squad.Prediction("a", ())] * 2
    with pytest.raises(InputError, match="2 questions but 1 different ids"):
        squad.write_predictions(str(tmp_path), examples, predictions)
    assert list(tmp_path.iterdir()) == []
