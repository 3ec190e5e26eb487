"""Prediction files: what they hold, and that hostile texts come back as they were."""

import json

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import ChoiceExample, TextExample, TokenExample
from bert_tf.tasks import predictions

HOSTILE = "tab\there\nline\r\nend \\t \\ \u2028 \x0b \"quoted\" 'text'"


def rows(path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")]


def test_files_of_texts_with_labels(tmp_path):
    examples = [TextExample("a1", "It rains.", "Wet."), TextExample("b2", "Sun.", "Dry.")]
    chances = np.array([[0.25, 0.75], [1.0, 0.0]])
    paths = predictions.write(
        str(tmp_path), "_matched", examples, ["yes", "no"], chances, ["no", "yes"]
    )
    assert paths == [str(tmp_path / f"{n}_matched.tsv") for n in ("test_results", "predictions")]
    assert rows(tmp_path / "test_results_matched.tsv") == [["0.25", "0.75"], ["1.0", "0.0"], [""]]
    assert rows(tmp_path / "predictions_matched.tsv") == [
        ["index", "prediction", "text_a", "text_b", "probability_no", "probability_yes"],
        ["a1", "yes", "It rains.", "Wet.", "0.25", "0.75"],
        ["b2", "no", "Sun.", "Dry.", "1.0", "0.0"],
        [""],
    ]


def test_files_of_single_texts_with_numbers(tmp_path):
    values = np.array([[1.5], [-0.1]], np.float32)
    examples = [TextExample("0", "x"), TextExample("1", "y")]
    predictions.write(str(tmp_path), "", examples, values[:, 0], values)
    assert rows(tmp_path / "test_results.tsv") == [["1.5"], ["-0.1"], [""]]
    assert rows(tmp_path / "predictions.tsv") == [
        ["index", "prediction", "text_a"],
        ["0", "1.5", "x"],
        ["1", "-0.1", "y"],
        [""],
    ]


def test_files_of_choices(tmp_path):
    examples = [
        ChoiceExample("0", "He", ("ran", "sat", "ate")),
        ChoiceExample("1", "It", ("a", "b")),
    ]
    chances = np.array([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]])
    predictions.write(str(tmp_path), "", examples, np.array([0, 1]), chances, ["0", "1", "2"])
    header, *found, _ = rows(tmp_path / "predictions.tsv")
    assert header[:3] == ["index", "prediction", "context"]
    assert header[3:6] == ["choice_0", "choice_1", "choice_2"]
    assert header[6:] == ["probability_0", "probability_1", "probability_2"]
    assert found[0] == ["0", "0", "He", "ran", "sat", "ate", "0.5", "0.25", "0.25"]
    assert found[1] == ["1", "1", "It", "a", "b", "", "0.25", "0.75", "0.0"]


def test_tabs_and_line_ends_of_texts_are_escaped(tmp_path):
    examples = [TextExample(HOSTILE, HOSTILE), TextExample("2", "")]
    predictions.write(str(tmp_path), "", examples, [HOSTILE, "b"], np.zeros((2, 1)), ["x"])
    found = rows(tmp_path / "predictions.tsv")
    assert [len(row) for row in found] == [4, 4, 4, 1]
    assert found[1][2].startswith(r"tab\there\nline\r\nend \\t \\ ")
    path = str(tmp_path / "predictions.tsv")
    assert predictions.read(path) == [(HOSTILE, HOSTILE), ("2", "b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\tyes\n", "begins with"),
        ("index\tprediction\n0\tyes\tmore\n", "line 2: 3 columns found, 2 wanted"),
        ("", "is empty"),
    ],
)
def test_another_file_is_refused(tmp_path, text, message):
    path = tmp_path / "predictions.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        predictions.read(str(path))


SENTENCES = [
    TokenExample("0", ("Ada", "Lovelace", "saw", "Zürich"), ("B-PER", "I-PER", "O", "B-LOC")),
    TokenExample("1", ("😀", "a b", ""), ("O", "O", "O")),
]
TAGS = [["B-PER", "I-PER", "O", "I-LOC"], ["O", "B-ORG", "I-ORG"]]


def test_columns_for_conlleval(tmp_path):
    paths = predictions.write_tags(str(tmp_path), "", SENTENCES, TAGS)
    assert paths == [str(tmp_path / "predictions.conll"), str(tmp_path / "entities.jsonl")]
    assert (tmp_path / "predictions.conll").read_text(encoding="utf-8") == (
        "Ada B-PER B-PER\nLovelace I-PER I-PER\nsaw O O\nZürich B-LOC I-LOC\n"
        "\n😀 O O\na_b O B-ORG\n_ O I-ORG\n"
    )


def test_sentences_without_known_tags_have_two_columns(tmp_path):
    examples = [TokenExample("7", ("Oslo", "rains"))]
    predictions.write_tags(str(tmp_path), "_x", examples, [["B-LOC", "O"]])
    assert (tmp_path / "predictions_x.conll").read_text() == "Oslo B-LOC\nrains O\n"


def test_entities_with_character_offsets(tmp_path):
    chances = [[0.5, 1.0, 1.0, 0.25], [1.0, 0.5, 0.5]]
    predictions.write_tags(str(tmp_path), "", SENTENCES, TAGS, chances)
    lines = (tmp_path / "entities.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = map(json.loads, lines)
    assert first == {
        "id": "0",
        "text": "Ada Lovelace saw Zürich",
        "entities": [
            {"type": "PER", "start": 0, "end": 12, "text": "Ada Lovelace", "probability": 0.75},
            {"type": "LOC", "start": 17, "end": 23, "text": "Zürich", "probability": 0.25},
        ],
    }
    assert second["text"] == "😀 a b "
    assert second["entities"] == [
        {"type": "ORG", "start": 2, "end": 6, "text": "a b ", "probability": 0.5}
    ]
    for line in (first, second):
        for entity in line["entities"]:
            assert line["text"][entity["start"] : entity["end"]] == entity["text"]


def test_tags_that_are_no_entities_have_one_file(tmp_path):
    paths = predictions.write_tags(
        str(tmp_path),
        "",
        [TokenExample("0", ("It", "rains"))],
        [["PRP", "VBZ"]],
        are_entities=False,
    )
    assert paths == [str(tmp_path / "predictions.conll")]
    assert not (tmp_path / "entities.jsonl").exists()
