"""The `tf.distribute` strategy of a run."""

import tensorflow as tf

from bert_tf.errors import InputError


def make(distribution_strategy):
    """Makes the strategy that `--distribution_strategy` names.

    Args:
      distribution_strategy: "auto", "one_device" or "mirrored".

    Returns:
      `tf.distribute.Strategy`.
    """
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
