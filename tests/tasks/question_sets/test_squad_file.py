"""The file in SQuAD's layout: read back by Python's JSON, complete or not there."""

import gzip
import json
import pathlib

import pytest

from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.tasks.question_sets import squad_file

ANSWERED = SpanExample("q1", "Wer?", "Ein M\u00e4rchen \U0001f600.", (Answer("M\u00e4rchen", 4),))
UNANSWERABLE = SpanExample("q2", "Half of a pair: \ud83d?", "Text", is_impossible=True)


def write(path, examples, may_be_unanswerable):
    with squad_file.writing(str(path), may_be_unanswerable=may_be_unanswerable) as add:
        for example in examples:
            add("A title", example)


def test_the_layout_of_squad_1_1(tmp_path):
    write(tmp_path / "out" / "a.json", [ANSWERED], False)
    question = {"id": "q1", "question": "Wer?"}
    question["answers"] = [{"text": "M\u00e4rchen", "answer_start": 4}]
    paragraph = {"context": "Ein M\u00e4rchen \U0001f600.", "qas": [question]}
    wanted = {"version": "1.1", "data": [{"title": "A title", "paragraphs": [paragraph]}]}
    assert json.loads((tmp_path / "out" / "a.json").read_text()) == wanted


def test_the_layout_of_squad_2_0(tmp_path):
    write(tmp_path / "a.json", [ANSWERED, UNANSWERABLE], True)
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["version"] == "v2.0"
    questions = [each["paragraphs"][0]["qas"][0] for each in document["data"]]
    assert [each["is_impossible"] for each in questions] == [False, True]
    assert questions[1]["answers"] == [] and questions[1]["question"] == UNANSWERABLE.question


def test_a_compressed_file_has_the_same_text_and_always_the_same_bytes(tmp_path):
    paths = [tmp_path / name for name in ("a.json", "b.json.gz", "c.json.gz")]
    for path in paths:
        write(path, [ANSWERED, UNANSWERABLE], True)
    texts = [pathlib.Path(path).read_bytes() for path in paths]
    assert gzip.decompress(texts[1]) == texts[0]
    assert texts[1] == texts[2]


def test_after_an_error_there_is_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        with squad_file.writing(str(path), may_be_unanswerable=False) as add:
            add("A title", ANSWERED)
            raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_what_a_killed_process_has_left_is_removed(tmp_path):
    (tmp_path / ".a.json.abcd1234").write_text("half of it")
    write(tmp_path / "a.json", [ANSWERED], False)
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
