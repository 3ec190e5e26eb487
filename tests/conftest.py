"""Every test sees four logical CPU devices, so that replicas can be tested on any machine."""

import os

import bert_tf  # noqa: F401  TensorFlow then loads without its log lines

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# What tests write need not outlive a loss of power; a busy disk takes up to a minute to flush it.
os.fsync = lambda handle: None


def pytest_configure(config):
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        return  # only hands the tests to the processes that run them

    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
