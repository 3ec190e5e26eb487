"""One update of the weights; `Update.on_replica` is all of it, in order.

It runs on every replica, in a graph. With batches of static shapes nothing in it needs the host, so
XLA can compile the whole of it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from bert_tf import features
from bert_tf.modeling import dropout
from bert_tf.records.read.micro_batches import shortened
from bert_tf.training.optimization.optimizer import Optimizer
from bert_tf.training.step.objectives import Objective, SumAndCount

# Scalars of an update in addition to losses and accuracies: real tokens, and positions computed.
AMOUNTS = ("num_tokens", "num_positions")

Batch = dict[str, tf.Tensor]  # by the names of `features`
Gradients = dict[int, tf.Tensor]  # by the index of the variable; only of those that have one


class StaticShapes(NamedTuple):
    """Shapes of the batches that `tf.data` feeds to the devices.

    Attributes:
      specification: `tf.TensorSpec` of each feature of a replica's share of a batch.
      lengths: tokens that a micro-batch may have, ascending; see `micro_batches.buckets`.
    """

    specification: dict[str, tf.TensorSpec]
    lengths: tuple[int, ...]


class Update:
    """Updates `model` with `optimizer` for `objective` under `strategy`.

    Args:
      model: a model of `modeling.models`, made under the strategy's scope.
      optimizer: made under the strategy's scope.
      random_seed: of the dropout masks.
      jit_compile: whether XLA compiles updates of static shapes. One replica: the whole update.
        Several: each replica's gradients, but neither their sum over the replicas nor the
        optimizer. False on TPUs, where everything is compiled anyway.

    Attributes:
      variables: the weights.
    """

    def __init__(
        self,
        model: keras.Model,
        objective: Objective,
        optimizer: Optimizer,
        strategy: tf.distribute.Strategy,
        *,
        random_seed: int,
        jit_compile: bool = False,
    ) -> None:
        self.model, self.optimizer, self.strategy = model, optimizer, strategy
        if objective.reads_hidden_states:
            model.gives_hidden_states = True
        self.variables = [variable.value for variable in model.trainable_variables]
        without_effect = objective.without_effect(model.config.num_hidden_layers)
        self._has_effect = [
            not variable.path.endswith(without_effect) for variable in model.trainable_variables
        ]
        self._objective = objective
        self._seed = random_seed
        # Traced once for all micro-batches from the host.
        self._measure_traced = tf.function(self._measure, autograph=False)
        self._sum_static = self._sum_gradients
        self.compiles_whole = jit_compile and strategy.num_replicas_in_sync == 1
        if jit_compile and not self.compiles_whole:
            self._sum_static = tf.function(self._sum_gradients, jit_compile=True, autograph=False)

    def __call__(
        self, batch: Any, number: tf.Tensor, shapes: StaticShapes | None = None
    ) -> dict[str, tf.Tensor]:
        """Makes an update.

        Args:
          batch: the global batch. Without `shapes`, from the host: a list with a tuple of
            micro-batches for each replica of this process. With `shapes`, as a distributed dataset
            gives it: for each replica a dict of [K b ...], its K micro-batches.
          number: int64 scalar, of the update, from 1.

        Returns:
          float32 scalars of the global batch: means of losses and accuracies, `AMOUNTS`, the norm
          of the gradients, the learning rate and, in float16, the loss scale of this update.
        """
        return self._run(lambda share: self.on_replica(share, number, shapes), batch)

    def with_static_shapes(self, shapes: StaticShapes) -> tf.types.experimental.Callable:
        """The update of batches of these shapes, compiled by XLA where that is asked for."""

        def update(batch: Any, number: tf.Tensor) -> dict[str, tf.Tensor]:
            return self(batch, number, shapes)

        if not self.compiles_whole:
            return update
        return tf.function(update, jit_compile=True, autograph=False)

    def on_replica(
        self, batch: Any, number: tf.Tensor, shapes: StaticShapes | None
    ) -> dict[str, tf.Tensor]:
        """The update on one replica, from its micro-batches to new weights; see `__call__`."""
        replica = tf.distribute.get_replica_context()
        micro_batches = _of_device(batch, shapes) if shapes else _of_host(batch, replica)
        seeds = self._dropout_seeds(micro_batches, number)
        # The losses are divided by the counts of the global batch, which its labels tell.
        counts = replica.all_reduce("SUM", _sum(map(self._counts, micro_batches)))

        if shapes:
            sums, gradients = self._sum_static(micro_batches, seeds, counts, shapes.lengths)
        else:
            sums, gradients = self._sum_gradients(micro_batches, seeds, counts)
        if replica.num_replicas_in_sync > 1:
            gradients = replica.all_reduce("SUM", gradients)

        rates = {"learning_rate": self.optimizer.learning_rate(number)}
        if self.optimizer.loss_scale is not None:
            rates["loss_scale"] = tf.identity(self.optimizer.loss_scale.value)
        gradient_norm = self.optimizer.apply(  # which clips them first
            [gradients.get(index) for index in range(len(self.variables))], self.variables, number
        )
        sums = replica.all_reduce("SUM", sums)
        amounts = {name: sums.pop(name)[0] for name in AMOUNTS}
        means = {name: total / tf.maximum(count, 1.0) for name, (total, count) in sums.items()}
        loss = tf.add_n([means[name] for name in self._objective.losses])
        return means | {"loss": loss, "gradient_norm": gradient_norm} | rates | amounts

    def _sum_gradients(
        self,
        micro_batches: Sequence[Batch],
        seeds: Sequence[tf.Tensor],
        counts: dict[str, tf.Tensor],
        lengths: Sequence[int] = (),
    ) -> tuple[dict[str, SumAndCount], Gradients]:
        """What `_measure` gives and the gradients, both summed over the micro-batches."""
        measured: list[dict[str, SumAndCount]] = []
        gradients: Gradients = {}
        for micro_batch, seed in zip(micro_batches, seeds, strict=True):
            # One after the other: the memory of one is free before the next one needs it.
            with tf.control_dependencies(list(gradients.values())):
                micro_batch = tf.nest.map_structure(tf.identity, micro_batch)
            sums, added = self._choose_length(micro_batch, seed, counts, lengths)
            measured.append(sums)
            gradients = {i: gradients[i] + g if gradients else g for i, g in added.items()}
        return _sum(measured), gradients

    def _choose_length(
        self,
        micro_batch: Batch,
        seed: tf.Tensor,
        counts: dict[str, tf.Tensor],
        lengths: Sequence[int],
    ) -> tuple[dict[str, SumAndCount], Gradients]:
        """`_differentiate` at the length of the micro-batch's bucket, if there are several."""
        if not lengths:
            return self._differentiate(micro_batch, seed, counts)
        # Each branch holds its backward pass too: XLA cannot differentiate a choice between arrays
        # of different shapes.
        branches = [
            lambda length=length: self._differentiate(shortened(micro_batch, length), seed, counts)
            for length in lengths
        ]
        bucket = micro_batch[features.LENGTH_BUCKET]
        return branches[0]() if len(branches) == 1 else tf.switch_case(bucket, branches)

    def _differentiate(
        self, micro_batch: Batch, seed: tf.Tensor, counts: dict[str, tf.Tensor]
    ) -> tuple[dict[str, SumAndCount], Gradients]:
        """What `_measure` gives for a micro-batch, and its part of the global gradients, dense."""
        # Static shapes are traced in place: TPUStrategy has no gradients of a function's weights.
        is_static = micro_batch[features.WORD_IDS.name].shape.is_fully_defined()
        measure = self._measure if is_static else self._measure_traced
        with tf.GradientTape() as tape:
            sums = measure(micro_batch, seed)
            # A batch without a single prediction has loss 0, not 0 / 0.
            names = self._objective.losses
            losses = [sums[name][0] / tf.maximum(counts[name], 1.0) for name in names]
            loss = self.optimizer.scaled(tf.add_n(losses))
        gradients = tape.gradient(loss, self.variables)
        used = zip(range(len(gradients)), gradients, self._has_effect, strict=True)
        return sums, {i: tf.convert_to_tensor(g) for i, g, has in used if has and g is not None}

    def _measure(self, micro_batch: Batch, seed: tf.Tensor) -> dict[str, SumAndCount]:
        """Losses and accuracies of a micro-batch, and `AMOUNTS`, whose counts mean nothing."""
        batch = self._objective.prepare(micro_batch)
        with dropout.step_seed(seed, rows=micro_batch.get(features.ROW_NUMBERS)):
            outputs = self.model(batch, training=True)
        mask = tf.cast(micro_batch[features.MASK.name], tf.float32)
        one = tf.constant(1.0)
        return self._objective.measure(outputs, batch) | {
            "num_tokens": (tf.reduce_sum(mask), one),
            "num_positions": (tf.cast(tf.size(mask), tf.float32), one),
        }

    def _counts(self, micro_batch: Batch) -> dict[str, tf.Tensor]:
        """What each loss of a micro-batch is divided by."""
        return self._objective.counts(self._objective.prepare(micro_batch))

    def _dropout_seeds(self, micro_batches: Sequence[Batch], number: tf.Tensor) -> list[tf.Tensor]:
        """int32 [2] for each micro-batch: one for all if their rows have numbers."""
        seed = _folded([self._seed, 0], tf.cast(number, tf.int32))
        if features.ROW_NUMBERS in micro_batches[0]:
            return [seed] * len(micro_batches)
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        first = replica * len(micro_batches)
        return [_folded(seed, first + index) for index in range(len(micro_batches))]

    def parameter_norm(self) -> tf.Tensor:
        """The global norm of the weights, float32 scalar."""
        return self._run(lambda: tf.linalg.global_norm(self.variables))

    def _run(self, function: tf.types.experimental.Callable, *args: Any) -> tf.Tensor:
        """Calls `function` on every replica; returns what this process's first one returns."""
        options = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)
        results = self.strategy.run(function, args=args, options=options)
        return tf.nest.map_structure(
            lambda value: self.strategy.experimental_local_results(value)[0], results
        )


def _of_host(batch: Sequence, replica: tf.distribute.ReplicaContext) -> list[Batch]:
    """A replica's micro-batches of those of all replicas of this process."""
    number = int(tf.get_static_value(replica.replica_id_in_sync_group))
    return list(batch[number % len(batch)])


def _of_device(share: Batch, shapes: StaticShapes) -> list[Batch]:
    """A replica's micro-batches from its share of a batch, dict of [K b ...]."""
    # A distributed dataset may have lost the shapes. Not by `tf.ensure_shape`, which marks them as
    # dynamic for XLA.
    share = {name: tf.reshape(x, shapes.specification[name].shape) for name, x in share.items()}
    num_micro_batches = share[features.WORD_IDS.name].shape[0]
    return [{name: x[k] for name, x in share.items()} for k in range(num_micro_batches)]


def _folded(seed: Any, number: tf.Tensor) -> tf.Tensor:
    # By name: TensorFlow would choose another algorithm on a TPU, and draw other masks there.
    return tf.random.experimental.stateless_fold_in(seed, number, alg="philox")


def _sum(dicts: Iterable[dict]) -> dict:
    """Adds dicts of equal structure leaf by leaf."""
    return tf.nest.map_structure(lambda *values: tf.add_n(values), *dicts)
