"""The `tf.distribute` strategy of a run."""

import json
import os

import tensorflow as tf

from bert_tf.errors import InputError

_TF_CONFIG = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}},'
    " the index its own on each host."
)


def make(distribution_strategy):
    """Makes the strategy that `--distribution_strategy` names.

    Args:
      distribution_strategy: "auto", "one_device", "mirrored" or "multi_worker".

    Returns:
      `tf.distribute.Strategy`.

    Raises:
      InputError: multi_worker without TF_CONFIG, or a TF_CONFIG that names no cluster.
    """
    if distribution_strategy in ("auto", "multi_worker") and _num_workers() > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if distribution_strategy == "multi_worker":
        raise InputError(
            "--distribution_strategy=multi_worker needs the environment variable TF_CONFIG, with "
            f"two or more workers: {_TF_CONFIG}"
        )
    gpus = [device.name for device in tf.config.list_logical_devices("GPU")]
    if distribution_strategy == "mirrored" or (distribution_strategy == "auto" and len(gpus) > 1):
        cpus = [device.name for device in tf.config.list_logical_devices("CPU")]
        return mirrored(gpus or cpus)
    return tf.distribute.OneDeviceStrategy(gpus[0] if gpus else "/cpu:0")


def mirrored(devices):
    """One replica on each device.

    Args:
      devices: list of device names, all GPUs or all CPUs.

    Returns:
      `tf.distribute.MirroredStrategy`.
    """
    # On CPUs the default, collective operations, ties the process to one number of replicas.
    on_gpus = "GPU" in devices[0].upper()
    cross_device_ops = None if on_gpus else tf.distribute.ReductionToOneDevice()
    return tf.distribute.MirroredStrategy(devices, cross_device_ops=cross_device_ops)


def _num_workers():
    """Processes that TF_CONFIG names; 0 without it."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return 0
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"The environment variable TF_CONFIG is not JSON ({error}): {text!r}. It should be as "
            f"in {_TF_CONFIG}"
        ) from None
    cluster = found.get("cluster", {}) if isinstance(found, dict) else None
    if not isinstance(cluster, dict):
        raise InputError(
            f"The environment variable TF_CONFIG is {text!r}; it should be as in {_TF_CONFIG}"
        )
    return sum(len(cluster.get(kind, ())) for kind in ("chief", "worker"))


def local_replicas(strategy, context=None):
    """The replicas of this process, or of one host of the several that it steers (TPU slices).

    Args:
      strategy: `tf.distribute.Strategy`.
      context: `tf.distribute.InputContext` of the host that reads for them, or None.

    Returns:
      range of their numbers among all replicas.
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


def check_batch_size(strategy, batch_size):
    """Refuses a global batch that the replicas cannot share evenly.

    Raises:
      InputError: `batch_size` is no multiple of the number of replicas.
    """
    replicas = strategy.num_replicas_in_sync
    if batch_size % replicas:
        raise InputError(
            f"--train_batch_size={batch_size} is not a multiple of the {replicas} replicas; "
            f"give {-(-batch_size // replicas) * replicas}, or --distribution_strategy=one_device."
        )
