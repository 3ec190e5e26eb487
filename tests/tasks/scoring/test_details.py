"""What the report of an evaluation shows: counted by hand."""

import numpy as np
import pytest

from bert_tf.examples.labelled import ChoiceExample, TextExample, TokenExample
from bert_tf.tasks.evaluation import Part
from bert_tf.tasks.scoring import details

TEXTS = [TextExample(f"id{i}", f"text {i}") for i in range(5)]


def column(table, name):
    (index,) = [i for i, each in enumerate(table.columns) if each.name == name]
    return [row[index] for row in table.rows]


def test_scores_of_each_label_and_the_surest_errors():
    references = np.array([0, 0, 1, 1, 1])
    probabilities = np.array(
        [[0.9, 0.1, 0], [0.3, 0.7, 0], [0.2, 0.8, 0], [0.95, 0.05, 0], [0, 1, 0]]
    )
    scores, worst = details.of_labels(TEXTS, ["no", "yes", "never"], probabilities, references)
    assert column(scores, "Label") == ["no", "yes", "never"]
    assert column(scores, "There are") == [2, 3, 0]
    assert column(scores, "Answered") == [2, 3, 0]
    assert column(scores, "Precision") == pytest.approx([1 / 2, 2 / 3, 0])
    assert column(scores, "Recall") == pytest.approx([1 / 2, 2 / 3, 0])
    assert column(scores, "F1") == pytest.approx([1 / 2, 2 / 3, 0])
    assert column(worst, "Id") == ["id3", "id1"]  # 95 % sure, then 70 %
    assert column(worst, "Text") == ["text 3", "text 1"]
    assert column(worst, "Label") == ["yes", "no"]
    assert column(worst, "Answer") == ["no", "yes"]
    assert column(worst, "Confidence") == [0.95, 0.7]
    assert column(worst, "Probability of the label") == [0.05, 0.3]


def test_pairs_have_both_texts_and_long_texts_are_cut():
    pair = [TextExample("7", "word " * 200, "second")]
    _, worst = details.of_labels(pair, ["a", "b"], np.array([[0.9, 0.1]]), np.array([1]))
    ((_, first, second, *_),) = worst.rows
    assert len(first) < 410 and first.endswith("word ...")
    assert second == "second"


def test_without_errors_there_is_no_table_of_them():
    tables = details.of_labels(TEXTS[:1], ["a", "b"], np.array([[0.9, 0.1]]), np.array([0]))
    assert [table.title for table in tables] == ["Scores by label"]


def test_several_labels():
    probabilities = np.array([[0.9, 0.8], [0.1, 0.6]])
    references = np.array([[True, False], [True, True]])
    scores, worst = details.of_label_sets(TEXTS[:2], ["a", "b"], probabilities, references)
    assert column(scores, "There are") == [2, 1] and column(scores, "Answered") == [1, 2]
    assert column(scores, "Recall") == [0.5, 1.0]
    assert [(row[1], row[2], row[3]) for row in worst.rows] == [
        ("text 1", "a", "missing"),
        ("text 0", "b", "given"),
    ]


def test_numbers():
    (worst,) = details.of_values(TEXTS[:3], np.array([1.0, 2.5, 0.0]), np.array([1.0, 2.0, 4.0]))
    assert column(worst, "Value") == [4.0, 2.0]
    assert column(worst, "Difference") == [-4.0, 0.5]


def test_entities():
    sentences = [
        TokenExample("0", tuple("Ann met Bob Lee in Rome".split())),
        TokenExample("1", ("He", "left")),
        TokenExample("2", ("To", "Rome")),
    ]
    references = [["B-PER", "O", "B-PER", "I-PER", "O", "B-LOC"], ["O", "O"], ["O", "B-LOC"]]
    answers = [["B-PER", "O", "B-PER", "O", "O", "B-ORG"], ["O", "O"], ["O", "O"]]
    scores, worst = details.of_entities(sentences, answers, references)
    assert [row[:3] for row in scores.rows] == [
        ["all", 4, 3],
        ["LOC", 2, 0],
        ["ORG", 0, 1],
        ["PER", 2, 2],
    ]
    assert column(scores, "F1") == pytest.approx([2 / 7, 0, 0, 1 / 2])
    assert "2 of 3 sentences" in worst.note
    assert column(worst, "Entities there are") == [
        (
            *(Part("Ann [PER]", "right"), Part("met"), Part("Bob Lee [PER]", "missed"), Part("in")),
            Part("Rome [LOC]", "missed"),
        ),
        (Part("To"), Part("Rome [LOC]", "missed")),
    ]
    assert column(worst, "Entities answered") == [
        (
            *(Part("Ann [PER]", "right"), Part("met"), Part("Bob [PER]", "wrong"), Part("Lee in")),
            Part("Rome [ORG]", "wrong"),
        ),
        (Part("To Rome"),),
    ]


def test_tags_of_words():
    sentences = [TokenExample("0", ("Ann", "saw", "her", "duck")), TokenExample("1", ("Stop",))]
    references = [["NOUN", "VERB", "PRON", "VERB"], ["VERB"]]
    answers = [["NOUN", "NOUN", "PRON", "NOUN"], ["VERB"]]
    scores, worst = details.of_word_tags(sentences, ("NOUN", "PRON", "VERB"), answers, references)
    assert column(scores, "There are") == [1, 1, 3]
    assert column(scores, "Precision") == pytest.approx([1 / 3, 1, 1])
    assert column(scores, "Recall") == pytest.approx([1, 1, 1 / 3])
    assert worst.rows == [
        [
            (
                *(Part("Ann"), Part("saw [NOUN, not VERB]", "wrong"), Part("her")),
                Part("duck [NOUN, not VERB]", "wrong"),
            )
        ]
    ]


def test_choices():
    examples = [
        ChoiceExample("0", "It rains.", ("Dry.", "Wet.", "Hot.")),
        ChoiceExample("1", "It snows.", ("Cold.", "Warm.")),
    ]
    probabilities = np.array([[0.7, 0.2, 0.1], [0.9, 0.1, 0.0]])
    (worst,) = details.of_choices(examples, probabilities, np.array([1, 0]))
    assert worst.rows == [
        [
            "It rains.",
            (Part("1. Dry.", "wrong"), Part("2. Wet.", "missed"), Part("3. Hot.")),
            0.7,
            0.2,
        ]
    ]
