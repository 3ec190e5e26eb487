"""Peak performance, measured: FLOPs per second of a large matrix product.

On a CPU the clock is the CPU time of this process. What other programs take away from it on a
shared machine does not make the peak lower, and the utilisation higher, than it is.
"""

import os
import time
from collections.abc import Callable, Sequence

import tensorflow as tf

# Which size is the fastest depends on the caches, the dtype and the library.
_SIZES = {"CPU": (512, 1024, 2048), "GPU": (4096, 8192)}
_NUM_RUNS = 5
_NUM_CALLS = _NUM_RUNS + 2  # one more traces, and one finds how many products a run takes
_QUOTA_FILE = "/sys/fs/cgroup/cpu.max"  # of a container: "MICROSECONDS PERIOD" or "max PERIOD"


def measure(
    device: str,
    dtype: str = "float32",
    seconds: float = 1.0,
    sizes: Sequence[int] | None = None,
    clock: Callable[[], float] | None = None,
) -> float:
    """Multiplies square matrices for about `seconds`; sizes that would take longer are left out.

    Args:
      device: e.g. "/CPU:0"; all of its cores or units work.
      dtype: of the matrix products. On GPUs float32 has the precision that TensorFlow uses for
        matrix products there (TF32).
      sizes: rows and columns, ascending; None: sizes that keep the kind of device busy.
      clock: gives seconds; None: `core_seconds` on a CPU, else the time of day.

    Returns:
      FLOPs per second of the fastest of five runs of each size: other work on the machine can
      only slow a run down.
    """
    sizes = sizes or _SIZES[_kind(device)]
    clock = clock or (core_seconds if _kind(device) == "CPU" else time.perf_counter)
    peak = 0.0
    for size in sizes:
        if peak and _NUM_CALLS * _flops(size) / peak > seconds:
            break
        peak = max(peak, _measure(device, dtype, seconds / len(sizes), size, clock))
    return peak


def _measure(
    device: str, dtype: str, seconds: float, size: int, clock: Callable[[], float]
) -> float:
    with tf.device(device):
        # With variance 1/size, products of any number of them neither grow nor vanish.
        factors = tf.random.stateless_normal([2, size, size], [3, 5]) * size**-0.5
        left, right = tf.unstack(tf.cast(factors, dtype))

    @tf.function(autograph=False)
    def multiply(count: tf.Tensor) -> tf.Tensor:
        _, product = tf.while_loop(
            lambda done, _: done < count,
            lambda done, product: (done + 1, tf.matmul(product, right)),
            (tf.constant(0), left),
        )
        return tf.reduce_sum(product)

    def timed(count: int) -> float:
        with tf.device(device):
            start = clock()
            multiply(tf.constant(count)).numpy()
            return clock() - start

    timed(1)  # traces
    count = 1
    while timed(count) < seconds / (2 * _NUM_RUNS):
        count *= 2
    fastest = min(timed(count) for _ in range(_NUM_RUNS))
    return count * _flops(size) / fastest


def _flops(size: int) -> float:
    """Of one product."""
    return 2.0 * size**3


def of_strategy(
    strategy: tf.distribute.Strategy, dtype: str = "float32", seconds: float = 0.5
) -> float | None:
    """FLOPs per second of all devices of a strategy; None where it cannot be measured (TPU).

    All worker processes must call it at the same time: on one host they share its cores, so the
    time of day counts.
    """
    devices = strategy.extended.worker_devices
    kind = _kind(devices[0])
    if kind not in _SIZES:
        return None
    # The logical CPU devices of a process share its cores.
    num_alike = strategy.num_replicas_in_sync // (len(devices) if kind == "CPU" else 1)
    clock = time.perf_counter if kind == "CPU" and num_alike > 1 else None
    return num_alike * measure(devices[0], dtype, seconds, clock=clock)


def core_seconds() -> float:
    """CPU time of this process, divided by its cores: the seconds in which all of them worked."""
    return time.process_time() / num_cores()


def num_cores() -> float:
    """Cores that TensorFlow may use: of the process, of its threads and of its container."""
    cores = float(len(os.sched_getaffinity(0)))
    if threads := int(os.environ.get("TF_NUM_INTRAOP_THREADS") or 0):
        cores = min(cores, threads)
    try:
        with open(_QUOTA_FILE, encoding="utf-8") as file:
            quota, period = file.read().split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else min(cores, int(quota) / int(period))


def _kind(device: str) -> str:
    return tf.DeviceSpec.from_string(device).device_type or "CPU"
