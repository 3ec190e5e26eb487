"""What each kind of model is trained for: its losses, their denominators and its accuracies.

A loss is a (sum, count) pair. The counts of a batch depend on its labels alone, so the loop can
add them up over pieces and replicas before the backward pass, and the mean is the global one.
"""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from bert_tf import features
from bert_tf.modeling import losses


@dataclasses.dataclass(frozen=True)
class Objective:
    """Losses of one kind of model.

    Attributes:
      losses: names in `measure`'s result whose means are added up to the training loss.
      counts: (batch) to dict from each of those names to its count, float32 scalar.
      measure: (outputs, batch) to dict from name to (sum, count), losses and accuracies.
    """

    losses: tuple
    counts: Callable
    measure: Callable


def _num_rows(batch):
    return tf.cast(tf.shape(batch[features.WORD_IDS.name])[0], tf.float32)


def _hits(logits, labels):
    hits = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), labels)
    return tf.cast(hits, tf.float32)


def _pretraining_counts(batch):
    return {
        "masked_lm_loss": tf.reduce_sum(batch[features.MASKED_LM_WEIGHTS.name]),
        "next_sentence_loss": _num_rows(batch),
    }


def _measure_pretraining(outputs, batch):
    ids = batch[features.MASKED_LM_IDS.name]
    weights = batch[features.MASKED_LM_WEIGHTS.name]
    labels = batch[features.NEXT_SENTENCE_LABELS.name]
    masked_lm_hits = _hits(outputs["masked_lm_logits"], ids) * weights  # [B P]
    return {
        "masked_lm_loss": losses.masked_lm(outputs["masked_lm_logits"], ids, weights),
        "next_sentence_loss": losses.next_sentence(outputs["next_sentence_logits"], labels),
        "masked_lm_accuracy": (tf.reduce_sum(masked_lm_hits), tf.reduce_sum(weights)),
        "next_sentence_accuracy": (
            tf.reduce_sum(_hits(outputs["next_sentence_logits"], labels)),
            _num_rows(batch),
        ),
    }


def _measure_classification(outputs, batch):
    labels = batch[features.LABEL_IDS.name]
    return {
        "loss": losses.classification(outputs["logits"], labels),
        "accuracy": (tf.reduce_sum(_hits(outputs["logits"], labels)), _num_rows(batch)),
    }


def _measure_regression(outputs, batch):
    return {"loss": losses.regression(outputs["logits"], batch[features.LABEL_VALUES.name])}


def _measure_spans(outputs, batch):
    starts = batch[features.START_POSITIONS.name]
    ends = batch[features.END_POSITIONS.name]
    both = _hits(outputs["start_logits"], starts) * _hits(outputs["end_logits"], ends)
    return {
        "loss": losses.span(outputs["start_logits"], outputs["end_logits"], starts, ends),
        "exact_spans": (tf.reduce_sum(both), _num_rows(batch)),
    }


def _rows_as_count(batch):
    return {"loss": _num_rows(batch)}


PRETRAINING = Objective(
    ("masked_lm_loss", "next_sentence_loss"), _pretraining_counts, _measure_pretraining
)
CLASSIFICATION = Objective(("loss",), _rows_as_count, _measure_classification)
REGRESSION = Objective(("loss",), _rows_as_count, _measure_regression)
SPANS = Objective(("loss",), _rows_as_count, _measure_spans)
