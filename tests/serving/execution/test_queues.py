import asyncio

import numpy as np
import pytest

from serving.execution.parameters import BatchingParameters
from serving.execution.queues import Queue, Task
from serving.status import Code, ServingError


class Clock:
    """Adds requests to a queue at given times."""

    def __init__(self, **given):
        parameters = BatchingParameters(num_batch_threads=1, **given)
        splits = parameters.enable_large_batch_splitting
        self.queue = Queue(parameters, lambda shares: [], splits)
        self.loop = asyncio.new_event_loop()

    def add(self, num_rows, at=0.0):
        feeds = {"x": np.arange(num_rows)}
        task = Task(None, feeds, num_rows, self.loop.create_future(), at)
        self.queue.add(task)
        return task


@pytest.fixture
def clock():
    made = []

    def make(**given):
        made.append(Clock(**given))
        return made[-1]

    yield make
    for each in made:
        each.loop.close()


def taken(queue):
    return [share.feeds["x"].tolist() for share in queue.take()]


def test_a_batch_takes_whole_requests_in_their_order(clock):
    clock = clock(max_batch_size=4)
    for num_rows in (2, 1, 3):
        clock.add(num_rows)
    assert taken(clock.queue) == [[0, 1], [0]]  # the third does not fit
    assert taken(clock.queue) == [[0, 1, 2]]
    assert clock.queue.num_waiting_rows == 0


def test_a_large_request_is_split_where_that_is_enabled(clock):
    clock = clock(max_batch_size=7, enable_large_batch_splitting=True, max_execution_batch_size=4)
    clock.add(3)
    task = clock.add(6)
    assert taken(clock.queue) == [[0, 1, 2], [0]]
    assert taken(clock.queue) == [[1, 2, 3, 4]]
    assert taken(clock.queue) == [[5]]
    # Threads may finish in another order.
    for begin, values in ((5, [15]), (0, [10]), (1, [11, 12, 13, 14])):
        assert not task.future.done()
        task.deliver(begin, {"y": np.array(values)})
    assert task.future.result()["y"].tolist() == [10, 11, 12, 13, 14, 15]


@pytest.mark.parametrize("splits", [False, True])
def test_a_request_has_at_most_the_rows_of_a_batch(clock, splits):
    clock = clock(
        max_batch_size=64, enable_large_batch_splitting=splits, max_execution_batch_size=8
    )
    with pytest.raises(ServingError) as caught:
        clock.add(65)
    assert caught.value.code == Code.INVALID_ARGUMENT
    assert caught.value.message == "Task size 65 is larger than maximum input batch size 64"


def test_a_full_queue_is_unavailable(clock):
    clock = clock(max_batch_size=2, max_enqueued_batches=2)
    tasks = [clock.add(2), clock.add(2)]
    with pytest.raises(ServingError) as caught:
        clock.add(1)
    assert caught.value.code == Code.UNAVAILABLE
    assert caught.value.message == (
        "The batch scheduling queue to which this task was submitted is full; currently 2 batches "
        "enqueued and max_enqueued_batches is 2"
    )
    clock.queue.close(tasks[0])  # its client has gone
    clock.add(1)
    assert taken(clock.queue) == [[0, 1]]


def test_company_is_waited_for_as_long_as_the_timeout_says(clock):
    clock = clock(max_batch_size=3, batch_timeout_micros=2000)
    earlier = [clock.add(1, at=10.0), clock.add(1, at=10.0)]
    for task in earlier:  # two clients were there at once
        clock.queue.close(task)
    clock.add(1, at=10.5)
    assert clock.queue.due(10.5) == pytest.approx(10.502)
    clock.add(1, at=10.501)
    assert clock.queue.due(10.501) <= 10.501  # both are there again
    clock.add(1, at=10.501)
    assert clock.queue.due(10.501) <= 10.501  # and now it is full


def test_the_clients_of_the_batch_before_are_waited_for(clock):
    clock = clock(max_batch_size=64, batch_timeout_micros=2000)
    before = [clock.add(1, at=10.0) for _ in range(3)]
    taken(clock.queue)
    clock.add(1, at=10.1)  # while these are computed
    for task in before:
        clock.queue.close(task)
    clock.queue.end(10.2)
    assert clock.queue.due(10.2) == pytest.approx(10.202)


def test_a_lone_client_waits_for_nobody(clock):
    clock = clock(max_batch_size=64, batch_timeout_micros=2000)
    clock.queue.close(clock.add(1, at=1.0))
    clock.add(1, at=1.1)
    assert clock.queue.due(1.1) == 1.1


def test_a_client_that_left_is_not_waited_for_for_long(clock):
    clock = clock(max_batch_size=64, batch_timeout_micros=2000)
    for task in [clock.add(1, at=1.0), clock.add(1, at=1.0)]:
        clock.queue.close(task)
    clock.queue.close(clock.add(1, at=2.5))
    clock.add(1, at=4.0)
    assert clock.queue.due(4.0) == 4.0


def test_the_first_error_is_the_answer_of_a_split_request(clock):
    task = clock(max_batch_size=4).add(4)
    task.deliver(0, ServingError(Code.INTERNAL, "first"))
    task.deliver(2, {"y": np.zeros(2)})
    with pytest.raises(ServingError, match="first"):
        task.future.result()
