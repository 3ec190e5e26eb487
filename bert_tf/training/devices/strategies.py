"""The `tf.distribute` strategy of a run."""

import json
import os
from collections.abc import Callable, Sequence

import tensorflow as tf

from bert_tf.errors import InputError

_TF_CONFIG = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}},'
    " with its own index on each host."
)


def make(distribution_strategy: str) -> tf.distribute.Strategy:
    """Creates the strategy that `--distribution_strategy` names.

    Raises:
      InputError: multi_worker without TF_CONFIG, or a TF_CONFIG that names no cluster.
    """
    if distribution_strategy in ("auto", "multi_worker") and _num_workers() > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if distribution_strategy == "multi_worker":
        raise InputError(
            "--distribution_strategy=multi_worker needs the environment variable TF_CONFIG with "
            f"two or more workers: {_TF_CONFIG}"
        )
    gpus = [device.name for device in tf.config.list_logical_devices("GPU")]
    if distribution_strategy == "mirrored" or (distribution_strategy == "auto" and len(gpus) > 1):
        cpus = [device.name for device in tf.config.list_logical_devices("CPU")]
        return mirrored(gpus or cpus)
    return tf.distribute.OneDeviceStrategy(gpus[0] if gpus else "/cpu:0")


def mirrored(devices: Sequence[str]) -> tf.distribute.MirroredStrategy:
    """One replica on each device; the devices are all GPUs or all CPUs."""
    # On CPUs the default, collective operations, allows one number of replicas per process.
    on_gpus = "GPU" in devices[0].upper()
    cross_device_ops = None if on_gpus else tf.distribute.ReductionToOneDevice()
    return tf.distribute.MirroredStrategy(devices, cross_device_ops=cross_device_ops)


def _num_workers() -> int:
    """Processes that TF_CONFIG names; 0 without it."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return 0
    try:
        config = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"The environment variable TF_CONFIG is not JSON ({error}): {text!r}. It should "
            f"look like {_TF_CONFIG}"
        ) from None
    cluster = config.get("cluster", {}) if isinstance(config, dict) else None
    if not isinstance(cluster, dict):
        raise InputError(
            f"The environment variable TF_CONFIG is {text!r}; it should look like {_TF_CONFIG}"
        )
    return sum(len(cluster.get(kind, ())) for kind in ("chief", "worker"))


def local_replicas(
    strategy: tf.distribute.Strategy, context: tf.distribute.InputContext | None = None
) -> range:
    """Numbers of the replicas of this process, or of one of the hosts that it controls (TPUs).

    Args:
      context: of the host that reads for the replicas; None: this process.
    """
    if context is not None and context.num_input_pipelines > 1:
        here = strategy.num_replicas_in_sync // context.num_input_pipelines
        return range(context.input_pipeline_id * here, (context.input_pipeline_id + 1) * here)
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return range(strategy.num_replicas_in_sync)
    cluster = strategy.cluster_resolver.cluster_spec().as_dict()
    num_chiefs = len(cluster.get("chief", ()))
    resolver = strategy.cluster_resolver
    worker = resolver.task_id + (num_chiefs if resolver.task_type == "worker" else 0)
    here = strategy.num_replicas_in_sync // sum(map(len, cluster.values()))
    return range(worker * here, (worker + 1) * here)


def distribute(
    strategy: tf.distribute.Strategy,
    dataset: Callable[[tf.distribute.InputContext | None], tf.data.Dataset],
) -> tf.data.Dataset | tf.distribute.DistributedDataset:
    """Batches for the replicas, on their devices ahead of their use.

    On one CPU they are where they are needed, and the dataset is given as it is: a distributed one
    has a tuner that cannot be switched off, see `stream.untuned`.

    Args:
      dataset: makes the dataset of a host; None stands for this process.
    """
    first, *others = strategy.extended.worker_devices
    if not others and "CPU" in first.upper():
        return dataset(None)
    on_devices = tf.distribute.InputOptions(experimental_fetch_to_device=True)
    return strategy.distribute_datasets_from_function(dataset, on_devices)


def of_this_process(strategy: tf.distribute.Strategy) -> tf.distribute.Strategy:
    """The strategy for what one process does while the others of the run do nothing.

    MultiWorkerMirroredStrategy makes variables in all processes at once, or not at all. In its
    place comes the default strategy, of one device.
    """
    if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return tf.distribute.get_strategy()
    return strategy


def check_batch_size(strategy: tf.distribute.Strategy, batch_size: int) -> None:
    """Raises InputError if the replicas cannot share a global batch evenly."""
    replicas = strategy.num_replicas_in_sync
    if batch_size % replicas:
        raise InputError(
            f"--train_batch_size={batch_size} is not a multiple of the {replicas} replicas; "
            f"give {-(-batch_size // replicas) * replicas}, or --distribution_strategy=one_device."
        )
