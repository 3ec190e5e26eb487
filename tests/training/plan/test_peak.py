"""The arithmetic of the measurement, with a fake clock."""

import time

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
    elapsed = [9.0, 6.0, 6.0, 6.0, 6.0, 6.0, 5.0] + [9.0, 8.0, 8.0, 8.0, 8.0, 8.0, 9.0]
    times = [time for seconds in elapsed for time in (0.0, seconds)]
    found = peak.measure("/CPU:0", sizes=[5, 7], seconds=100.0, clock=lambda: times.pop(0))
    assert found == pytest.approx(max(2 * 5**3 / 5.0, 2 * 7**3 / 8.0))


def test_a_size_that_takes_too_long_is_left_out():
    # At 50 FLOPs per second seven products of 7 x 7 would take 96 seconds.
    times = [time for seconds in [9.0, 6.0, *[5.0] * 5] for time in (0.0, seconds)]
    found = peak.measure("/CPU:0", sizes=[5, 7], seconds=90.0, clock=lambda: times.pop(0))
    assert found == pytest.approx(2 * 5**3 / 5.0)
    assert times == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(dtype):
    assert peak.measure("/CPU:0", dtype, seconds=0.001, sizes=[5]) > 0


def test_logical_cpus_of_one_process_count_once(monkeypatch):
    measured = []

    def measure(device, dtype, seconds, clock):
        measured.append((device, dtype, seconds, clock))
        return 100.0

    monkeypatch.setattr(peak, "measure", measure)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert peak.of_strategy(strategy, "bfloat16", 0.5) == 100.0
    assert measured[0][1:] == ("bfloat16", 0.5, None)


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
    clocks = []
    monkeypatch.setattr(peak, "measure", lambda *_, clock: clocks.append(clock) or 100.0)
    assert peak.of_strategy(Strategy(devices, replicas)) == wanted
    if "CPU" in devices[0]:  # processes that may be on one host share its cores
        assert clocks == [time.perf_counter]


def test_other_programs_do_not_make_the_peak_lower():
    """A sleep stands for them: time passes, and this process computes nothing."""
    start = peak.core_seconds()
    time.sleep(0.3)
    assert peak.core_seconds() - start < 0.1
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    assert peak.core_seconds() - start >= 0.1 / peak.num_cores()


@pytest.mark.parametrize(
    ("quota", "threads", "wanted"),
    [
        ("max 100000", "", 8.0),
        ("150000 100000", "", 1.5),
        ("1600000 100000", "", 8.0),
        ("max 100000", "3", 3.0),
        ("200000 100000", "1", 1.0),
        (None, "0", 8.0),
    ],
)
def test_the_cores_that_a_process_may_use(monkeypatch, tmp_path, quota, threads, wanted):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", threads)
    if quota:
        (tmp_path / "cpu.max").write_text(quota + "\n")
    monkeypatch.setattr(peak, "_QUOTA_FILE", str(tmp_path / "cpu.max"))
    assert peak.num_cores() == wanted
