"""Training batches of rows: from the host, or of static shape, which the devices fetch.

Both ways give the same updates: the same rows in the same batches, each with the number that its
dropout masks belong to.
"""

from collections.abc import Iterator

import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.examples.rows import Batch, Rows
from bert_tf.examples.static_batches import StaticBatches
from bert_tf.options import FineTuning
from bert_tf.records.read import stream
from bert_tf.training.devices import strategies
from bert_tf.training.step.feeding import DeviceBatches
from bert_tf.training.step.update import StaticShapes


def check_devices(options: FineTuning, strategy: tf.distribute.Strategy) -> None:
    """Refuses devices that cannot be fed with rows.

    Raises:
      InputError: the replicas cannot share a batch evenly, or the TPU is another machine's.
    """
    strategies.check_batch_size(strategy, options.train_batch_size)
    is_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
    if is_tpu and strategy.cluster_resolver.cluster_spec().as_dict():
        raise InputError(
            "Fine-tuning feeds a TPU from the process that was started, and this TPU belongs to "
            "other machines. Start the command on a TPU VM of one host with --tpu_name=local."
        )


def batches(
    rows: Rows, options: FineTuning, strategy: tf.distribute.Strategy, first_step: int
) -> Iterator[list[tuple[Batch, ...]]] | DeviceBatches:
    """What `loop.Loop.run` takes, without end, from step number `first_step` on.

    Args:
      rows: with labels.
    """
    make = _device_batches if options.has_static_shapes else _host_batches
    return make(rows, options, strategy, first_step)


def _host_batches(
    rows: Rows, options: FineTuning, strategy: tf.distribute.Strategy, first_step: int
) -> Iterator[list[tuple[Batch, ...]]]:
    return batching.training_batches(
        rows,
        batch_size=options.train_batch_size,
        random_seed=options.random_seed,
        replicas=strategy.num_replicas_in_sync,
        num_micro_batches=options.micro_batches_per_replica,
        first_step=first_step,
        here=strategies.local_replicas(strategy),
    )


def _device_batches(
    rows: Rows, options: FineTuning, strategy: tf.distribute.Strategy, first_step: int
) -> DeviceBatches:
    lengths = options.lengths(options.max_seq_length)
    made = StaticBatches(
        rows=rows,
        batch_size=options.train_batch_size,
        random_seed=options.random_seed,
        num_replicas=strategy.num_replicas_in_sync,
        num_micro_batches=options.micro_batches_per_replica,
        lengths=lengths,
    )
    of_share = specification(made)

    def dataset(context: tf.distribute.InputContext | None) -> tf.data.Dataset:
        here = strategies.local_replicas(strategy, context)
        # Without end as it is. Only `repeat` says so, and then nobody asks for one.
        return (
            tf.data.Dataset.from_generator(
                lambda: made.shares(here, first_step), output_signature=of_share
            )
            .repeat()
            .prefetch(stream.BATCHES_AHEAD)
            .with_options(stream.untuned())
        )

    distributed = strategies.distribute(strategy, dataset)
    return DeviceBatches(distributed, StaticShapes(of_share, lengths), options.iterations_per_loop)


def specification(made: StaticBatches) -> dict[str, tf.TensorSpec]:
    """Of a replica's share of a batch, [K b ...]."""
    shape = [made.num_micro_batches, made.rows_per_micro_batch]
    found = {
        name: tf.TensorSpec([*shape, *layout.shape], layout.dtype)
        for name, layout in made.layouts.items()
    }
    return found | {features.LENGTH_BUCKET: tf.TensorSpec(shape[:1], tf.int32)}
