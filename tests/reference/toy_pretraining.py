"""The smallest pre-training update that has every part, and batches of static shapes for it."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.config import BertConfig
from bert_tf.modeling import models
from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.loss_scale import LossScale
from bert_tf.training.optimization.optimizer import LAMB, AdamW
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.step import objectives, recomputation
from bert_tf.training.step.update import StaticShapes, Update

NUM_MICRO_BATCHES, NUM_ROWS = 2, 4  # rows of a micro-batch of all replicas
NUM_TOKENS, NUM_PREDICTIONS = 17, 5
SHORT = 11  # maximum tokens of the first micro-batch's rows
CONFIG = BertConfig(
    vocab_size=31,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=7,
    max_position_embeddings=19,
    hidden_dropout_prob=0.3,
    attention_probs_dropout_prob=0.3,
)
OPTIMIZERS = {"adamw": AdamW, "lamb": LAMB}


def parts(strategy, objective="mlm_nsp", optimizer="adamw", has_loss_scale=False, **changes):
    """(model, objective, optimizer), the same weights every time.

    Args:
      changes: of `CONFIG`.
    """
    keras.utils.set_random_seed(3)
    objective = objectives.PRETRAINING[objective]
    config = dataclasses.replace(CONFIG, is_causal=objective.is_causal, **changes)
    with strategy.scope():
        model = models.PretrainingModel(config)
        optimizer = OPTIMIZERS[optimizer](
            [variable.value for variable in model.trainable_variables],
            Schedule(1e-2, 9, 2),
            groups=parameter_groups.of(model),
            weight_decay_rate=0.01,
            bias_correction=True,
            max_grad_norm=0.5,  # below the norms of these batches, so clipping is at work
            loss_scale=LossScale() if has_loss_scale else None,
        )
    return model, objective, optimizer


def update(strategy, jit_compile=False, recompute=False, **kwargs):
    """(model, `Update`)."""
    model, objective, optimizer = parts(strategy, **kwargs)
    is_compiled = jit_compile or isinstance(strategy, tf.distribute.TPUStrategy)
    recomputation.set_up(model.encoder, recompute=recompute, is_compiled=is_compiled)
    return model, Update(
        model, objective, optimizer, strategy, random_seed=3, jit_compile=jit_compile
    )


def shares(number, num_replicas=1, is_packed=False, num_micro_batches=NUM_MICRO_BATCHES):
    """Batch of a number, as `micro_batches.Cut` shares it out: a dict for each replica."""
    rng = np.random.default_rng(number)
    num_rows = NUM_MICRO_BATCHES * NUM_ROWS
    lengths = rng.integers(7, NUM_TOKENS + 1, num_rows)
    lengths[:NUM_ROWS] = rng.integers(7, SHORT + 1, NUM_ROWS)
    mask = (np.arange(NUM_TOKENS) < lengths[:, None]).astype(np.int32)
    slots = (num_rows, NUM_PREDICTIONS)
    batch = {
        features.WORD_IDS.name: rng.integers(1, 31, mask.shape, dtype=np.int32) * mask,
        features.MASK.name: mask,
        features.TYPE_IDS.name: (np.arange(NUM_TOKENS) > 3) * mask,
        features.MASKED_LM_POSITIONS.name: rng.integers(0, 7, slots, dtype=np.int32),
        features.MASKED_LM_IDS.name: rng.integers(1, 31, slots, dtype=np.int32),
        features.MASKED_LM_WEIGHTS.name: np.ones(slots, np.float32),
    }
    if is_packed:
        batch[features.SEQUENCE_IDS.name] = (1 + (np.arange(NUM_TOKENS) > 4)) * mask
    else:
        batch[features.NEXT_SENTENCE_LABELS.name] = rng.integers(0, 2, num_rows, dtype=np.int32)
    batch[features.ROW_NUMBERS] = np.arange(num_rows, dtype=np.int32)
    rows = np.arange(num_rows).reshape(num_micro_batches, num_replicas, -1).swapaxes(0, 1)
    return [
        {name: values[mine].astype(values.dtype) for name, values in batch.items()}
        | {features.LENGTH_BUCKET: np.arange(num_micro_batches, dtype=np.int32)}
        for mine in rows
    ]


def static_shapes(lengths=(NUM_TOKENS,), num_replicas=1, **kwargs):
    """What `Update.with_static_shapes` takes."""
    (share, *_) = shares(0, num_replicas, **kwargs)
    return StaticShapes({n: tf.TensorSpec(x.shape, x.dtype) for n, x in share.items()}, lengths)


def dataset(strategy, **kwargs):
    """Distributed dataset of all batches."""
    replicas = strategy.num_replicas_in_sync
    given = static_shapes(num_replicas=replicas, **kwargs).specification

    def batches(first):
        for number in range(first, first + 100):
            yield from shares(number, replicas, **kwargs)

    def made(_):
        return tf.data.Dataset.from_generator(batches, args=[0], output_signature=given).repeat()

    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    return strategy.distribute_datasets_from_function(made, options)
