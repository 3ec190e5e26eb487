"""Software versions and devices of a run; nothing that identifies its user."""

import os
import platform
import sys

import keras
import numpy as np
import tensorflow as tf

import bert_tf

_NVIDIA_DRIVER = "/proc/driver/nvidia/version"


def describe(strategy: tf.distribute.Strategy) -> dict[str, str]:
    """Names and values, as reports show them."""
    values = {
        "bert_tf": bert_tf.__version__,
        "Python": platform.python_version(),
        "TensorFlow": tf.__version__,
        "Keras": keras.__version__,
        "NumPy": np.__version__,
        "System": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Processor": _processor(),
        "Cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "Memory": _memory(),
        "Accelerators": _accelerators(strategy),
        "Layers compute in": keras.config.dtype_policy().compute_dtype,
        "Strategy": type(strategy).__name__.removesuffix("V1"),
        "Replicas": strategy.num_replicas_in_sync,
    }
    return {name: str(value) for name, value in values.items()}


def unused_gpu() -> str | None:
    """A warning where the machine has an NVIDIA GPU that TensorFlow does not find; else None.

    TensorFlow's own words about it are among the log lines that `quiet` leaves out.
    """
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if is_hidden or not os.path.exists(_NVIDIA_DRIVER) or tf.config.list_physical_devices("GPU"):
        return None
    return (
        "This machine has an NVIDIA GPU, but TensorFlow does not find it and uses the CPU. "
        "requirements-gpu.txt has the libraries that it needs; TF_CPP_MIN_LOG_LEVEL=0 lets it say "
        "what is missing."
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model n")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return "not known"
    return f"{size / 2**30:.0f} GiB"


def _accelerators(strategy: tf.distribute.Strategy) -> str:
    counts: dict[str, int] = {}
    for device in tf.config.list_physical_devices("GPU"):
        name = tf.config.experimental.get_device_details(device).get("device_name", "GPU")
        counts[name] = counts.get(name, 0) + 1
    if isinstance(strategy, tf.distribute.TPUStrategy):  # the cores may be on other hosts
        counts["TPU core"] = strategy.num_replicas_in_sync
    return ", ".join(f"{count} x {name}" for name, count in counts.items()) or "none"
