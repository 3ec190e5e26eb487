"""The two ways of feeding an update: batches from the host, or `tf.data` on the devices.

Both count the updates in the step variable, and both make updates through one method, `advance`.
"""

import dataclasses
from collections.abc import Iterator

import tensorflow as tf

from bert_tf.training.optimization.loss_scale import SMALLEST
from bert_tf.training.step.update import AMOUNTS, StaticShapes, Update

# Scalar of a call: updates before the first whose loss or gradients are not finite.
NUM_GOOD = "num_good"

Scalars = dict[str, tf.Tensor]


@dataclasses.dataclass(frozen=True)
class DeviceBatches:
    """Batches that `tf.data` feeds to the devices.

    Attributes:
      dataset: see `strategies.distribute`; of what `global_batches.Reader.micro_batches` gives.
      shapes: of a replica's element.
      updates_per_call: updates that the devices make without the host; fewer where a save is due.
    """

    dataset: tf.data.Dataset | tf.distribute.DistributedDataset
    shapes: StaticShapes
    updates_per_call: int


class HostFeed:
    """One update a call, with a batch from the host. This is what a CPU is fastest with.

    There is a graph for each number of micro-batches, with rows and lengths left open from the
    start. A graph made for the shapes of the first batch would round differently from one made
    after a restart.

    Attributes:
      batches: see `loop.Loop.run`.
    """

    def __init__(self, update: Update, step: tf.Variable) -> None:
        self.batches: Iterator = iter(())
        self._update, self._step = update, step
        self._graphs: dict[int, tf.types.experimental.PolymorphicFunction] = {}

    def advance(self, limit: int) -> tuple[Scalars, int]:
        """Makes one update; returns its scalars, see `Update`, and 1."""
        del limit
        batch = next(self.batches)
        num_micro_batches = len(batch[0])
        if num_micro_batches not in self._graphs:
            signature = tf.nest.map_structure(
                lambda x: tf.TensorSpec([None] * x.ndim, tf.as_dtype(x.dtype)), batch
            )
            graph = tf.function(self._counted_update, input_signature=[signature], autograph=False)
            self._graphs[num_micro_batches] = graph
        return self._graphs[num_micro_batches](batch), 1

    def _counted_update(self, batch: object) -> Scalars:
        number = self._step + 1
        scalars = self._update(batch, number)
        self._step.assign(number)
        return scalars


class DeviceFeed:
    """Many updates a call, with batches that the devices fetch themselves."""

    def __init__(self, update: Update, step: tf.Variable, batches: DeviceBatches) -> None:
        self._update = update.with_static_shapes(batches.shapes)
        self._step = step
        self._iterator = iter(batches.dataset)
        self._updates_per_call = batches.updates_per_call
        self._updates = tf.function(self._make_updates, autograph=False)

    def advance(self, limit: int) -> tuple[Scalars, int]:
        """Makes up to `limit` updates; returns the scalars of the last one, and how many.

        The `AMOUNTS` are those of all of them. `NUM_GOOD` is one more scalar.
        """
        count = min(limit, self._updates_per_call)
        return self._updates(tf.constant(count, tf.int32)), count

    def _make_updates(self, count: tf.Tensor) -> Scalars:
        # The update stands in one place, since a TPU compiles it for every place. The step is read
        # once and written once: it lies on the devices.
        first = tf.identity(self._step)
        names: list[str] = []

        def advance(
            done: tf.Tensor, _: tf.Tensor, amounts: tf.Tensor, num_good: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            number = first + tf.cast(done, tf.int64) + 1
            scalars = self._update(next(self._iterator), number)
            names[:] = scalars
            amounts += tf.stack([tf.cast(scalars[name], tf.float64) for name in AMOUNTS])
            is_good = tf.math.is_finite(scalars["gradient_norm"])
            if "loss_scale" in scalars:
                is_good |= scalars["loss_scale"] > SMALLEST  # then the next one tries a smaller
            is_good &= tf.math.is_finite(scalars["loss"])
            num_good += tf.cast(is_good & tf.equal(num_good, done), tf.int32)
            return done + 1, tf.stack(list(scalars.values())), amounts, num_good

        zero = tf.constant(0)
        start = (zero, tf.zeros([0]), tf.zeros([len(AMOUNTS)], tf.float64), zero)
        shapes = (zero.shape, tf.TensorShape([None]), start[2].shape, zero.shape)
        _, values, amounts, num_good = tf.while_loop(
            lambda done, *_: done < count, advance, start, shape_invariants=shapes
        )
        self._step.assign(first + tf.cast(count, tf.int64))
        scalars = {name: values[index] for index, name in enumerate(names)}
        counted = (*tf.unstack(amounts), num_good)
        return scalars | dict(zip((*AMOUNTS, NUM_GOOD), counted, strict=True))
