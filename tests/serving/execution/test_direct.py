import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from serving.execution.direct import DirectRunner
from serving.monitoring.metrics import Metrics
from serving.status import invalid


class Waiting:
    """A servable whose runs wait for a gate, and then fail."""

    def __init__(self):
        self.gate, self.num_runs = threading.Event(), 0

    def run(self, signature_name, feeds, outputs=(), timeout_seconds=None):
        self.num_runs += 1
        assert self.gate.wait(30)
        raise invalid(f"{signature_name} {feeds} {outputs} {timeout_seconds}")


def test_what_is_asked_for_is_passed_on_and_counted():
    servable, metrics = Waiting(), Metrics()
    servable.gate.set()
    with ThreadPoolExecutor(1) as executor:
        runner = DirectRunner(executor, metrics)
        with pytest.raises(Exception, match=r"classify \{\} \['y'\] 3"):
            asyncio.run(runner.run(servable, "classify", {}, ["y"], 3))
    assert metrics.graph_runs.value() == 1


def test_a_client_that_goes_keeps_its_servable_until_its_run_ends():
    servable = Waiting()

    async def scenario(runner):
        running, waiting = (asyncio.create_task(runner.run(servable, "", {})) for _ in range(2))
        await asyncio.sleep(0.01)
        for task in (running, waiting):
            task.cancel()
        await asyncio.sleep(0.01)
        assert not running.done() and waiting.cancelled()
        servable.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    with ThreadPoolExecutor(1) as executor:
        asyncio.run(scenario(DirectRunner(executor)))
    assert servable.num_runs == 1
