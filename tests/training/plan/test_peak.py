"""The arithmetic of the measurement, with a fake clock."""

import pytest
import tensorflow as tf

from bert_tf.training.plan import peak


def test_flops_per_second_of_the_fastest_run():
    # Elapsed: the first two calls, then doubling until a run takes a tenth of a second, five runs.
    elapsed = [9.0, 0.01, 0.04, 0.1, 0.5, 0.4, 0.25, 0.8, 0.5]
    times = [time for seconds in elapsed for time in (0.0, seconds)]
    found = peak.measure("/CPU:0", sizes=[7], seconds=1.0, clock=lambda: times.pop(0))
    assert found == pytest.approx(4 * 2 * 7**3 / 0.25)
    assert times == []


def test_the_fastest_size_counts():
    # For each size, two calls to find that one product takes long enough, and five runs.
    elapsed = [9.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5] + [9.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    times = [time for seconds in elapsed for time in (0.0, seconds)]
    found = peak.measure("/CPU:0", sizes=[3, 7], clock=lambda: times.pop(0))
    assert found == pytest.approx(max(2 * 3**3 / 0.5, 2 * 7**3 / 2.0))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(dtype):
    assert peak.measure("/CPU:0", dtype, seconds=0.001, sizes=[5]) > 0


def test_logical_cpus_of_one_process_count_once(monkeypatch):
    measured = []

    def measure(device, dtype, seconds):
        measured.append((device, dtype, seconds))
        return 100.0

    monkeypatch.setattr(peak, "measure", measure)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert peak.of_strategy(strategy, "bfloat16", 0.5) == 100.0
    assert measured[0][1:] == ("bfloat16", 0.5)


class Strategy:
    """A number of replicas of one kind, some of them in this process."""

    def __init__(self, devices, replicas):
        self.extended = self
        self.worker_devices, self.num_replicas_in_sync = devices, replicas


@pytest.mark.parametrize(
    ("devices", "replicas", "wanted"),
    [
        (("/job:worker/task:1/device:CPU:0",), 3, 300.0),
        (("/device:GPU:0", "/device:GPU:1"), 2, 200.0),
        (("/job:worker/task:0/device:GPU:0", "/job:worker/task:0/device:GPU:1"), 8, 800.0),
        (("/job:worker/task:0/device:TPU:0",), 8, None),
    ],
)
def test_devices_of_all_processes_count(monkeypatch, devices, replicas, wanted):
    monkeypatch.setattr(peak, "measure", lambda *arguments: 100.0)
    assert peak.of_strategy(Strategy(devices, replicas)) == wanted
