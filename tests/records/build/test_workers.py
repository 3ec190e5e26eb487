"""Worker processes: the same results as without them, and what happens when one dies."""

import itertools
import os
import signal
import subprocess
import sys
import time

import pytest

from bert_tf.errors import InputError
from bert_tf.records.build.workers import Workers


class Squares:
    """What the workers have; `offset` shows that the arguments arrive."""

    def __init__(self, offset):
        self.offset = offset

    def square(self, number):
        return number * number + self.offset, os.getpid()

    def fail(self, number):
        raise InputError(f"number {number} is wrong")

    def die(self, number):
        os.kill(os.getpid(), signal.SIGKILL)


def test_one_worker_is_this_process():
    with Workers(1, Squares, 5) as workers:
        assert list(workers.run("square", [(2,), (3,)])) == [(9, os.getpid()), (14, os.getpid())]


@pytest.fixture(scope="module")
def two_workers():
    with Workers(2, Squares, 5) as workers:
        yield workers


def test_results_come_in_the_order_of_the_tasks(two_workers):
    found = list(two_workers.run("square", ((number,) for number in range(101))))
    assert [value for value, _ in found] == [number**2 + 5 for number in range(101)]
    assert os.getpid() not in {process for _, process in found}


def test_tasks_are_taken_as_they_are_needed(two_workers):
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield (number,)

    results = two_workers.run("square", endless())
    assert next(results)[0] == 5
    assert len(taken) <= 8
    results.close()


def test_an_error_arrives_as_it_was(two_workers):
    with pytest.raises(InputError, match="number 3 is wrong"):
        list(two_workers.run("fail", [(3,)]))


def test_a_killed_worker_is_an_error_with_a_way_out():
    with Workers(2, Squares, 0) as workers:
        with pytest.raises(InputError, match="memory ran out.*goes on where"):
            list(workers.run("die", [(1,), (2,)]))


def test_the_environment_is_left_as_it_was(monkeypatch):
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "7")
    monkeypatch.delenv("TF_NUM_INTEROP_THREADS", raising=False)
    with Workers(2, Squares, 0):
        assert os.environ["TF_NUM_INTRAOP_THREADS"] == "1"
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "7"
    assert "TF_NUM_INTEROP_THREADS" not in os.environ


_ORPHANS = """
import os, time
from bert_tf.records.build.workers import Workers
class Sleeper:
    def pid(self, number):
        time.sleep(0.3)
        return os.getpid()
    def sleep(self, number):
        time.sleep(60)
if __name__ == "__main__":
    with Workers(2, Sleeper) as workers:
        print(*set(workers.run("pid", [(n,) for n in range(6)])), flush=True)
        list(workers.run("sleep", [(0,), (1,)]))
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_ORPHANS)
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    )
    workers = [int(number) for number in process.stdout.readline().split()]
    assert len(workers) == 2
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{number}") for number in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
