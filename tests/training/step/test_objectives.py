"""Losses and accuracies as (sum, count), against hand-made logits."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.examples.readers import Columns, SquadLayout, TextLayout
from bert_tf.modeling import dropout, models
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.choice import Choice
from bert_tf.tasks.kinds.multi_label import MultiLabel
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.training.step import objectives
from tests.modeling import harness

SPANS = QuestionAnswering.new(SquadLayout())

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


_LAYOUT = TextLayout(columns=Columns(text_a="text"), test_columns=Columns(text_a="text"))
_OWN = {"name": "own", "summary": "", "layout": _LAYOUT, "labels": ("a", "b")}
MULTI_LABEL, TAGGING, CHOICE = (kind(**_OWN) for kind in (MultiLabel, Tagging, Choice))

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
    assert values(objectives.PRETRAINING["mlm_nsp"].measure(OUTPUTS, batch)) == close(
        masked_lm_loss=(-np.log(0.5 * 0.2 * 0.8), 3),
        next_sentence_loss=(-np.log(0.75 * 0.6 * 0.3), 3),
        masked_lm_accuracy=(2, 3),
        next_sentence_accuracy=(2, 3),
    )


def test_pretraining_without_a_prediction():
    found = values(
        objectives.PRETRAINING["mlm_nsp"].measure(OUTPUTS, pretraining_batch([[0, 0]] * 3))
    )
    assert found["masked_lm_loss"] == found["masked_lm_accuracy"] == (0.0, 0.0)


def test_classification():
    outputs = {"logits": log([0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1])}
    batch = ROWS_3 | {features.LABEL_IDS.name: np.array([1, 2, 1], np.int32)}
    assert values(registry.REGISTRY["cola"].measure(outputs, batch)) == close(
        loss=(-np.log(0.5 * 0.8 * 0.3), 3), accuracy=(2, 3)
    )


def test_regression():
    outputs = {"logits": np.array([[1.0], [2.5], [5.0]], np.float32)}
    batch = ROWS_3 | {features.LABEL_VALUES.name: np.array([1.0, 2.0, 3.0], np.float32)}
    assert values(registry.REGISTRY["sts-b"].measure(outputs, batch)) == close(loss=(4.25, 3))


def test_spans():
    starts = log([0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2])
    ends = log([0.1, 0.2, 0.7], [0.1, 0.7, 0.2], [0.3, 0.2, 0.5])
    outputs = {"logits": np.stack([starts, ends], axis=1)}
    batch = ROWS_3 | {
        features.START_POSITIONS.name: np.array([0, 1, 2], np.int32),
        features.END_POSITIONS.name: np.array([2, 2, 2], np.int32),
    }
    # Half of the sum of both cross-entropies; start and end are both right in the first row only.
    assert values(SPANS.measure(outputs, batch)) == close(
        loss=(-np.log(0.5 * 0.7 * 0.8 * 0.2 * 0.2 * 0.5) / 2, 3), exact_spans=(1, 3)
    )


TOKENS = np.array([[8, 5, 9, 6, 2, 0], [4, 9, 7, 9, 0, 0]], np.int32)
LABELS = np.array([[7, 0], [3, 5]], np.int32)  # at 2; at 1 and 3
TEXT = [[8, 5, 7, 6, 2, 0], [4, 3, 7, 5, 0, 0]]


def masked_batch(**more):
    """Two rows of 5 and 4 tokens."""
    return {
        features.WORD_IDS.name: TOKENS,
        features.MASK.name: (TOKENS > 0).astype(np.int32),
        features.TYPE_IDS.name: 0 * TOKENS,
        features.MASKED_LM_POSITIONS.name: np.array([[2, 0], [1, 3]], np.int32),
        features.MASKED_LM_IDS.name: LABELS,
        features.MASKED_LM_WEIGHTS.name: np.array([[1, 0], [1, 1]], np.float32),
        features.NEXT_SENTENCE_LABELS.name: np.array([1, 0], np.int32),
    } | more


def test_the_text_before_masking():
    assert objectives.restored_text(masked_batch()).numpy().tolist() == TEXT
    unmasked = {n: x for n, x in masked_batch().items() if not n.startswith("masked_lm")}
    np.testing.assert_array_equal(objectives.restored_text(unmasked), TOKENS)


@pytest.mark.parametrize("sequence_ids", [None, [[1, 1, 2, 2, 2, 0], [1, 2, 2, 2, 0, 0]]])
def test_left_to_right_predicts_every_next_token_of_a_text(sequence_ids):
    batch = masked_batch()
    if sequence_ids:
        batch[features.SEQUENCE_IDS.name] = np.array(sequence_ids, np.int32)
    prepared = objectives.PRETRAINING["ltr"].prepare(batch)
    assert features.MASKED_LM_POSITIONS.name not in prepared
    found = {
        name: value.tolist() for name, value in tf.nest.map_structure(np.array, prepared).items()
    }
    assert found[features.WORD_IDS.name] == TEXT
    next_ids = [[5, 7, 6, 2, 0, 0], [3, 7, 5, 0, 0, 0]]
    assert found[features.MASKED_LM_IDS.name] == next_ids
    within = (
        [[1, 0, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0]]
        if sequence_ids
        else [
            [1, 1, 1, 1, 0, 0],
            [1, 1, 1, 0, 0, 0],
        ]
    )
    assert found[features.MASKED_LM_WEIGHTS.name] == within


def test_left_to_right_losses():
    """10 ids, the right one always with probability 0.3 or 0.6; the likelier is a hit."""
    objective = objectives.PRETRAINING["ltr_nsp"]
    batch = objective.prepare(masked_batch())
    shares = np.full((2, 6, 10), 0.05, np.float32)
    for row, place in np.ndindex(2, 6):
        right = ([*TEXT[row], 0])[place + 1]
        shares[row, place, right] = 0.6 if place % 2 else 0.3
        shares[row, place, 1] = 0.35
    outputs = {
        "masked_lm_logits": np.log(shares),
        "next_sentence_logits": log([0.75, 0.25], [0.6, 0.4]),
    }
    sums = shares.sum(axis=-1)
    tokens = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)]
    loss = sum(np.log(sums[row, t] / (0.6 if t % 2 else 0.3)) for row, t in tokens)
    assert values(objective.measure(outputs, batch)) == close(
        left_to_right_loss=(loss, 7),
        left_to_right_accuracy=(3, 7),
        next_sentence_loss=(-np.log(0.25 * 0.6), 2),
        next_sentence_accuracy=(1, 2),
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mlm_nsp", {"masked_lm_loss", "next_sentence_loss"}),
        ("mlm", {"masked_lm_loss"}),
        ("mlm_sop", {"masked_lm_loss", "sentence_order_loss"}),
        ("ltr", {"left_to_right_loss"}),
        ("ltr_nsp", {"left_to_right_loss", "next_sentence_loss"}),
    ],
)
def test_objectives_of_pre_training(name, expected):
    objective = objectives.PRETRAINING[name]
    assert set(objective.losses) == expected
    assert objective.is_causal == name.startswith("ltr")
    assert objective.has_pair == (features.NEXT_SENTENCE_LABELS in objective.features)
    outputs = OUTPUTS if objective.has_pair else {"masked_lm_logits": OUTPUTS["masked_lm_logits"]}
    found = values(objective.measure(outputs, pretraining_batch([[1, 1], [1, 0], [0, 0]])))
    accuracies = {loss.replace("loss", "accuracy") for loss in expected}
    assert found.keys() == expected | accuracies
    first, *pair = objective.losses
    assert found[first] == pytest.approx((-np.log(0.5 * 0.2 * 0.8), 3), rel=1e-5)
    assert not pair or found[pair[0]] == pytest.approx((-np.log(0.75 * 0.6 * 0.3), 3), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "is_packed"),
    [("mlm_nsp", False), ("ltr_nsp", False), ("mlm", True)],
)
def test_a_whole_step_compiles(name, is_packed):
    """Forward and backward by XLA, with recomputation, are those of eager mode without it.

    Every head, mask of attention and layout of records; other objectives combine the same ones.
    """
    objective = objectives.PRETRAINING[name]
    batch = {n: tf.constant(x) for n, x in masked_batch().items()}
    if is_packed:
        batch[features.SEQUENCE_IDS.name] = tf.constant([[1, 1, 2, 2, 2, 0], [1, 2, 2, 2, 0, 0]])
    # Masks are drawn alike for every objective; without them a step compiles twice as fast.
    rate = 0.1 if name == "mlm_nsp" else 0.0
    rates = {"hidden_dropout_prob": rate, "attention_probs_dropout_prob": rate}
    config = harness.config(is_causal=objective.is_causal, num_hidden_layers=1, **rates)
    model = models.PretrainingModel(config, has_next_sentence=objective.has_pair)
    harness.randomize(model)
    variables = [variable.value for variable in model.trainable_variables]

    def step(batch, update, first_row):
        batch = objective.prepare(batch)
        counts = objective.counts(batch)
        with tf.GradientTape() as tape:
            with dropout.step_seed(tf.stack([7, update]), rows=first_row + tf.range(2)):
                measured = objective.measure(model(batch, training=True), batch)
            loss = tf.add_n([measured[name][0] / counts[name] for name in objective.losses])
        found = tape.gradient(loss, variables)
        return loss, [tf.convert_to_tensor(g) for g in found if g is not None]

    args = batch, tf.constant(5), tf.constant(3)
    loss, gradients = step(*args)
    model.encoder.recompute = True
    found_loss, found = tf.function(step, jit_compile=True, autograph=False)(*args)
    np.testing.assert_allclose(found_loss, loss, rtol=1e-5)
    for ours, theirs in zip(found, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * max(1, np.abs(theirs).max()))


KINDS = {
    "left_to_right": (
        objectives.PRETRAINING["ltr"],
        {"masked_lm_logits": OUTPUTS["masked_lm_logits"]},
        pretraining_batch([[1, 1], [1, 0], [0, 0]]),
    ),
    "pretraining": (
        objectives.PRETRAINING["mlm_nsp"],
        OUTPUTS,
        pretraining_batch([[1, 1], [1, 0], [0, 0]]),
    ),
    "classification": (
        registry.REGISTRY["cola"],
        {"logits": np.zeros((3, 2), np.float32)},
        ROWS_3 | {features.LABEL_IDS.name: np.zeros(3, np.int32)},
    ),
    "regression": (
        registry.REGISTRY["sts-b"],
        {"logits": np.zeros((3, 1), np.float32)},
        ROWS_3 | {features.LABEL_VALUES.name: np.zeros(3, np.float32)},
    ),
    "multi_label": (
        MULTI_LABEL,
        {"logits": np.zeros((3, 2), np.float32)},
        ROWS_3 | {features.LABEL_VECTORS.name: np.zeros((3, 2), np.float32)},
    ),
    "tagging": (
        TAGGING,
        {"logits": np.zeros((3, 5, 2), np.float32)},
        ROWS_3 | {features.TOKEN_LABEL_IDS.name: np.array([[-1, 1, 0, -1, -1]] * 3, np.int32)},
    ),
    "choice": (
        CHOICE,
        {"logits": np.zeros((3, 2), np.float32)},
        ROWS_3 | {features.LABEL_IDS.name: np.zeros(3, np.int32)},
    ),
    "weighted": (
        TAGGING,
        {"logits": np.zeros((3, 5, 2), np.float32)},
        ROWS_3
        | {features.TOKEN_LABEL_IDS.name: np.array([[-1, 1, 0, -1, -1]] * 3, np.int32)}
        | {features.EXAMPLE_WEIGHTS.name: np.array([2.0, 0.0, 0.5], np.float32)},
    ),
    "spans": (
        SPANS,
        {"logits": np.zeros((3, 2, 5), np.float32)},
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


def test_a_weight_of_a_window_counts_like_windows_of_its_number():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(2, 3, 5)).astype(np.float32)
    positions = rng.integers(0, 5, (2, 3)).astype(np.int32)

    def measured(rows, **more):
        names = features.START_POSITIONS.name, features.END_POSITIONS.name
        batch = {name: tf.constant(x[rows]) for name, x in zip(names, positions, strict=True)}
        batch |= {features.WORD_IDS.name: tf.zeros([len(rows), 5], tf.int32), **more}
        outputs = {"logits": np.stack([logits[0][rows], logits[1][rows]], axis=1)}
        found = SPANS.measure(outputs, batch), SPANS.counts(batch)
        return tf.nest.map_structure(float, found)

    weights = {features.EXAMPLE_WEIGHTS.name: tf.constant([1.0, 0.0, 2.0])}
    found, wanted = measured([0, 1, 2], **weights), measured([0, 2, 2])
    assert tf.nest.flatten(found) == pytest.approx(tf.nest.flatten(wanted), rel=1e-6)
