"""What a model is trained for: its losses, what they are divided by, its accuracies.

A loss is a (sum, count) pair. The counts of a batch depend on its labels alone, so an update adds
them up over micro-batches and replicas before the backward pass, and the mean is the global one.
"""

from typing import Any, Protocol

import tensorflow as tf

from bert_tf import features
from bert_tf.modeling import losses
from bert_tf.options.objectives import PRETRAINING_OBJECTIVES, PretrainingObjective

Batch = dict[str, tf.Tensor]  # by the names of `features`
SumAndCount = tuple[tf.Tensor, tf.Tensor]  # float32 scalars


class Objective(Protocol):
    """What an update needs of it. Every task of `bert_tf.tasks` is one."""

    @property
    def identity(self) -> dict[str, Any]:
        """What of it decides the result of a run, in addition to options and data."""
        ...

    @property
    def reads_hidden_states(self) -> bool:
        """Whether `measure` wants the encoder's last layer among the outputs."""
        ...

    @property
    def losses(self) -> tuple[str, ...]:
        """Names in what `measure` returns; the sum of their means is the training loss."""
        ...

    def without_effect(self, num_layers: int) -> tuple[str, ...]:
        """Ends of the paths of weights that no loss of an encoder of L layers depends on.

        What is computed as their gradient is rounding noise, which Adam would make steps of.
        """
        ...

    def prepare(self, batch: Batch) -> Batch:
        """From a batch of records to the batch that the model, `counts` and `measure` take."""
        ...

    def counts(self, batch: Batch) -> dict[str, tf.Tensor]:
        """What each of `losses` is divided by, float32 scalars, told from a prepared batch."""
        ...

    def measure(self, outputs: dict[str, tf.Tensor], batch: Batch) -> dict[str, SumAndCount]:
        """Losses and accuracies of the model's outputs for a prepared batch."""
        ...


class Pretraining:
    """Masked or left-to-right LM, with or without a loss of text pairs; see `options.objectives`.

    Attributes:
      has_pair, is_causal: as `PretrainingObjective`'s.
    """

    identity: dict[str, Any] = {}
    reads_hidden_states = False

    def __init__(self, choice: PretrainingObjective) -> None:
        self.has_pair, self.is_causal = choice.has_pair, choice.is_causal
        self._tokens, self._pair = choice.tokens, choice.pair
        self.losses = tuple(f"{name}_loss" for name in (choice.tokens, choice.pair) if name)

    @property
    def features(self) -> tuple[features.Feature, ...]:
        """The features of its records, without the `sequence_ids` of packed ones."""
        label = features.NEXT_SENTENCE_LABELS
        return tuple(each for each in features.PRETRAINING if self.has_pair or each != label)

    def without_effect(self, num_layers: int) -> tuple[str, ...]:
        return ()

    def prepare(self, batch: Batch) -> Batch:
        return _every_next_token(batch) if self.is_causal else batch

    def counts(self, batch: Batch) -> dict[str, tf.Tensor]:
        counts = [tf.reduce_sum(batch[features.MASKED_LM_WEIGHTS.name]), _num_rows(batch)]
        return dict(zip(self.losses, counts, strict=False))

    def measure(self, outputs: dict[str, tf.Tensor], batch: Batch) -> dict[str, SumAndCount]:
        logits = outputs["masked_lm_logits"]
        ids = batch[features.MASKED_LM_IDS.name]
        weights = batch[features.MASKED_LM_WEIGHTS.name]
        hits = _hits(logits, ids) * weights  # [B P]
        measured = {
            f"{self._tokens}_loss": losses.masked_lm(logits, ids, weights),
            f"{self._tokens}_accuracy": (tf.reduce_sum(hits), tf.reduce_sum(weights)),
        }
        if not self._pair:
            return measured
        logits = outputs["next_sentence_logits"]
        labels = batch[features.NEXT_SENTENCE_LABELS.name]
        return measured | {
            f"{self._pair}_loss": losses.next_sentence(logits, labels),
            f"{self._pair}_accuracy": (tf.reduce_sum(_hits(logits, labels)), _num_rows(batch)),
        }


def restored_text(batch: Batch) -> tf.Tensor:
    """The word ids before masking, int32 [B T]; a batch without labels was never masked."""
    word_ids = batch[features.WORD_IDS.name]
    if features.MASKED_LM_IDS.name not in batch:
        return word_ids
    positions = batch[features.MASKED_LM_POSITIONS.name]
    masked_ids = tf.gather(word_ids, positions, batch_dims=1)  # [B P]
    is_used = tf.cast(batch[features.MASKED_LM_WEIGHTS.name] > 0.0, tf.int32)
    changes = (batch[features.MASKED_LM_IDS.name] - masked_ids) * is_used  # [B P]
    # Unused slots have position 0. They add nothing there, where a scatter would overwrite it.
    one_hot = tf.one_hot(positions, tf.shape(word_ids)[1], dtype=tf.int32)  # [B P T]
    return word_ids + tf.reduce_sum(one_hot * changes[:, :, tf.newaxis], axis=1)


def _every_next_token(batch: Batch) -> Batch:
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


def _next(values: tf.Tensor) -> tf.Tensor:
    """[B T] one position to the left, 0 at the end."""
    return tf.concat([values[:, 1:], tf.zeros_like(values[:, :1])], axis=1)


def _num_rows(batch: Batch) -> tf.Tensor:
    return tf.cast(tf.shape(batch[features.WORD_IDS.name])[0], tf.float32)


def _hits(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """1.0 where the highest logit is the label's, shape of `labels`."""
    hits = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), labels)
    return tf.cast(hits, tf.float32)


PRETRAINING = {name: Pretraining(choice) for name, choice in PRETRAINING_OBJECTIVES.items()}
