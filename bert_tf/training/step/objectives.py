"""What each kind of model is trained for: its losses, their denominators and its accuracies.

A loss is a (sum, count) pair. The counts of a batch depend on its labels alone, so the loop can
add them up over pieces and replicas before the backward pass, and the mean is the global one.
"""

import dataclasses
import functools
from collections.abc import Callable

import tensorflow as tf

from bert_tf import features
from bert_tf.modeling import losses


def _unchanged(batch):
    return batch


@dataclasses.dataclass(frozen=True)
class Objective:
    """Losses of one kind of model.

    Attributes:
      losses: names in `measure`'s result whose means are added up to the training loss.
      counts: (prepared batch) to dict from each of those names to its count, float32 scalar.
      measure: (outputs, prepared batch) to dict from name to (sum, count), losses and accuracies.
      prepare: (batch of records) to the batch that the model and the two above take.
    """

    losses: tuple
    counts: Callable
    measure: Callable
    prepare: Callable = _unchanged


@dataclasses.dataclass(frozen=True)
class PretrainingObjective(Objective):
    """What `--objective` names; see `PRETRAINING_OBJECTIVES`.

    Attributes:
      has_pair: whether the examples are pairs of texts with a label; then the model has a head
        for it, and rows are not packed.
      is_causal: `is_causal` of the config it is for.
    """

    has_pair: bool = False
    is_causal: bool = False

    @property
    def features(self):
        """The features that records of it hold, without the `sequence_ids` of packed ones."""
        label = features.NEXT_SENTENCE_LABELS
        return tuple(each for each in features.PRETRAINING if self.has_pair or each != label)


def _num_rows(batch):
    return tf.cast(tf.shape(batch[features.WORD_IDS.name])[0], tf.float32)


def _hits(logits, labels):
    hits = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), labels)
    return tf.cast(hits, tf.float32)


def _pretraining_counts(tokens, pair, batch):
    counts = {f"{tokens}_loss": tf.reduce_sum(batch[features.MASKED_LM_WEIGHTS.name])}
    return counts | ({f"{pair}_loss": _num_rows(batch)} if pair else {})


def _measure_pretraining(tokens, pair, outputs, batch):
    found = _measure_tokens(tokens, outputs["masked_lm_logits"], batch)
    return found | (_measure_pair(pair, outputs["next_sentence_logits"], batch) if pair else {})


def _measure_tokens(name, logits, batch):
    ids = batch[features.MASKED_LM_IDS.name]
    weights = batch[features.MASKED_LM_WEIGHTS.name]
    hits = _hits(logits, ids) * weights  # [B P]
    return {
        f"{name}_loss": losses.masked_lm(logits, ids, weights),
        f"{name}_accuracy": (tf.reduce_sum(hits), tf.reduce_sum(weights)),
    }


def _measure_pair(name, logits, batch):
    labels = batch[features.NEXT_SENTENCE_LABELS.name]
    return {
        f"{name}_loss": losses.next_sentence(logits, labels),
        f"{name}_accuracy": (tf.reduce_sum(_hits(logits, labels)), _num_rows(batch)),
    }


def restored_text(batch):
    """The word ids before masking, int32 [B T]; a batch without labels was never masked."""
    word_ids = batch[features.WORD_IDS.name]
    if features.MASKED_LM_IDS.name not in batch:
        return word_ids
    positions = batch[features.MASKED_LM_POSITIONS.name]
    there = tf.gather(word_ids, positions, batch_dims=1)  # [B P]
    is_used = tf.cast(batch[features.MASKED_LM_WEIGHTS.name] > 0.0, tf.int32)
    changes = (batch[features.MASKED_LM_IDS.name] - there) * is_used  # [B P]
    # Unused slots say position 0. They add nothing to it, where a scatter would write over it.
    places = tf.one_hot(positions, tf.shape(word_ids)[1], dtype=tf.int32)  # [B P T]
    return word_ids + tf.reduce_sum(places * changes[:, :, tf.newaxis], axis=1)


def _every_next_token(batch):
    """The batch unmasked, each real token with the next one of its text as label, [B T].

    The first token of a text is never predicted, its last one predicts nothing.
    """
    word_ids = restored_text(batch)
    real = tf.cast(batch[features.MASK.name], tf.float32)
    weights = real * _next(real)
    if features.SEQUENCE_IDS.name in batch:
        sequence_ids = batch[features.SEQUENCE_IDS.name]
        weights *= tf.cast(tf.equal(sequence_ids, _next(sequence_ids)), tf.float32)
    unmasked = {n: x for n, x in batch.items() if n != features.MASKED_LM_POSITIONS.name}
    return unmasked | {
        features.WORD_IDS.name: word_ids,
        features.MASKED_LM_IDS.name: _next(word_ids),
        features.MASKED_LM_WEIGHTS.name: weights,
    }


def _next(values):
    """[B T] one place to the left, 0 at the end."""
    return tf.concat([values[:, 1:], tf.zeros_like(values[:, :1])], axis=1)


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


def _pretraining(tokens, pair=None, **kwargs):
    """An objective of losses `TOKENS_loss` and, where `pair` is a name, `PAIR_loss`."""
    return PretrainingObjective(
        losses=tuple(f"{name}_loss" for name in (tokens, pair) if name),
        counts=functools.partial(_pretraining_counts, tokens, pair),
        measure=functools.partial(_measure_pretraining, tokens, pair),
        has_pair=pair is not None,
        **kwargs,
    )


_left_to_right = functools.partial(
    _pretraining, "left_to_right", prepare=_every_next_token, is_causal=True
)

# BERT section 3.1; without pairs as RoBERTa (arXiv 1907.11692, section 4.2); sentence order as
# ALBERT (arXiv 1909.11942, section 3.1); the left-to-right models of BERT section 5.1.
PRETRAINING_OBJECTIVES = {
    "mlm_nsp": _pretraining("masked_lm", "next_sentence"),
    "mlm": _pretraining("masked_lm"),
    "mlm_sop": _pretraining("masked_lm", "sentence_order"),
    "ltr": _left_to_right(),
    "ltr_nsp": _left_to_right("next_sentence"),
}
PRETRAINING = PRETRAINING_OBJECTIVES["mlm_nsp"]
CLASSIFICATION = Objective(("loss",), _rows_as_count, _measure_classification)
REGRESSION = Objective(("loss",), _rows_as_count, _measure_regression)
SPANS = Objective(("loss",), _rows_as_count, _measure_spans)
