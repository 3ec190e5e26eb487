"""A process of a load test, with connections that are made up."""

import asyncio
import time

from serving.client.settings import Tls
from serving.loadtest import worker
from serving.loadtest.connections import Server
from serving.status import Code, ServingError


class Connections:
    """Stalls for a while after a number of requests; answers all others at once."""

    def __init__(self, stalls_at=None, seconds=0.0, code=None):
        self.stalls_at, self.seconds, self.code = stalls_at, seconds, code
        self.sent, self.now, self.most = [], 0, 0

    async def send(self, number):
        self.sent.append(number)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds if len(self.sent) == self.stalls_at else 0.001)
        finally:
            self.now -= 1
        if self.code:
            raise ServingError(self.code, "on purpose")

    async def close(self):
        pass


def run(monkeypatch, connections, **changes):
    monkeypatch.setattr(worker.connections, "to", lambda *_: connections)
    reports = []
    load = {
        "server": Server("localhost:1", "/", Tls()),
        "bodies": [b"a", b"b", b"c"],
        "concurrency": 2,
        "rate": None,
        "start": time.monotonic(),
        "warmup_seconds": 0.1,
        "seconds": 0.3,
        "timeout_seconds": 5.0,
        "seed": 0,
    }
    record = worker.run(worker.Load(**load | changes), lambda *report: reports.append(report))
    return record, reports


def test_a_closed_loop_keeps_so_many_in_progress_and_counts_after_the_warm_up(monkeypatch):
    connections = Connections()
    record, reports = run(monkeypatch, connections)
    assert connections.most == 2
    assert connections.sent[:4] == [0, 1, 2, 0]
    assert 0 < record.answered < len(connections.sent)
    assert len(record.latencies) == record.answered and min(record.latencies) >= 0
    assert record.seconds >= 0.3
    assert sum(ended for ended, _ in reports) == len(connections.sent)


def test_at_a_rate_a_stall_counts_for_every_request_that_was_due(monkeypatch):
    """In a closed loop it counts once, which hides it: coordinated omission."""
    stall = {"stalls_at": 20, "seconds": 0.4}
    load = {"concurrency": 1, "warmup_seconds": 0.0, "seconds": 0.6}
    open_loop, _ = run(monkeypatch, Connections(**stall), rate=200.0, **load)
    closed_loop, _ = run(monkeypatch, Connections(**stall), **load)
    assert sum(latency > 0.1 for latency in open_loop.latencies) > 20
    assert sum(latency > 0.3 for latency in closed_loop.latencies) == 1
    assert max(open_loop.delays) > 0.1  # it was the connection that was busy


def test_errors_are_counted_by_code(monkeypatch):
    record, reports = run(monkeypatch, Connections(code=Code.RESOURCE_EXHAUSTED))
    assert record.answered == 0 and len(record.latencies) == 0
    assert record.errors.keys() == {Code.RESOURCE_EXHAUSTED}
    assert record.messages == {Code.RESOURCE_EXHAUSTED: "on purpose"}
    assert all(ended == failed for ended, failed in reports)


def test_a_request_without_an_answer_counts_with_the_time_that_was_waited(monkeypatch):
    connections = Connections(stalls_at=1, seconds=60.0)
    record, _ = run(
        monkeypatch, connections, concurrency=1, warmup_seconds=0.0, timeout_seconds=0.2
    )
    assert record.errors == {Code.DEADLINE_EXCEEDED: 1}
    # asyncio's timers may be a millisecond early.
    assert max(record.latencies) > 0.199
