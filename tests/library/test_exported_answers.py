"""Outputs of exported models as answers in Python; those of other kinds are in their tests."""

import numpy as np

from bert_tf.library import exported_answers
from bert_tf.library.masked_lm import Candidate
from bert_tf.library.question_answerer import Answer


def test_tokens_for_each_mask():
    outputs = {
        "tokens": np.array([[[b"cat", b"dog"], [b"", b""]], [[b"a", b"b"], [b"c", b"d"]]], object),
        "probabilities": np.array([[[0.5, 0.25], [0, 0]], [[0.75, 0], [0.5, 0.25]]], np.float32),
    }
    assert exported_answers.of_texts(outputs, (), ["x", "y"]) == [
        [[Candidate("cat", 0.5), Candidate("dog", 0.25)]],
        [
            [Candidate("a", 0.75), Candidate("b", 0.0)],
            [Candidate("c", 0.5), Candidate("d", 0.25)],
        ],
    ]


def test_answers_to_questions():
    outputs = {
        "answer": np.array([b"peace", b""], object),
        "score": np.array([0.5, 0.75], np.float32),
        "start": np.array([3, -1], np.int32),
        "end": np.array([8, -1], np.int32),
    }
    assert exported_answers.of_texts(outputs, (), ["who?", "why?"]) == [
        Answer("peace", 0.5, 3, 8),
        Answer("", 0.75, None, None),
    ]


def test_numbers_and_vectors_are_arrays():
    scores = np.array([0.5, 0.25], np.float32)
    assert exported_answers.of_texts({"score": scores, "logits": scores}, (), "ab") is scores
    vectors = np.zeros((2, 3), np.float32)
    assert exported_answers.of_texts({"embedding": vectors}, (), "ab") is vectors
