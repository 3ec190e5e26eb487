"""Every test sees four logical CPU devices, so that replicas can be tested on any machine."""

import gc
import os

import bert_tf  # noqa: F401  TensorFlow then loads without its log lines

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# What tests write need not outlive a loss of power; a busy disk takes up to a minute to flush it.
os.fsync = lambda handle: None
# Tracing makes millions of objects that live long. With Python's threshold of 700, looking for
# garbage among them is a sixth of the tests' CPU time.
gc.set_threshold(50_000, 20, 50)


def pytest_configure(config):
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        return  # only hands the tests to the processes that run them

    import tensorflow as tf

    # The matrices of the tests are small, and another process of tests has the other core.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
