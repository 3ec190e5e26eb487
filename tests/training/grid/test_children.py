"""What each run gets of the machine, how many are at work, and why one failed."""

import time

import pytest

from bert_tf.training.grid import children
from bert_tf.training.monitoring.history import History


def environments(parallel, variables=(), num_cores=16, num_gpus=0):
    return children.environments(parallel, dict(variables), num_cores, num_gpus)


def test_a_single_run_gets_the_whole_machine():
    assert environments(1, num_gpus=4) == [{}]


def test_runs_side_by_side_share_the_cores():
    threads = {"TF_NUM_INTRAOP_THREADS": "5", "TF_NUM_INTEROP_THREADS": "5"}
    assert environments(3) == [threads] * 3
    assert environments(3, num_cores=2)[0]["TF_NUM_INTRAOP_THREADS"] == "1"
    assert environments(2, {"TF_NUM_INTRAOP_THREADS": "3"})[0] == {"TF_NUM_INTEROP_THREADS": "8"}


@pytest.mark.parametrize(
    ("parallel", "visible", "wanted"),
    [
        (2, None, ["0,2", "1,3"]),
        (4, None, ["0", "1", "2", "3"]),
        (2, "3,1", ["3", "1"]),
        (3, "3,1", ["3", "1", "3"]),
        (2, "-1", [None, None]),
        (2, "", [None, None]),
    ],
)
def test_runs_side_by_side_share_the_gpus(parallel, visible, wanted):
    variables = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    found = environments(parallel, variables, num_gpus=4)
    assert [each.get("CUDA_VISIBLE_DEVICES") for each in found] == wanted
    is_shared = len(set(wanted)) < parallel and wanted[0] is not None
    assert all(("TF_FORCE_GPU_ALLOW_GROWTH" in each) == is_shared for each in found)


@pytest.mark.parametrize(
    ("status", "printed", "wanted"),
    [
        (2, "a\nERROR: first\nERROR: second\n  of two lines\n", "second\n  of two lines"),
        (1, "Traceback\nMemoryError: no room\n\n", "MemoryError: no room"),
        (1, "", "it ended with status 1"),
        (-9, "anything", "it was ended by SIGKILL"),
        (75, "anything", "it was told to end, and has saved its state"),
    ],
)
def test_why_a_run_failed(status, printed, wanted):
    assert children.reason(status, printed) == wanted


def test_how_much_of_a_run_is_done():
    plan = {"step": 0, "time": 1.0, "event": "plan", "num_steps": 40}
    assert children.share_done(History([])) == 0.0
    assert children.share_done(History([plan])) == 0.0
    assert children.share_done(History([plan, {"step": 10, "time": 2.0}])) == 0.25
    assert children.share_done(History([plan, {"step": 50, "time": 2.0}])) == 1.0


class FakeChild:
    """Ends after it was asked a number of times."""

    def __init__(self, number, environment, at_work):
        self.number, self.environment, self._at_work = number, environment, at_work
        self._left = 1 + number % 2
        self.was_stopped = False
        at_work.add(number)

    @property
    def has_ended(self):
        self._left -= 1
        if self._left < 0:
            self._at_work.discard(self.number)
        return self._left < 0

    def ask_to_end(self):
        self.was_stopped = True

    def wait(self):
        assert self.was_stopped


@pytest.fixture
def no_waiting(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)


def starters(made, at_work):
    def start(number):
        def make(environment):
            child = FakeChild(number, environment, at_work)
            made.append(child)
            return child

        return make

    return [start(number) for number in range(5)]


def test_as_many_are_at_work_as_there_are_environments(no_waiting):
    made, at_work, ended, most = [], set(), [], []

    def look(now):
        most.append(len(now))
        assert set(now) == at_work
        shares = [child.environment["share"] for child in now.values()]
        assert len(shares) == len(set(shares))
        return True

    environment = [{"share": "a"}, {"share": "b"}]
    todo = starters(made, at_work)
    assert children.run_all(todo, environment, lambda i, child: ended.append((i, child)), look)
    assert max(most) == 2
    assert [child.number for child in made] == [0, 1, 2, 3, 4]
    assert sorted(index for index, _ in ended) == [0, 1, 2, 3, 4]
    assert all(child.number == index for index, child in ended)


def test_when_told_to_stop_nothing_more_is_started(no_waiting):
    made, at_work, ended = [], set(), []
    is_over = children.run_all(
        starters(made, at_work), [{}, {}], lambda i, child: ended.append(i), lambda now: False
    )
    assert not is_over
    assert [child.was_stopped for child in made] == [True, True]
    assert ended == []
