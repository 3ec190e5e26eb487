"""The smallest fine-tuning of every kind: rows, an update that has every part, static batches."""

import itertools

import keras
import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.config import BertConfig
from bert_tf.examples.rows import NO_LABEL, Rows
from bert_tf.examples.static_batches import StaticBatches
from bert_tf.tasks.kinds.choice import Choice
from bert_tf.tasks.kinds.classification import Classification
from bert_tf.tasks.kinds.multi_label import MultiLabel
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.tasks.kinds.regression import Regression
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.optimizer import AdamW
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.step import row_batches
from bert_tf.training.step.update import StaticShapes, Update

NUM_ROWS, BATCH_SIZE, LENGTH, SHORT = 11, 4, 12, 7
GROUP_SIZES = np.array([2, 3, 2, 4, 2, 3, 2, 2, 3, 2, 4])
CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
    hidden_dropout_prob=0.3,
    attention_probs_dropout_prob=0.3,
)
LABELS = {"classify": ("x", "y"), "multi_label": ("x", "y", "z"), "tag": ("O", "B-x", "I-x")}
TASKS = {
    "classify": Classification,
    "multi_label": MultiLabel,
    "regress": Regression,
    "tag": Tagging,
    "choice": Choice,
    "span": QuestionAnswering,
}
KINDS = tuple(TASKS)


def metadata(kind):
    return ModelMetadata(
        kind=kind,
        task="t",
        labels=LABELS.get(kind, ()),
        do_lower_case=True,
        max_seq_length=LENGTH,
    )


def objective(kind):
    return TASKS[kind].of_model(metadata(kind))


def rows(kind):
    rng = np.random.default_rng(5)
    group_sizes = GROUP_SIZES if kind == "choice" else None
    count = NUM_ROWS if group_sizes is None else group_sizes.sum()
    word_ids = [rng.integers(1, 7, rng.integers(3, LENGTH)).tolist() for _ in range(count)]
    ids = rng.integers(0, 2, NUM_ROWS).astype(np.int32)
    labels = {features.LABEL_IDS.name: ids}
    if kind == "tag":
        values = [rng.integers(NO_LABEL, 3, len(row)).astype(np.int32) for row in word_ids]
        labels = {features.TOKEN_LABEL_IDS.name: values}
    elif kind == "span":
        labels = {f.name: ids for f in (features.START_POSITIONS, features.END_POSITIONS)}
    elif kind == "regress":
        labels = {features.LABEL_VALUES.name: ids.astype(np.float32)}
    elif kind == "multi_label":
        vectors = rng.integers(0, 2, (NUM_ROWS, 3)).astype(np.float32)
        labels = {features.LABEL_VECTORS.name: vectors}
    return Rows(word_ids, [[0] * len(row) for row in word_ids], labels, group_sizes)


def model(kind, strategy):
    """The same weights every time."""
    keras.utils.set_random_seed(3)
    with strategy.scope():
        return model_directory.new_model(CONFIG, metadata(kind))


def update(kind, strategy, jit_compile=False):
    """(model, `Update`)."""
    made = model(kind, strategy)
    with strategy.scope():
        optimizer = AdamW(
            [variable.value for variable in made.trainable_variables],
            Schedule(1e-2, 9, 2),
            groups=parameter_groups.of(made),
            weight_decay_rate=0.01,
            bias_correction=True,
            max_grad_norm=0.5,
        )
    return made, Update(
        made, objective(kind), optimizer, strategy, random_seed=3, jit_compile=jit_compile
    )


def batches(kind, num_replicas=1, lengths=(SHORT, LENGTH)):
    """(`StaticBatches`, `StaticShapes`)."""
    made = StaticBatches(
        rows=rows(kind),
        batch_size=BATCH_SIZE,
        random_seed=3,
        num_replicas=num_replicas,
        num_micro_batches=1,
        lengths=lengths,
    )
    return made, StaticShapes(row_batches.specification(made), lengths)


def first_share(kind, **kwargs):
    """The share of the first replica of the third batch, which is short."""
    made, _ = batches(kind, **kwargs)
    (share,) = itertools.islice(made.shares(range(1), first_step=2), 1)
    return {name: tf.constant(values) for name, values in share.items()}


def dataset(kind, strategy):
    """Distributed dataset of all batches."""
    made, shapes = batches(kind, strategy.num_replicas_in_sync)
    replicas = range(strategy.num_replicas_in_sync)

    def new(_):
        return tf.data.Dataset.from_generator(
            lambda: made.shares(replicas), output_signature=shapes.specification
        ).repeat()

    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    return strategy.distribute_datasets_from_function(new, options)
