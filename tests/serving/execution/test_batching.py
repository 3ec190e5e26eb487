import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from serving.execution.batching import BatchingRunner
from serving.execution.direct import DirectRunner
from serving.execution.parameters import BatchingParameters
from serving.models.servable import Signature, TensorSpec
from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError, invalid


class Doubler:
    """A servable without TensorFlow: doubles `x`, whose rows must not be negative.

    Attributes:
      batches: what ran, in order.
      gate: runs wait for it.
    """

    def __init__(self, path="nowhere", name="m"):
        self.path, self.name = str(path), name
        self.batches, self.gate = [], threading.Event()
        self.gate.set()

    def signature(self, name):
        if name not in ("serving_default", "other"):
            raise invalid("no such signature")
        return Signature(
            {"x": TensorSpec("x:0", "int32", (-1, -1))},
            {"y": TensorSpec("y:0", "int32", (-1, -1)), "z": TensorSpec("z:0", "int32", (-1,))},
        )

    def run(self, signature_name, feeds, outputs=(), timeout_seconds=None):
        assert self.gate.wait(30)
        x = feeds["x"]
        self.batches.append(x.tolist())
        if (x < 0).any():
            raise invalid("negative")
        answers = {"y": 2 * x, "z": x.sum(axis=1)}
        if signature_name == "other":
            answers["z"] = answers["z"].sum()
        return {name: answers[name] for name in outputs or answers}


def rows(*given):
    return {"x": np.array(given, np.int32)}


class Clients:
    """Sends requests to a runner, in one event loop."""

    def __init__(self, per_model=False, **parameters):
        self.metrics = Metrics()
        self._executor = ThreadPoolExecutor(2)
        direct = DirectRunner(self._executor, self.metrics)
        parameters = {"num_batch_threads": 1} | parameters
        self.runner = BatchingRunner(
            BatchingParameters(**parameters), direct, self.metrics, per_model
        )

    def __call__(self, scenario):
        async def all_of_it():
            async with asyncio.timeout(30):
                return await scenario(self.runner)

        try:
            return asyncio.run(all_of_it())
        finally:
            self.runner.close()
            self._executor.shutdown()


async def while_busy(runner, servable, *requests, **others):
    """Answers, or errors, of requests that came while the only thread was busy."""
    servable.gate.clear()
    first = asyncio.create_task(runner.run(servable, "", rows([0])))
    await asyncio.sleep(0.01)
    waiting = [asyncio.create_task(runner.run(servable, "", each, **others)) for each in requests]
    await asyncio.sleep(0.01)
    servable.gate.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    await first
    return answers


def test_requests_that_wait_together_are_computed_together():
    servable, clients = Doubler(), Clients()
    answers = clients(
        lambda runner: while_busy(runner, servable, rows([1, 2]), rows([3, 4], [5, 6]))
    )
    assert servable.batches == [[[0]], [[1, 2], [3, 4], [5, 6]]]
    assert [each["y"].tolist() for each in answers] == [[[2, 4]], [[6, 8], [10, 12]]]
    assert [each["z"].tolist() for each in answers] == [[3], [7, 11]]
    page = clients.metrics.page()
    assert ":tensorflow:serving:batching_session:wrapped_run_count{} 2" in page
    assert ":tensorflow:serving:batching_session:input_batch_size_sum{} 4" in page
    assert ":tensorflow:serving:batching_session:processed_batch_size_count{} 2" in page
    assert ':batching_session:queuing_latency_count{thread_pool_name=""} 3' in page
    assert ':batching_session:padding_size_sum{execution_batch_size="3"} 0' in page
    assert ":tensorflow:core:graph_runs{} 2" in page


def test_the_default_signature_needs_no_name():
    servable = Doubler()

    async def scenario(runner):
        servable.gate.clear()
        names = ("", "", "serving_default")
        asked = [asyncio.create_task(runner.run(servable, name, rows([1]))) for name in names]
        await asyncio.sleep(0.01)
        servable.gate.set()
        return await asyncio.gather(*asked)

    answers = Clients()(scenario)
    assert servable.batches == [[[1]], [[1], [1]]]
    assert {tuple(each) for each in answers} == {("y", "z")}  # in the order of the signature


def test_a_bad_row_harms_only_its_own_request():
    servable = Doubler()
    requests = [rows([number]) for number in (1, 2, -3, 4)]
    answers = Clients()(lambda runner: while_busy(runner, servable, *requests))
    assert [each["y"].tolist() for i, each in enumerate(answers) if i != 2] == [[[2]], [[4]], [[8]]]
    assert (answers[2].code, answers[2].message) == (Code.INVALID_ARGUMENT, "negative")


def test_only_the_same_outputs_types_and_ranks_are_merged():
    servable = Doubler()

    async def scenario(runner):
        servable.gate.clear()
        requests = [
            runner.run(servable, "", rows([1])),
            runner.run(servable, "", rows([2])),
            runner.run(servable, "", rows([3]), outputs=["z"]),
            runner.run(servable, "", {"x": np.array([[4]], np.int64)}),
        ]
        tasks = [asyncio.create_task(each) for each in requests]
        await asyncio.sleep(0.01)
        servable.gate.set()
        return await asyncio.gather(*tasks)

    answers = Clients()(scenario)
    assert sorted(servable.batches) == [[[1]], [[2]], [[3]], [[4]]]
    assert [sorted(each) for each in answers] == [["y", "z"], ["y", "z"], ["z"], ["y", "z"]]
    assert answers[3]["y"].dtype == np.int64


def test_a_request_that_does_not_fit_its_signature_runs_alone():
    answers = Clients()(
        lambda runner: while_busy(runner, Doubler(), rows([1]), {"y": np.zeros([1])})
    )
    assert answers[0]["y"].tolist() == [[2]]
    assert isinstance(answers[1], KeyError)  # as the servable has it


