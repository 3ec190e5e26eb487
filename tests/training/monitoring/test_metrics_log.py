"""metrics.jsonl survives kills and restarts, and a full disk does not stop a run."""

import errno
import json
import math
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.monitoring import history
from bert_tf.training.monitoring.metrics_log import EventFile, MetricsLog


class Clock:
    """Seconds since 1970, which a test sets."""

    now = 5000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def lines(directory):
    """The lines of the file without their times."""
    with open(directory / history.NAME, encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    return [{key: value for key, value in line.items() if key != "time"} for line in found]


def test_a_run_from_start_to_end(tmp_path, clock):
    log = MetricsLog(tmp_path, 0, clock=clock, environment={"Python": "3"})
    log.phase(0, {"max_seq_length": 11})
    clock.now += 2.0
    log.add(3, {"loss": tf.constant(2.5), "norm": np.float32(0.25), "scale": 8})
    log.evaluation(3, {"loss": 2.75})
    log.event(3, "end")
    log.close()
    assert lines(tmp_path) == [
        {"step": 0, "event": "start", "number": 1, "seconds_before": 0.0, "last_step": 0}
        | {"environment": {"Python": "3"}},
        {"step": 0, "event": "phase", "sizes": {"max_seq_length": 11}},
        {"step": 3, "loss": 2.5, "norm": 0.25, "scale": 8},
        {"step": 3, "event": "evaluation", "metrics": {"loss": 2.75}},
        {"step": 3, "event": "end"},
    ]
    found = history.read(tmp_path / history.NAME)
    assert (found.seconds, found.state, found.num_damaged) == (2.0, "complete", 0)


def test_a_restart_drops_what_it_runs_again(tmp_path, clock):
    log = MetricsLog(tmp_path, 0, clock=clock)
    for step in range(1, 8):
        clock.now += 1.0
        log.add(step, {"loss": float(step)})
    log.evaluation(6, {"loss": 6.5})
    clock.now += 3600.0
    log = MetricsLog(tmp_path, 5, clock=clock)
    clock.now += 1.0
    log.add(6, {"loss": 60.0})
    log.close()
    found = history.read(tmp_path / history.NAME)
    assert found.series("loss") == ([1, 2, 3, 4, 5, 6], [1.0, 2.0, 3.0, 4.0, 5.0, 60.0])
    assert found.evaluations() == {}
    first, second = found.events("start")
    assert (first["number"], second["number"]) == (1, 2)
    # Seven steps of a second, of which two are run again; then one more. The pause does not count.
    assert (second["step"], second["last_step"], second["seconds_before"]) == (5, 7, 7.0)
    assert found.seconds == 8.0


def test_a_line_cut_off_by_a_kill_is_removed_at_the_next_start(tmp_path, clock):
    log = MetricsLog(tmp_path, 0, clock=clock)
    log.add(1, {"loss": 4.0})
    log.add(2, {"loss": 3.0})
    log.close()
    path = tmp_path / history.NAME
    path.write_bytes(path.read_bytes()[:-7])
    assert history.read(path).num_damaged == 1
    log = MetricsLog(tmp_path, 1, clock=clock)
    log.add(2, {"loss": 3.5})
    log.close()
    found = history.read(path)
    assert found.num_damaged == 0
    assert found.series("loss") == ([1, 2], [4.0, 3.5])


def test_nothing_logged_waits_in_the_process_where_a_kill_would_lose_it(tmp_path):
    log = MetricsLog(tmp_path, 0)
    for step in range(1, 30):
        log.add(step, {"loss": 1.0 / step})
    found = history.read(tmp_path / history.NAME)
    assert found.series("loss") == (list(range(1, 30)), [1.0 / step for step in range(1, 30)])
    assert found.state == "unfinished"
    log.close()


def test_numbers_that_are_not_finite_are_null_in_the_file(tmp_path):
    log = MetricsLog(tmp_path, 0)
    log.add(1, {"loss": math.nan, "norm": math.inf})
    log.close()
    assert lines(tmp_path)[-1] == {"step": 1, "loss": None, "norm": None}


def test_only_the_chief_writes(tmp_path):
    log = MetricsLog(tmp_path, 0, is_writer=False)
    log.add(1, {"loss": 1.0})
    log.evaluation(1, {"loss": 1.0})
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_gets_values_and_evaluations(tmp_path):
    log = MetricsLog(tmp_path, 0)
    log.add(3, {"loss": 2.5})
    log.evaluation(3, {"loss": 2.75})
    log.event(3, "end")
    log.close()
    (path,) = (tmp_path / "tensorboard").iterdir()
    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    events = [tf.compat.v1.Event.FromString(record) for record in records]
    found = {v.tag: (e.step, v.simple_value) for e in events for v in e.summary.value}
    assert found == {"loss": (3, 2.5), "eval/loss": (3, 2.75)}


class FullDisk:
    """A file on a disk that is full for a while: half of a line gets through, then nothing."""

    def __init__(self, file):
        self.file, self.left = file, None

    def write(self, line):
        if self.left is None:
            return self.file.write(line)
        if not self.left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.file.write(line[: self.left])
        self.left = 0
        return written

    def close(self):
        self.file.close()


def test_a_full_disk_costs_lines_and_one_warning(tmp_path, monkeypatch, capsys):
    log = MetricsLog(tmp_path, 0)
    disk = FullDisk(log._file)
    monkeypatch.setattr(log, "_file", disk)
    log.add(1, {"loss": 5.0})
    disk.left = 9
    log.add(2, {"loss": 4.0})
    log.add(3, {"loss": 3.0})
    disk.left = None
    log.add(4, {"loss": 2.0})
    log.add(5, {"loss": 1.0})
    log.close()
    assert capsys.readouterr().err.count("WARNING") == 1
    found = history.read(tmp_path / history.NAME)
    assert found.series("loss") == ([1, 4, 5], [5.0, 2.0, 1.0])
    assert found.num_damaged == 1


# Scalars as TensorBoard reads them, a restart included.


@pytest.fixture
def shown(tmp_path):
    """Reads the curve of a tag with TensorBoard's own reader: list of (step, value)."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def read(tag):
        found = accumulator.EventAccumulator(str(tmp_path))
        found.Reload()
        return [
            (event.step, float(np.float32(event.value)))
            if hasattr(event, "value")
            else (event.step, float(event.tensor_proto.float_val[0]))
            for event in (
                found.Scalars(tag) if tag in found.Tags()["scalars"] else found.Tensors(tag)
            )
        ]

    return read


def test_scalars(tmp_path, shown):
    events = EventFile(tmp_path, 1, 0, 1000.0)
    events.add(3, 1001.0, {"loss": 2.5, "norm": 7})
    events.add(5, 1002.0, {"loss": 1.5})
    events.close()
    assert shown("loss") == [(3, 2.5), (5, 1.5)]
    assert shown("norm") == [(3, 7.0)]


def test_what_is_flushed_is_seen_while_the_file_is_open(tmp_path, shown):
    events = EventFile(tmp_path, 1, 0, 1000.0)
    events.add(3, 1001.0, {"loss": 2.5})
    events.flush()
    assert shown("loss") == [(3, 2.5)]
    events.close()


def test_a_restart_takes_the_place_of_what_came_after_its_step(tmp_path, shown):
    before = EventFile(tmp_path, 1, 0, 1000.0)
    for step in (2, 4, 6, 8):
        before.add(step, 1000.0 + step, {"loss": float(step)})
    before.close()
    # Within the same second: the number of the start keeps the order.
    again = EventFile(tmp_path, 2, 4, 1000.5)
    again.add(7, 1009.0, {"loss": 70.0})
    again.close()
    assert shown("loss") == [(2, 2.0), (4, 4.0), (7, 70.0)]
    assert len(list(tmp_path.iterdir())) == 2
