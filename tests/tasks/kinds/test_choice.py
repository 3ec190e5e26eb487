"""Choices to rows of several sequences, and back from logits to the chosen ones."""

import numpy as np
import pytest

from bert_tf.examples.labelled import ChoiceExample
from bert_tf.examples.readers import ChoiceLayout
from bert_tf.tasks.kinds.choice import Choice
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##c"]
CLS, SEP, A, B, C = 2, 3, 5, 6, 7
TASK = Choice(
    name="own",
    summary="",
    layout=ChoiceLayout(context=("context",), choices=("choices",), label="label"),
)
EXAMPLES = [
    ChoiceExample("7", "a b", ("b", "bc a"), "1"),
    ChoiceExample("8", "b", ("a", "b", "a a"), "0", weight=2.0),
]


def rows():
    vocabulary = Vocabulary(TOKENS)
    return TASK.encode(EXAMPLES, WordPieceTokenizer(vocabulary, do_lower_case=True), 7)


def test_a_row_has_a_sequence_for_each_choice():
    found = rows()
    assert len(found) == 2
    assert found.word_ids == [
        [CLS, A, B, SEP, B, SEP],
        [CLS, A, B, SEP, B, C, SEP],  # the choice, which is the longer text, is cut
        [CLS, B, SEP, A, SEP],
        [CLS, B, SEP, B, SEP],
        [CLS, B, SEP, A, A, SEP],
    ]
    assert found.type_ids[1] == [0, 0, 0, 0, 1, 1, 1]
    assert found.lengths.tolist() == [7, 6]
    assert found.labels["label_ids"].tolist() == [1, 0]
    assert found.labels["example_weights"].tolist() == [1.0, 2.0]


def test_a_batch_has_an_axis_of_choices_and_no_mask_where_a_choice_is_missing():
    batch = rows().batch(np.array([1, 0]))
    assert batch["input_word_ids"].shape == (2, 3, 7)
    assert batch["input_mask"].sum(axis=-1).tolist() == [[5, 5, 6], [6, 7, 0]]
    assert batch["input_word_ids"][1, 1].tolist() == [CLS, A, B, SEP, B, C, SEP]
    assert batch["label_ids"].tolist() == [0, 1]
    assert rows().batch(np.array([], int))["input_word_ids"].shape == (0, 1, 1)
    (only,) = rows().head(1).batch(np.array([0]))["input_word_ids"]
    assert only.shape == (2, 7)


def test_logits_to_answers_and_scores(tmp_path):
    # The third of the first example is padding, however high.
    logits = [np.log([0.8, 0.2, 5.0]), np.log([0.5, 0.2, 0.3])]
    evaluation = TASK.evaluate(EXAMPLES, rows(), logits)
    assert evaluation.metrics["accuracy"] == 0.5
    assert evaluation.metrics["loss"] == pytest.approx(-np.log(0.2 * 0.5) / 2)
    paths = TASK.write_predictions(str(tmp_path), "", EXAMPLES, rows(), logits)
    with open(paths[0]) as file:
        values = [[float(value) for value in line.split("\t")] for line in file]
    np.testing.assert_allclose(values, [[0.8, 0.2, 0.0], [0.5, 0.2, 0.3]], atol=1e-7)


def test_a_teachers_answers_are_very_negative_where_a_choice_is_missing():
    logits = [np.array([1.0, 2.0, 9.0]), np.array([3.0, 4.0, 5.0])]
    found = TASK.teacher_features(rows(), rows(), logits)["teacher_logits"]
    assert found.tolist() == [[1.0, 2.0, -1e9], [3.0, 4.0, 5.0]]
    outputs = {"logits": np.array([[1.0, 2.0]], np.float32)}  # of a batch without three choices
    batch = {"teacher_logits": found[:1]}
    assert float(TASK.distillation_loss(outputs, batch, 2.0)[0]) == pytest.approx(0, abs=1e-6)
