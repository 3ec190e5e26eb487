"""Choices in columns and in lists, their labels, and rows that are wrong."""

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import ChoiceExample
from bert_tf.examples.readers import ChoiceLayout

COLUMNS = ChoiceLayout(
    context=("passage", "question"), choices=("a", "b", "c"), label="right", first_label="A"
)


def write(tmp_path, text, name="train.csv"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


HEADER = "passage,question,a,b,c,right\n"


def test_columns_with_letters(tmp_path):
    path = write(tmp_path, f"{HEADER}It rains.,Why?,clouds,sun,wind,A\nx,y,p,q,r,C\n")
    assert COLUMNS.read(path) == [
        ChoiceExample("0", "It rains. Why?", ("clouds", "sun", "wind"), "0"),
        ChoiceExample("1", "x y", ("p", "q", "r"), "2"),
    ]


def test_empty_choices_at_the_end_are_left_out(tmp_path):
    path = write(tmp_path, f"{HEADER}x,y,p,q,,B\n")
    assert COLUMNS.read(path)[0].choices == ("p", "q")
    lines = '{"passage": "x", "question": "y", "a": "p", "b": "q", "c": null, "right": "B"}\n'
    full = lines.replace("null", '"r"').replace('"B"', '"C"')
    path = write(tmp_path, lines + lines.replace(', "c": null', "") + full, "train.jsonl")
    assert [len(example.choices) for example in COLUMNS.read(path)] == [2, 2, 3]


def test_lists_with_numbers_from_1(tmp_path):
    row = '{"id": "q9", "stem": "It", "answers": ["falls", "rises"], "context": "Snow.", "key": 2}'
    layout = ChoiceLayout(
        context=("context",),
        choices=("answers",),
        stem="stem",
        label="key",
        first_label="1",
        row_id="id",
    )
    path = write(tmp_path, f"{row}\n", "train.jsonl")
    assert layout.read(path) == [ChoiceExample("q9", "Snow.", ("It falls", "It rises"), "1")]
    assert layout.read(path, is_test=True)[0].label is None


def test_weights_of_training_rows(tmp_path):
    layout = ChoiceLayout(context=("c",), choices=("a", "b"), label="l", weight="w")
    assert layout.read(write(tmp_path, "c,a,b,l,w\nx,y,z,0,0.25\n"))[0].weight == 0.25
    assert layout.read(write(tmp_path, "c,a,b\nx,y,z\n"), is_test=True)[0].weight == 1.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,y,p,,,A", "line 3: 1 choice found, at least 2 wanted"),
        ("x,y,,,,A", "line 3: 0 choices found"),
        ("x,y,p,,r,A", "line 3: choice 2 of 3 is empty"),
        ("x,y,p,q,r,D", "line 3: label 'D' names none of the 3 choices; wanted one of A, B, C"),
        ("x,y,p,q,r,", "line 3: label '' names none"),
        (",,p,q,r,A", "line 3: the text in front of the choices is empty"),
        ("x,y,p,q,A", "line 3: 5 columns found, 6 wanted"),
    ],
)
def test_wrong_rows_are_refused_with_their_line(tmp_path, row, message):
    path = write(tmp_path, f"{HEADER}x,y,p,q,r,A\n{row}\n")
    with pytest.raises(InputError, match=message) as error:
        COLUMNS.read(path)
    assert path in str(error.value)
