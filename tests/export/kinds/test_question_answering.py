"""An exported model that answers questions: the Python path's answers, whatever it is asked."""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.examples import spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.examples.rows import encoder_inputs
from bert_tf.library import loading
from bert_tf.tasks import squad
from bert_tf.text.wordpiece import WordPieceTokenizer
from export import savedmodel
from export.kinds import checks
from export.version import report, verify
from serving.models import servable, warmup
from serving.rest_api import json_reading, json_writing

FOX = "The quick brown fox jumps over a lazy dog. "
PAIRS = [
    ("Who jumps?", FOX),
    ("", FOX * 3),
    ("Where is the lazy dog", ""),
    ("", ""),
    ("over? " * 31, FOX * 13),  # longer than max_query_length
    ("a dog?", "👍🏽 fox e\u0301 \u0301x \ufeffdog\u200b 東京 " * 5),
    ("dog", b"caf\xc3\xa9 \xff\xfe dog, the \xe2\x82fox"),
    (b"\xff quick", FOX[:9]),
    ("lazy", " \n\x00\u200b"),
    *[("a fox " * n, ("lazy " * n + "dog ") * n) for n in range(7)],
]
OUTPUTS = {
    "answer": (tf.string, ()),
    "start": (tf.int32, ()),
    "end": (tf.int32, ()),
    "score": (tf.float32, ()),
    "null_odds": (tf.float32, ()),
    "has_answer": (tf.bool, ()),
    "n_best_answers": (tf.string, (6,)),
    "n_best_starts": (tf.int32, (6,)),
    "n_best_ends": (tf.int32, (6,)),
    "n_best_scores": (tf.float32, (6,)),
}


def text_of(text):
    return text.decode("utf-8", "ignore") if isinstance(text, bytes) else text


@pytest.fixture(scope="module")
def loaded(question_case, loaded_version):
    return loaded_version(question_case)


@pytest.fixture(scope="module")
def together(loaded):
    """The answers to `PAIRS`, as NumPy arrays."""
    return answers_of(loaded, PAIRS)


def answers_of(loaded, pairs):
    question, context = (list(column) for column in zip(*pairs, strict=True))
    return {name: tensor.numpy() for name, tensor in loaded(question, context).items()}


@pytest.fixture(scope="module")
def offline(question_case):
    """Windows of `PAIRS`, their logits [W 2 T] one by one, and the predictions."""
    directory = question_case.directory
    tokenizer = WordPieceTokenizer(directory.vocabulary, do_lower_case=True)
    examples = [SpanExample(str(i), text_of(q), text_of(c)) for i, (q, c) in enumerate(PAIRS)]
    sizes = {"max_seq_length": 31, "doc_stride": 7, "max_query_length": 11}
    windows = list(spans.make_windows(examples, tokenizer, directory.vocabulary, **sizes))
    logits = []
    for window in windows:
        batch = encoder_inputs([window.word_ids], [window.type_ids])
        logits.append(np.asarray(question_case.model(batch, training=False)["logits"])[0])
    predictions = squad.decode(
        examples,
        windows,
        [each[0] for each in logits],
        [each[1] for each in logits],
        n_best_size=5,
        max_answer_length=4,
        version_2_with_negative=True,
        null_score_diff_threshold=-0.25,
    )
    return windows, logits, predictions


def test_the_answers_are_those_of_the_python_path(together, offline):
    windows, _, predictions = offline
    assert len(windows) > 2 * len(PAIRS)
    has_answer = [prediction.text != "" for prediction in predictions]
    assert 0 < sum(has_answer) < len(PAIRS)  # or equality would say little
    assert together["has_answer"].tolist() == has_answer
    assert [text.decode() for text in together["answer"]] == [p.text for p in predictions]
    diffs = [prediction.null_score_diff for prediction in predictions]
    np.testing.assert_allclose(together["null_odds"], diffs, atol=1e-5, rtol=1e-6)
    for number, prediction in enumerate(predictions):
        size = len(prediction.n_best)
        texts = [text.decode() for text in together["n_best_answers"][number]]
        assert texts == [each.text for each in prediction.n_best] + [""] * (6 - size)
        probabilities = [each.probability for each in prediction.n_best] + [0.0] * (6 - size)
        np.testing.assert_allclose(together["n_best_scores"][number], probabilities, atol=1e-5)
        index = texts.index(prediction.text)
        assert together["score"][number] == together["n_best_scores"][number][index]


def test_offsets_cut_the_answers_out_of_the_contexts(together):
    for number, (_, context) in enumerate(PAIRS):
        row = {name: column[number] for name, column in together.items()}
        assert text_of(context)[row["start"] : row["end"]] == row["answer"].decode()
        columns = ("n_best_starts", "n_best_ends", "n_best_answers")
        for start, end, answer in zip(*(row[name] for name in columns), strict=True):
            assert text_of(context)[start:end] == answer.decode()
            assert (start == -1) == (answer == b"")


def test_an_answer_does_not_depend_on_its_neighbours(loaded, together):
    for number, pair in enumerate(PAIRS):
        alone = answers_of(loaded, [pair])
        for name, column in together.items():
            if column.dtype == np.float32:
                np.testing.assert_allclose(alone[name][0], column[number], atol=4e-6, rtol=1e-6)
            elif column.dtype != np.int32:
                np.testing.assert_array_equal(alone[name][0], column[number])
        # Of equal texts in windows alike, rounding decides which is the answer.
        context, answer = text_of(pair[1]), together["answer"][number].decode()
        if context.count(answer) == 1:
            assert alone["start"][0] == together["start"][number]


