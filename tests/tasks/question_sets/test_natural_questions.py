"""Natural Questions in its simplified layout, on an invented page."""

import io
import json

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer
from bert_tf.options import QuestionSet
from bert_tf.tasks.question_sets import natural_questions

# Tokens 0 to 2, 3 to 9, 10 to 13, 14 to 18.
PAGE = "<H1> Rain </H1>" + " <P> Rain \U0001f327 falls < b >" + " from clouds . </P>"
PAGE += " <Table> <Tr> Snow </Tr> </Table>"
CLOUDS = {"start_token": 11, "end_token": 12}
PARAGRAPH = {"start_token": 3, "end_token": 14, "candidate_index": 0}
TABLE = {"start_token": 14, "end_token": 19, "candidate_index": 1}
NOTHING = {"start_token": -1, "end_token": -1, "candidate_index": -1}
TEXT = "Rain \U0001f327 falls < b > from clouds ."


def annotation(long_answer=PARAGRAPH, short_answers=(), yes_no="NONE"):
    short = list(short_answers)
    return {"long_answer": long_answer, "short_answers": short, "yes_no_answer": yes_no}


def read(*annotations, context="long_answer", keep_unanswerable=True, **changes):
    options = QuestionSet(
        layout="natural_questions",
        input_file="nq.jsonl",
        output_file="out.json",
        context=context,
        keep_unanswerable=keep_unanswerable,
    )
    entry = {"example_id": -17, "question_text": "where does rain come from"}
    entry |= {"document_url": "https://a.example/Rain", "document_text": PAGE}
    entry |= {"annotations": annotations, "long_answer_candidates": []} | changes
    (result,) = natural_questions.read(io.BytesIO(json.dumps(entry).encode()), options)
    return result


def test_the_short_answer_is_asked_of_the_long_one():
    url, example = read(annotation(short_answers=[CLOUDS]))
    assert (url, example.question_id) == ("https://a.example/Rain", "-17")
    assert example.question == "where does rain come from"
    assert example.context == TEXT
    assert example.answers == (Answer("clouds", 24),)
    assert TEXT[24:30] == "clouds" and not example.is_impossible


def test_the_short_answer_is_asked_of_the_whole_page():
    _, example = read(annotation(short_answers=[CLOUDS]), context="document")
    assert example.context == f"Rain {TEXT} Snow"
    assert example.answers == (Answer("clouds", 29),)
    assert example.context[29:35] == "clouds"


def test_tags_in_an_answer_are_no_text_of_it():
    """An answer from a tag at its begin over others to its end, at the start of the context."""
    spans = [{"start_token": 3, "end_token": 6}, {"start_token": 0, "end_token": 5}]
    _, example = read(annotation(NOTHING, spans), context="document")
    assert example.answers == (Answer("Rain \U0001f327", 5), Answer("Rain Rain", 0))
    for answer in example.answers:
        assert example.context[answer.start : answer.end] == answer.text


def test_several_short_answers_stay_in_their_order():
    rain = {"start_token": 4, "end_token": 5}
    _, example = read(annotation(short_answers=[CLOUDS, rain, CLOUDS]))
    assert example.answers == (Answer("clouds", 24), Answer("Rain", 0))


def test_a_question_without_a_short_answer_is_unanswerable():
    _, example = read(annotation())
    assert example.is_impossible and example.answers == () and example.context == TEXT
    _, example = read(annotation(NOTHING), context="document")
    assert example.is_impossible and example.context == f"Rain {TEXT} Snow"


@pytest.mark.parametrize(
    ("given", "changes", "reason"),
    [
        (annotation(), {"keep_unanswerable": False}, "without a short answer"),
        (annotation(NOTHING), {}, "without a long answer"),
        (annotation({"start_token": 18, "end_token": 19}), {}, "without a long answer"),
        (annotation(yes_no="YES"), {}, "answered by yes or no"),
        (annotation(TABLE, [CLOUDS]), {}, "whose short answer is not in the context"),
        (annotation(PARAGRAPH, [PARAGRAPH | {"start_token": 13}]), {}, "whose short answer is not"),
        (annotation(PARAGRAPH, [CLOUDS | {"end_token": 99}]), {}, "whose short answer is not"),
    ],
)
def test_what_is_left_out(given, changes, reason):
    assert read(given, **changes).startswith(reason)


def test_two_of_five_annotators_decide_whether_there_is_an_answer():
    """The threshold for short answers in the authors' nq_eval.py."""
    nobody, somebody = annotation(NOTHING), annotation(short_answers=[CLOUDS])
    snow = annotation(TABLE, [{"start_token": 16, "end_token": 17}])
    _, example = read(nobody, nobody, somebody, nobody, nobody, context="document")
    assert example.is_impossible
    _, example = read(nobody, somebody, nobody, snow, nobody, context="document")
    assert [answer.text for answer in example.answers] == ["clouds", "Snow"]
    _, example = read(nobody, somebody, nobody, snow, nobody)
    assert [answer.text for answer in example.answers] == ["clouds"]  # within the first long answer


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"annotations": None}, "nq.jsonl, line 1: 'annotations' is a NoneType, wanted a list"),
        ({"annotations": [{}]}, "line 1 has no 'short_answers'"),
        ({"annotations": [annotation({})]}, "line 1 has no 'start_token'"),
        ({"document_text": 1}, "line 1: 'document_text' is a int, wanted a str"),
        ({"document_tokens": []}, "original layout of Natural Questions; the simplified one was"),
    ],
)
def test_what_is_not_in_the_layout_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        read(annotation(), **changes)
