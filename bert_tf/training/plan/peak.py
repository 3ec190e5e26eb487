"""What the hardware can do at most, measured: FLOPs per second of a large matrix product."""

import time

import tensorflow as tf

# Which size is the fastest depends on the caches, the type and the library.
_SIZES = {"CPU": (512, 1024, 2048), "GPU": (4096, 8192)}
_NUM_RUNS = 5


def measure(device, dtype="float32", seconds=1.0, sizes=None, clock=time.perf_counter):
    """Multiplies square matrices for about `seconds`.

    Args:
      device: str, e.g. "/CPU:0"; all of its cores or units work.
      dtype: str, of the layers' matrix products, e.g. "bfloat16". On GPUs float32 has the
        precision that TensorFlow gives matrix products there (TF32).
      seconds: float.
      sizes: list of int, rows and columns, or None: those that keep the kind of device busy.
      clock: gives seconds.

    Returns:
      float, FLOPs per second, of five runs of each size the fastest: other work on the machine
      makes it slower, nothing makes it faster.
    """
    sizes = sizes or _SIZES[_kind(device)]
    return max(_measure(device, dtype, seconds / len(sizes), size, clock) for size in sizes)


def _measure(device, dtype, seconds, size, clock):
    with tf.device(device):
        # Of variance 1/size, so that products of any number of them neither grow nor vanish.
        factors = tf.random.stateless_normal([2, size, size], [3, 5]) * size**-0.5
        left, right = tf.unstack(tf.cast(factors, dtype))

    @tf.function
    def multiply(count):
        product = left
        for _ in tf.range(count):
            product = tf.matmul(product, right)
        return tf.reduce_sum(product)

    def timed(count):
        with tf.device(device):
            start = clock()
            multiply(tf.constant(count)).numpy()
            return clock() - start

    timed(1)  # traces
    count = 1
    while timed(count) < seconds / (2 * _NUM_RUNS):
        count *= 2
    fastest = min(timed(count) for _ in range(_NUM_RUNS))
    return count * 2.0 * size**3 / fastest


def of_strategy(strategy, dtype="float32", seconds=1.0):
    """FLOPs per second of all devices of a strategy, or None where it cannot be measured (TPU).

    Every worker process has to call it, at the same time: on one host they share its cores.
    """
    devices = strategy.extended.worker_devices
    kind = _kind(devices[0])
    if kind not in _SIZES:
        return None
    # The logical CPU devices of a process share its cores.
    num_alike = strategy.num_replicas_in_sync // (len(devices) if kind == "CPU" else 1)
    return num_alike * measure(devices[0], dtype, seconds)


def _kind(device):
    return tf.DeviceSpec.from_string(device).device_type or "CPU"
