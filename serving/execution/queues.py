"""Requests that wait to be merged: when a batch is due, and which rows are in it."""

import asyncio
import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from serving.execution import merging
from serving.execution.parameters import BatchingParameters
from serving.models.servable import Servable, Tensors
from serving.status import Code, ServingError

Answer = dict[str, np.ndarray]

# How long it is remembered how many requests were open at once.
_MEMORY_SECONDS = 1.0


@dataclasses.dataclass(eq=False)
class Task:
    """A request that waits for its answer.

    Attributes:
      arrival, deadline: seconds of the monotonic clock; no deadline: None.
      is_open: whether it has no answer yet.
      num_begun: rows that batches have taken.
      batches: those that are being computed.
      answers: of its rows, by the number of the first one.
    """

    servable: Servable
    feeds: Tensors
    num_rows: int
    future: asyncio.Future[Answer]
    arrival: float
    deadline: float | None = None
    is_open: bool = True
    num_begun: int = 0
    batches: set[asyncio.Future[Any]] = dataclasses.field(default_factory=set)
    answers: dict[int, Answer] = dataclasses.field(default_factory=dict)

    def deliver(self, begin: int, answer: Answer | Exception) -> None:
        """Notes the answer of rows from `begin` on; the request has its own once all are there."""
        if self.future.done():  # its client is gone, or its time is over
            return
        if isinstance(answer, Exception):
            self.future.set_exception(answer)
            return
        self.answers[begin] = answer
        if sum(len(next(iter(each.values()))) for each in self.answers.values()) < self.num_rows:
            return
        try:
            self.future.set_result(merging.joined([self.answers[i] for i in sorted(self.answers)]))
        except ServingError as error:
            self.future.set_exception(error)


@dataclasses.dataclass(frozen=True)
class Share:
    """The rows of one request that are in one batch."""

    task: Task
    begin: int
    end: int

    @property
    def num_rows(self) -> int:
        """How many rows."""
        return self.end - self.begin

    @property
    def feeds(self) -> Tensors:
        """The rows."""
        if self.num_rows == self.task.num_rows:
            return self.task.feeds
        return {name: array[self.begin : self.end] for name, array in self.task.feeds.items()}


class Queue:
    """Requests to one signature of one version for the same outputs. Not for several threads.

    Args:
      compute: answers the shares of a batch, in a thread; the answer of each, or its error.
      splits: whether a request may be divided among batches.

    Attributes:
      num_open: requests that wait or are being computed.
    """

    def __init__(
        self,
        parameters: BatchingParameters,
        compute: Callable[[Sequence[Share]], list[Answer | Exception]],
        splits: bool,
    ) -> None:
        self._splits = splits
        self.parameters = parameters
        self.compute = compute
        self.num_waiting_rows = 0
        self._tasks: collections.deque[Task] = collections.deque()
        self._last_end = 0.0
        self.num_open = 0
        self._most_open = _RecentMaximum()

    @property
    def num_waiting(self) -> int:
        """Requests of which some rows wait."""
        return len(self._tasks)

    def add(self, task: Task) -> None:
        """Lets a request wait.

        Raises:
          ServingError: INVALID_ARGUMENT, it has too many rows; UNAVAILABLE, too many wait.
        """
        self._check_room(task.num_rows)
        self._tasks.append(task)
        self.num_waiting_rows += task.num_rows
        self.num_open += 1
        self._most_open.observe(self.num_open, task.arrival)

    def _check_room(self, num_rows: int) -> None:
        limits = self.parameters
        if num_rows > limits.max_batch_size:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"Task size {num_rows} is larger than maximum input batch size "
                f"{limits.max_batch_size}",
            )
        room = limits.max_enqueued_batches * limits.capacity - self.num_waiting_rows
        if num_rows <= room:
            return
        what = "The batch scheduling queue to which this task was submitted is full; "
        if self._splits:
            what += f"task size is {num_rows} but scheduling capacity is only {room}"
        else:
            num_batches = -(-self.num_waiting_rows // limits.capacity)
            what += f"currently {num_batches} batches enqueued and max_enqueued_batches is "
            what += f"{limits.max_enqueued_batches}"
        raise ServingError(Code.UNAVAILABLE, what)

    def withdraw(self, task: Task) -> None:
        """Takes out the rows of a request that still wait."""
        if task.num_begun < task.num_rows and task in self._tasks:
            self._tasks.remove(task)
            self.num_waiting_rows -= task.num_rows - task.num_begun

    def close(self, task: Task) -> None:
        """Says that a request has its answer, or that nobody wants it any more."""
        if task.is_open:
            task.is_open = False
            self.withdraw(task)
            self.num_open -= 1

    def due(self, now: float) -> float:
        """When a batch may begin; requests must be waiting.

        A batch begins at once if it is full, or if as many requests are open as were at any one
        time lately: then nobody is known who could join it, and a single client never waits.
        Otherwise it waits for company since its first request came, or since a batch before it
        ended, whose clients are about to come back: without that, the few requests that came
        while that batch was computed would go alone.
        """
        first = self._tasks[0].arrival
        if self.num_waiting_rows >= self.parameters.capacity:
            return first
        if self.num_open >= self._most_open.value(now):
            return first
        return max(first, self._last_end) + self.parameters.batch_timeout_micros * 1e-6

    def end(self, now: float) -> None:
        """Says that a batch was computed."""
        self._last_end = now

    def take(self) -> list[Share]:
        """The rows of the next batch, in the order in which they came."""
        shares: list[Share] = []
        room = self.parameters.capacity
        while self._tasks and room:
            task = self._tasks[0]
            num_left = task.num_rows - task.num_begun
            if num_left > room and not self._splits:
                break
            num_rows = min(num_left, room)
            shares.append(Share(task, task.num_begun, task.num_begun + num_rows))
            task.num_begun += num_rows
            room -= num_rows
            self.num_waiting_rows -= num_rows
            if num_rows == num_left:
                self._tasks.popleft()
        return shares


class _RecentMaximum:
    """The largest of the values of the last one to two `_MEMORY_SECONDS`."""

    def __init__(self) -> None:
        self._before, self._now, self._start = 0, 0, 0.0

    def observe(self, value: int, now: float) -> None:
        self._roll(now)
        self._now = max(self._now, value)

    def value(self, now: float) -> int:
        self._roll(now)
        return max(self._before, self._now)

    def _roll(self, now: float) -> None:
        periods = (now - self._start) // _MEMORY_SECONDS
        if periods >= 1:
            self._before = self._now if periods < 2 else 0
            self._now, self._start = 0, now
