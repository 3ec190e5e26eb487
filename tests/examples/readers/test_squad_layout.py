"""Files in the layout of SQuAD."""

import copy
import gzip
import json

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.examples.readers import SquadLayout

CONTEXT = "Anna Bell moved to Oslo in 1895."

DOCUMENT = {
    "version": "1.1",
    "data": [
        {
            "title": "Bell",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "q1",
                            "question": "When did she move?",
                            "answers": [
                                {"text": "1895", "answer_start": 27},
                                {"text": "in 1895", "answer_start": 24},
                            ],
                        },
                        {
                            "id": "q2",
                            "question": "Where to?",
                            "answers": [{"text": "Oslo", "answer_start": 19}],
                        },
                    ],
                }
            ],
        }
    ],
}
IMPOSSIBLE = {"id": "q3", "question": "Who is Tom?", "answers": [], "is_impossible": True}


def questions(document):
    return document["data"][0]["paragraphs"][0]["qas"]


def write(tmp_path, document, name="train.json"):
    path = tmp_path / name
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def read(path, capsys, **layout):
    """(examples, lines of the warning)."""
    examples = SquadLayout(**layout).read(path)
    return examples, capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", ["train.json", "train.json.gz"])
def test_reading(tmp_path, name, capsys):
    examples, problems = read(write(tmp_path, DOCUMENT, name), capsys, is_training=True)
    assert problems == []
    assert examples == [
        SpanExample(
            "q1", "When did she move?", CONTEXT, (Answer("1895", 27), Answer("in 1895", 24))
        ),
        SpanExample("q2", "Where to?", CONTEXT, (Answer("Oslo", 19),)),
    ]


def test_misplaced_answers_are_reported_and_not_trained_on(tmp_path, capsys):
    document = copy.deepcopy(DOCUMENT)
    questions(document)[0]["answers"][0]["answer_start"] = 26
    questions(document)[1]["answers"] = []
    path = write(tmp_path, document)
    for is_training in (False, True):
        if is_training:
            questions(document).append(DOCUMENT["data"][0]["paragraphs"][0]["qas"][0])
            path = write(tmp_path, document)
        examples, problems = read(path, capsys, is_training=is_training)
        assert [e.question_id for e in examples] == (["q1"] if is_training else ["q1", "q2"])
        assert (
            "qas[0] (id q1): answer '1895' is not at character 26, where ' 189' is." in problems[1]
        )
        assert len(problems) == 2 + is_training
    assert "qas[1] (id q2): has no answer." in problems[2]


@pytest.mark.parametrize("start", [-4, 30, 400])
def test_answers_outside_the_context_are_reported(tmp_path, start, capsys):
    document = copy.deepcopy(DOCUMENT)
    questions(document)[0]["answers"][0]["answer_start"] = start
    examples, problems = read(write(tmp_path, document), capsys, is_training=True)
    assert (len(examples), len(problems)) == (1, 2)


def test_unanswerable_questions_need_the_flag(tmp_path, capsys):
    document = copy.deepcopy(DOCUMENT)
    questions(document).append(IMPOSSIBLE)
    path = write(tmp_path, document)
    with pytest.raises(
        InputError, match="marks 1 of 3 questions .* --version_2_with_negative=true"
    ):
        read(path, capsys)
    examples, problems = read(path, capsys, version_2_with_negative=True, is_training=True)
    assert [e.is_impossible for e in examples] == [False, False, True]
    assert problems == []


def test_questions_to_predict_need_no_answers(tmp_path, capsys):
    document = copy.deepcopy(DOCUMENT)
    for question in questions(document):
        del question["answers"]
    path = write(tmp_path, document)
    examples, problems = read(path, capsys)
    assert (len(examples), problems) == (2, [])
    with pytest.raises(InputError, match=r"no question to train on .*q1\): has no answer"):
        read(path, capsys, is_training=True)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is not JSON: "),
        ("[]", "is a list; an object with 'data' was wanted"),
        ('{"version": "1.1"}', r"has no 'data', only version"),
        ('{"data": {}}', "'data' is a dict, wanted a list"),
        ('{"data": [{"title": "x"}]}', r"data\[0\] has no 'paragraphs', only title"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', r"paragraphs\[0\] has no 'context'"),
        ('{"data": [{"paragraphs": [{"context": "x", "qas": ["y"]}]}]}', r"qas\[0\] is a str"),
        ('{"data": []}', "no question was found"),
    ],
)
def test_other_files_are_refused(tmp_path, document, message, capsys):
    path = write(tmp_path, document)
    with pytest.raises(InputError, match=message) as error:
        read(path, capsys)
    assert path in str(error.value)


@pytest.mark.parametrize("key", ["id", "question"])
def test_a_question_lacks_a_key(tmp_path, key, capsys):
    document = copy.deepcopy(DOCUMENT)
    del questions(document)[1][key]
    with pytest.raises(InputError, match=rf"data\[0\].paragraphs\[0\].qas\[1\] has no '{key}'"):
        read(write(tmp_path, document), capsys)


def test_repeated_ids_train(tmp_path, capsys):
    document = copy.deepcopy(DOCUMENT)
    questions(document)[1]["id"] = "q1"
    examples, _ = read(write(tmp_path, document), capsys, is_training=True)
    assert [e.question_id for e in examples] == ["q1", "q1"]


def test_all_problems_on_demand(tmp_path, capsys):
    document = copy.deepcopy(DOCUMENT)
    for number in range(7):
        questions(document).append(IMPOSSIBLE | {"id": f"r{number}", "is_impossible": False})
    path = write(tmp_path, document)
    _, few = read(path, capsys, is_training=True)
    _, every = read(path, capsys, is_training=True, shows_all_problems=True)
    assert few[0] == every[0] == f"WARNING: {path}: 7 questions with problems, left out:"
    assert (len(few), len(every)) == (1 + 5 + 1, 1 + 7)
    assert few[-1] == "  ... --verbose_logging shows all."