def test_outputs_have_a_batch_dimension_and_no_question_is_answered(loaded):
    signature = loaded.signatures["serving_default"]
    none = tf.constant([], tf.string)
    answer = signature(question=none, context=none)
    assert {k: (v.dtype, tuple(v.shape)) for k, v in answer.items()} == {
        name: (dtype, (0, *shape)) for name, (dtype, shape) in OUTPUTS.items()
    }
    assert {k: tuple(v.shape) for k, v in signature.structured_outputs.items()} == {
        name: (None, *shape) for name, (_, shape) in OUTPUTS.items()
    }
    ids = loaded.signatures["ids"]
    for shape in ((0, 0), (0, 5)):
        names = ("input_word_ids", "input_mask", "input_type_ids")
        logits = ids(**{name: tf.zeros(shape, tf.int32) for name in names})
        assert {k: tuple(v.shape) for k, v in logits.items()} == {
            "start_logits": shape,
            "end_logits": shape,
        }


def test_one_question_is_answered_without_a_batch_dimension(loaded, together):
    answer = loaded(*PAIRS[0])
    assert {k: (v.dtype, tuple(v.shape)) for k, v in answer.items()} == OUTPUTS
    assert answer["answer"] == together["answer"][0]
    named = loaded(question=[PAIRS[0][0]], context=[FOX])
    assert named["answer"][0] == together["answer"][0]


def test_the_library_answers_as_the_signature(question_case, together):
    model = loading.load(question_case.exported.path)
    assert (model.num_texts, model.labels) == (2, ())
    found = model(tuple(map(list, zip(*PAIRS, strict=True))))
    assert [answer.text for answer in found] == [x.decode() for x in together["answer"]]
    assert [answer.probability for answer in found] == together["score"].tolist()
    for answer, start, end in zip(found, together["start"], together["end"], strict=True):
        assert (answer.start, answer.end) == ((start, end) if answer.text else (None, None))
    assert model(PAIRS[0]) == found[0]


def test_logits_of_ids(loaded, offline):
    windows, logits, _ = offline
    longest = max(len(window.word_ids) for window in windows) + 3
    batch = encoder_inputs(
        [w.word_ids for w in windows], [w.type_ids for w in windows], length=longest
    )
    answer = loaded.signatures["ids"](**{name: tf.constant(x) for name, x in batch.items()})
    for number, window in enumerate(windows):
        size = len(window.word_ids)
        for name, want in zip(("start_logits", "end_logits"), logits[number], strict=True):
            np.testing.assert_allclose(answer[name][number, :size], want[:size], atol=1e-5)
            assert np.all(answer[name][number, size:].numpy() < -1e8)


def test_a_context_of_any_length_is_answered(loaded):
    context = "the lazy dog jumps over a fox. " * 700
    answer = answers_of(loaded, [("who jumps?", context)])
    text = answer["n_best_answers"][0, 0].decode()
    start, end = answer["n_best_starts"][0, 0], answer["n_best_ends"][0, 0]
    assert context[start:end] == text


def test_another_models_graph_is_a_mismatch(question_case, other_weights):
    exported = question_case.exported
    assert exported.difference < 1e-5
    ids_only = {"ids": exported.signatures["ids"]}
    message = "Signature ids .* the Python path"
    with other_weights(question_case.model), pytest.raises(checks.Mismatch, match=message):
        verify.largest_difference(exported.path, exported.module, ids_only)


def test_other_answers_are_a_mismatch(question_case, monkeypatch):
    exported, decode = question_case.exported, squad.decode

    def without_limit(*args, **flags):
        return decode(*args, **flags | {"max_answer_length": 17})

    monkeypatch.setattr(squad, "decode", without_limit)
    with pytest.raises(checks.Mismatch, match="serving_default .* otherwise than the Python path"):
        verify.largest_difference(exported.path, exported.module, exported.signatures)


def test_the_server_answers_rows_and_runs_the_warm_up_requests(question_case, together):
    loaded = servable.Servable("questions", 1, question_case.exported.path)
    assert warmup.run(loaded) == 4
    signature = loaded.signature("")
    document = {"instances": [{"question": q, "context": c} for q, c in PAIRS[:6]]}
    inputs = {name: spec.dtype for name, spec in signature.inputs.items()}
    form, feeds = json_reading.read(document, inputs, 2**20)
    answer = loaded.run("", feeds)
    body = b"".join(json_writing.prediction(form, answer, signature.outputs))
    rows = json.loads(body)["predictions"]
    assert [row["answer"] for row in rows] == [x.decode() for x in together["answer"][:6]]
    assert [row["has_answer"] for row in rows] == together["has_answer"][:6].tolist()
    assert [row["start"] for row in rows] == together["start"][:6].tolist()


def test_the_report_says_how_to_ask(question_case, capsys):
    report.print_report(question_case.exported, question_case.directory.metadata, 3.21)
    printed = capsys.readouterr().out
    assert (
        "serving_default: context string [B], question string [B] -> answer string [B]" in printed
    )
    assert "n_best_answers string [B 6]" in printed
    assert "start, end: Unicode code points of the context; -1 for no answer\n" in printed
    assert "\n  smallest TensorFlow Serving image: 2.13; of TensorFlow Text it needs " in printed
    assert 'model(["a question"], ["a context"])' in printed
    assert '--model_name=questions --question="a question" --context="a context"\n' in printed


def test_a_window_needs_room_for_the_question_and_a_token(question_case):
    assert savedmodel.check(question_case.directory) == 31
    assert savedmodel.check(question_case.directory, 15) == 15
    with pytest.raises(InputError, match="at least 15"):
        savedmodel.check(question_case.directory, 14)
