"""Keras' `fit` against the loop of the scripts: the same batches, how far apart are the weights?

python -m benchmarks.runs.fit_against_loop [--num_steps=30]

A classifier of two layers (H64) without dropout starts from the same weights and sees the same
batches of real questions, on 1 and on 2 logical CPU devices: by `fit` with the optimizer and
schedule that `compile()` chooses, and by the update of the scripts; both clip to a low norm. The
known causes are switched off one by one: clipping, on both sides ("False"); the sparse gradients of
the embeddings, which are made dense before Keras' optimizer sees them ("dense"); and in addition
Keras' epsilon, which is added to the root of the uncorrected moment ("epsilon"). The table has the
largest absolute difference of any weight after the last update, to the loop and to one replica.
"""

import dataclasses
import itertools
import json
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

from benchmarks.runs import training_runs
from bert_tf import config, flagging
from bert_tf.flagging import option
from bert_tf.library import default_training
from bert_tf.library.text_classifier import TextClassifier
from bert_tf.library.tokenizer import Tokenizer
from bert_tf.modeling.models import ClassifierModel
from bert_tf.tasks import registry
from bert_tf.training.devices import strategies
from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.optimizer import AdamW
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.step.update import Update

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "fit_against_loop.json"
BATCH_SIZE, LENGTH = 16, 32
MAX_GRAD_NORM = 0.2  # so low that most gradients of this small model are clipped


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags of this program."""

    text: str = option("data/corpus/train.txt", "Sentences to learn the vocabulary from.")
    data: str = option("data/topics/train.tsv", "Texts and labels, under a header.")
    num_steps: int = option(30, "Updates of a run.")
    learning_rate: float = option(1e-3, "Peak of the schedule.")


class Data:
    """Batches of ids with labels, and the model that they are for."""

    def __init__(self, options, directory):
        vocab_file = training_runs.prepare_model(directory, options.text, LENGTH)
        values = json.loads((directory / "bert_config.json").read_text())
        values |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        self.config = config.BertConfig(**values)
        self.tokenizer = Tokenizer.from_preset(vocab_file, max_seq_length=LENGTH)
        lines = pathlib.Path(options.data).read_text(encoding="utf-8").splitlines()[1:]
        rows = [line.split("\t") for line in lines[: options.num_steps * BATCH_SIZE]]
        self.labels = sorted({label for _, label in rows})
        inputs = self.tokenizer([text for text, _ in rows])
        targets = np.array([self.labels.index(label) for _, label in rows], np.int32)
        starts = range(0, len(rows) - BATCH_SIZE + 1, BATCH_SIZE)
        parts = [slice(start, start + BATCH_SIZE) for start in starts]
        self.batches = [({n: x[part] for n, x in inputs.items()}, targets[part]) for part in parts]


class DenseAdamW(keras.optimizers.AdamW):
    """Keras' AdamW on dense gradients."""

    def apply(self, grads, trainable_variables=None):
        super().apply([tf.convert_to_tensor(grad) for grad in grads], trainable_variables)


class PublishedAdamW(DenseAdamW):
    """Adds epsilon to the root of the corrected moment, as Adam is published."""

    def update_step(self, gradient, variable, learning_rate):
        epsilon, number = self.epsilon, tf.cast(self.iterations + 1, tf.float32)
        self.epsilon = epsilon * tf.sqrt(-tf.math.expm1(number * np.log(np.float32(self.beta_2))))
        super().update_step(gradient, variable, learning_rate)
        self.epsilon = epsilon


OPTIMIZERS = {"sparse": keras.optimizers.AdamW, "epsilon": PublishedAdamW, "dense": DenseAdamW}


def strategy_of(replicas):
    """A strategy over some of the logical devices."""
    return strategies.mirrored([f"CPU:{index}" for index in range(replicas)])


