"""Losses and accuracies as (sum, count), against hand-made logits."""

import numpy as np
import pytest

from bert_tf import features
from bert_tf.training import objectives

# Logits are logarithms of probabilities, so that a loss is the sum of -log of those named.
ROWS_3 = {features.WORD_IDS.name: np.zeros((3, 5), np.int32)}


def log(*probabilities):
    return np.log(np.array(probabilities, np.float32))


def values(pairs):
    return {name: (float(total), float(count)) for name, (total, count) in pairs.items()}


def close(**pairs):
    return {name: pytest.approx(pair, rel=1e-5) for name, pair in pairs.items()}


def pretraining_batch(weights):
    return ROWS_3 | {
        features.MASKED_LM_IDS.name: np.array([[0, 1], [2, 0], [1, 0]], np.int32),
        features.MASKED_LM_WEIGHTS.name: np.array(weights, np.float32),
        features.NEXT_SENTENCE_LABELS.name: np.array([0, 1, 1], np.int32),
    }


OUTPUTS = {
    "masked_lm_logits": log(
        [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]],
        [[0.1, 0.1, 0.8], [0.9, 0.05, 0.05]],
        [[0.2, 0.6, 0.2], [0.9, 0.05, 0.05]],
    ),
    "next_sentence_logits": log([0.75, 0.25], [0.4, 0.6], [0.7, 0.3]),
}


def test_pretraining():
    batch = pretraining_batch([[1, 1], [1, 0], [0, 0]])
    assert values(objectives.PRETRAINING.measure(OUTPUTS, batch)) == close(
        masked_lm_loss=(-np.log(0.5 * 0.2 * 0.8), 3),
        next_sentence_loss=(-np.log(0.75 * 0.6 * 0.3), 3),
        masked_lm_accuracy=(2, 3),
        next_sentence_accuracy=(2, 3),
    )


def test_pretraining_without_a_prediction():
    found = values(objectives.PRETRAINING.measure(OUTPUTS, pretraining_batch([[0, 0]] * 3)))
    assert found["masked_lm_loss"] == found["masked_lm_accuracy"] == (0.0, 0.0)


def test_classification():
    outputs = {"logits": log([0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1])}
    batch = ROWS_3 | {features.LABEL_IDS.name: np.array([1, 2, 1], np.int32)}
    assert values(objectives.CLASSIFICATION.measure(outputs, batch)) == close(
        loss=(-np.log(0.5 * 0.8 * 0.3), 3), accuracy=(2, 3)
    )


def test_regression():
    outputs = {"logits": np.array([[1.0], [2.5], [5.0]], np.float32)}
    batch = ROWS_3 | {features.LABEL_VALUES.name: np.array([1.0, 2.0, 3.0], np.float32)}
    assert values(objectives.REGRESSION.measure(outputs, batch)) == close(loss=(4.25, 3))


def test_spans():
    outputs = {
        "start_logits": log([0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]),
        "end_logits": log([0.1, 0.2, 0.7], [0.1, 0.7, 0.2], [0.3, 0.2, 0.5]),
    }
    batch = ROWS_3 | {
        features.START_POSITIONS.name: np.array([0, 1, 2], np.int32),
        features.END_POSITIONS.name: np.array([2, 2, 2], np.int32),
    }
    # Half of the sum of both cross-entropies; start and end are both right in the first row only.
    assert values(objectives.SPANS.measure(outputs, batch)) == close(
        loss=(-np.log(0.5 * 0.7 * 0.8 * 0.2 * 0.2 * 0.5) / 2, 3), exact_spans=(1, 3)
    )


KINDS = {
    "pretraining": (objectives.PRETRAINING, OUTPUTS, pretraining_batch([[1, 1], [1, 0], [0, 0]])),
    "classification": (
        objectives.CLASSIFICATION,
        {"logits": np.zeros((3, 2), np.float32)},
        ROWS_3 | {features.LABEL_IDS.name: np.zeros(3, np.int32)},
    ),
    "regression": (
        objectives.REGRESSION,
        {"logits": np.zeros((3, 1), np.float32)},
        ROWS_3 | {features.LABEL_VALUES.name: np.zeros(3, np.float32)},
    ),
    "spans": (
        objectives.SPANS,
        {"start_logits": np.zeros((3, 5), np.float32), "end_logits": np.zeros((3, 5), np.float32)},
        ROWS_3
        | {features.START_POSITIONS.name: np.zeros(3, np.int32)}
        | {features.END_POSITIONS.name: np.zeros(3, np.int32)},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_rows", [3, 0])
def test_the_counts_known_before_the_forward_pass_are_those_of_the_losses(kind, num_rows):
    objective, outputs, batch = KINDS[kind]
    outputs = {name: value[:num_rows] for name, value in outputs.items()}
    batch = {name: value[:num_rows] for name, value in batch.items()}
    measured = values(objective.measure(outputs, batch))
    counts = {name: float(count) for name, count in objective.counts(batch).items()}
    assert counts == {name: measured[name][1] for name in objective.losses}
    assert num_rows or set(measured.values()) == {(0.0, 0.0)}