def test_rows_of_several_lengths_are_refused_together():
    answers = Clients()(lambda runner: while_busy(runner, Doubler(), rows([1]), rows([1, 2])))
    assert [each.code for each in answers] == [Code.FAILED_PRECONDITION] * 2


def test_an_answer_without_rows_is_refused_and_not_tried_again():
    servable = Doubler()
    with pytest.raises(ServingError, match="Batched output tensor has 0 dimensions") as caught:
        Clients()(lambda runner: runner.run(servable, "other", rows([1])))
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert len(servable.batches) == 1


def test_a_batch_is_filled_up_and_the_filling_is_cut_off():
    servable = Doubler()
    clients = Clients(max_batch_size=4, allowed_batch_sizes=(4,))
    answer = clients(lambda runner: runner.run(servable, "", rows([1], [2])))
    assert servable.batches == [[[1], [2], [1], [1]]]
    assert answer["y"].tolist() == [[2], [4]]


def test_a_request_may_be_split():
    servable = Doubler()
    clients = Clients(
        max_batch_size=5, enable_large_batch_splitting=True, max_execution_batch_size=2
    )
    answer = clients(lambda runner: runner.run(servable, "", rows([1], [2], [3], [4], [5])))
    assert servable.batches == [[[1], [2]], [[3], [4]], [[5]]]
    assert answer["z"].tolist() == [1, 2, 3, 4, 5]


def test_nobody_waits_for_ever_when_a_batch_cannot_be_made(monkeypatch):
    def fails(*_):
        raise MemoryError

    monkeypatch.setattr("serving.execution.merging.merged", fails)
    with pytest.raises(ServingError) as caught:
        Clients()(lambda runner: runner.run(Doubler(), "", rows([1])))
    assert caught.value.code == Code.INTERNAL


def test_time_may_run_out_while_a_request_waits():
    servable = Doubler()

    async def scenario(runner):
        servable.gate.clear()
        first = asyncio.create_task(runner.run(servable, "", rows([0])))
        await asyncio.sleep(0.01)
        try:
            await runner.run(servable, "", rows([1]), timeout_seconds=0.02)
        finally:
            servable.gate.set()
            await first

    with pytest.raises(ServingError) as caught:
        Clients()(scenario)
    assert caught.value.code == Code.RESOURCE_EXHAUSTED
    assert caught.value.message == "Run() timeout exceeded while waiting in batching queue"
    assert servable.batches == [[[0]]]


def test_time_may_run_out_while_a_request_is_computed():
    servable = Doubler()

    async def scenario(runner):
        servable.gate.clear()
        try:
            await runner.run(servable, "", rows([1]), timeout_seconds=0.02)
        finally:
            servable.gate.set()

    with pytest.raises(ServingError) as caught:
        Clients()(scenario)
    assert caught.value.code == Code.DEADLINE_EXCEEDED


def test_a_client_that_goes_leaves_the_queue():
    servable = Doubler()

    async def scenario(runner):
        servable.gate.clear()
        tasks = [asyncio.create_task(runner.run(servable, "", rows([i]))) for i in range(3)]
        await asyncio.sleep(0.01)
        tasks[1].cancel()
        await asyncio.sleep(0.01)
        servable.gate.set()
        return await asyncio.gather(tasks[0], tasks[2])

    Clients()(scenario)
    assert servable.batches == [[[0]], [[2]]]


def test_a_client_that_goes_keeps_its_servable_until_its_rows_are_computed():
    servable = Doubler()

    async def scenario(runner):
        servable.gate.clear()
        task = asyncio.create_task(runner.run(servable, "", rows([1])))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        servable.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    Clients()(scenario)
    assert servable.batches == [[[1]]]


def test_models_take_turns():
    order = []

    class Named(Doubler):
        def run(self, *arguments):
            order.append(self.name)
            return super().run(*arguments)

    busy, rare = Named(name="busy"), Named(name="rare")

    async def scenario(runner):
        busy.gate.clear()
        tasks = [asyncio.create_task(runner.run(busy, "", rows([i]))) for i in range(5)]
        await asyncio.sleep(0.01)
        tasks.append(asyncio.create_task(runner.run(rare, "", rows([9]))))
        await asyncio.sleep(0.01)
        busy.gate.set()
        await asyncio.gather(*tasks)

    Clients(max_batch_size=1)(scenario)
    assert order.index("rare") <= 2  # not behind all five


def test_a_version_without_parameters_is_not_merged(tmp_path):
    (tmp_path / "batching_params.pbtxt").write_text("max_batch_size { value: 1 }")
    clients = Clients(per_model=True)

    async def scenario(runner):
        await runner.run(Doubler(), "", rows([1], [2]))
        with pytest.raises(ServingError, match="Task size 2 is larger"):
            await runner.run(Doubler(tmp_path), "", rows([1], [2]))

    clients(scenario)
    assert "wrapped_run_count{}" not in clients.metrics.page()


def test_no_rows_are_computed_alone():
    answer = Clients()(lambda runner: runner.run(Doubler(), "", {"x": np.zeros([0, 3], np.int32)}))
    assert answer["y"].shape == (0, 3)


def test_draining_does_not_wait_for_company():
    servable = Doubler()

    async def scenario(runner):
        await asyncio.gather(*(runner.run(servable, "", rows([i])) for i in range(3)))
        waiting = asyncio.create_task(runner.run(servable, "", rows([7])))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        runner.drain()
        return await waiting

    answer = Clients(batch_timeout_micros=600_000_000, max_batch_size=2)(scenario)
    assert answer["y"].tolist() == [[14]]