def fitted(data, options, initial, replicas, clips, kind):
    """Weights after `fit`."""
    with strategy_of(replicas).scope():
        model = TextClassifier(data.config, data.tokenizer, data.labels)
        assign(model, initial)
        optimizer = default_training.new_optimizer(model, options.learning_rate)
        values = optimizer.get_config() | {"global_clipnorm": MAX_GRAD_NORM if clips else None}
        new = OPTIMIZERS[kind].from_config(values)
        groups = parameter_groups.of(model)
        pairs = zip(model.trainable_variables, groups, strict=True)
        new.exclude_from_weight_decay([v for v, group in pairs if not group.decays])
        model.compile(new)
    data_set = tf.data.Dataset.from_generator(
        lambda: iter(data.batches),
        output_signature=(
            {n: tf.TensorSpec([BATCH_SIZE, None], tf.int32) for n in data.batches[0][0]},
            tf.TensorSpec([BATCH_SIZE], tf.int32),
        ),
    ).apply(tf.data.experimental.assert_cardinality(len(data.batches)))
    schedule = default_training.WarmupAndDecay(options.learning_rate)
    model.fit(data_set, callbacks=[schedule], shuffle=False, verbose=0)
    return weights_of(model)


def looped(data, options, initial, replicas, clips):
    """Weights after as many updates of the scripts."""
    strategy, num_steps = strategy_of(replicas), len(data.batches)
    with strategy.scope():
        model = ClassifierModel(data.config, num_classes=len(data.labels))
        assign(model, initial)
        optimizer = AdamW(
            [variable.value for variable in model.trainable_variables],
            Schedule(options.learning_rate, num_steps, int(num_steps * 0.1)),
            groups=parameter_groups.of(model),
            weight_decay_rate=0.01,
            bias_correction=True,
            max_grad_norm=MAX_GRAD_NORM if clips else 1e9,
        )
    update = Update(model, registry.REGISTRY["cola"], optimizer, strategy, random_seed=1)
    update_traced = tf.function(update, reduce_retracing=True)
    share = BATCH_SIZE // replicas
    for number, (inputs, targets) in enumerate(data.batches, start=1):
        rows = inputs | {"label_ids": targets}
        batch = [
            ({name: x[start : start + share] for name, x in rows.items()},)
            for start in range(0, BATCH_SIZE, share)
        ]
        update_traced(batch, tf.constant(number, tf.int64))
    return weights_of(model)


def weights_of(model):
    """Dict from path to array."""
    return {variable.path: np.asarray(variable.value) for variable in model.trainable_variables}


def assign(model, weights):
    """Gives a model the weights of those paths."""
    for variable in model.trainable_variables:
        variable.assign(weights[variable.path])


def main(options):
    """Prints the table and writes the results."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    with tempfile.TemporaryDirectory() as name:
        data = Data(options, pathlib.Path(name))
    keras.utils.set_random_seed(1)
    initial = weights_of(ClassifierModel(data.config, num_classes=len(data.labels)))
    print(f"{'clipping':>9}{'computed by':>13}{'replicas':>9}{'to the loop':>12}{'to one':>9}")
    results = {"num_steps": len(data.batches), "learning_rate": options.learning_rate, "rows": []}
    for clips in (True, False):
        for row in compared(data, options, initial, clips):
            results["rows"].append(row)
            RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def compared(data, options, initial, clips):
    """Yields and prints rows: the loop, then `fit` on sparse and dense gradients."""
    loops = {replicas: looped(data, options, initial, replicas, clips) for replicas in (1, 2)}
    of_one: dict = {}
    for kind, replicas in itertools.product(("loop", *OPTIMIZERS), (1, 2)):
        if kind == "loop":
            found = loops[replicas]
        else:
            found = fitted(data, options, initial, replicas, clips, kind)
        of_one = found if replicas == 1 else of_one
        to_loop, name = training_runs.largest_difference(found, loops[replicas])
        to_one, _ = training_runs.largest_difference(found, of_one)
        print(
            f"{clips!s:>9}{kind:>13}{replicas:>9}{to_loop:>12.1e}{to_one:>9.1e}  {name}", flush=True
        )
        yield {
            "clips": clips,
            "computed_by": kind,
            "replicas": replicas,
            "difference_to_loop": to_loop,
            "weight": name,
            "difference_to_one_replica": to_one,
        }


if __name__ == "__main__":
    flagging.run(main, Options)
