"""Runs the requests of many clients together: TensorFlow Serving's batching, in the event loop."""

import asyncio
import collections
import dataclasses
import functools
import time
import weakref
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from serving.execution import exported, merging, parameters
from serving.execution.computing import Computer
from serving.execution.direct import DirectRunner
from serving.execution.exported import Merging
from serving.execution.parameters import BatchingParameters
from serving.execution.queues import Answer, Queue, Share, Task
from serving.models.servable import DEFAULT_SIGNATURE, Servable, Signature, Tensors
from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError

_MAX_QUEUES = 1000  # of a version; more are made where more are in use
_Key = tuple[object, ...]


class BatchingRunner:
    """A `Runner` that merges requests to one signature of one version for the same outputs.

    All queues share `num_batch_threads` threads, and take turns. Where TensorFlow Serving fails
    every request of a batch, the batch is run again in halves, until the request that fails is
    alone: a bad row of one client harms no other. Everything is called in one event loop.

    Args:
      common: parameters of all models; with `per_model`, only their threads count.
      direct: for requests that are not merged.
      per_model: whether each version brings its parameters; those of versions without any are not
        merged.
    """

    def __init__(
        self,
        common: BatchingParameters,
        direct: DirectRunner,
        metrics: Metrics,
        per_model: bool = False,
    ) -> None:
        self._common, self._direct, self._metrics = common, direct, metrics
        self._per_model = per_model
        self._executor = ThreadPoolExecutor(common.num_batch_threads, "batch")
        self._num_free = common.num_batch_threads
        self._versions: weakref.WeakKeyDictionary[Servable, _Version] = weakref.WeakKeyDictionary()
        # Queues in which requests wait, in the order of their turns.
        self._turns: collections.OrderedDict[Queue, None] = collections.OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._is_draining = False

    async def run(
        self,
        servable: Servable,
        signature_name: str,
        feeds: Tensors,
        outputs: Collection[str] = (),
        timeout_seconds: float | None = None,
    ) -> Answer:
        """See `serving.methods.core.Runner`.

        A request whose client has gone, or whose time is over, leaves its queue. If its rows are
        being computed, the former ends when they are, since the servable may be unloaded then; the
        latter ends at once, as its batch does if no request in it has more time.
        """
        # Those who say nothing share batches with those who name the default.
        signature_name = signature_name or DEFAULT_SIGNATURE
        queue = self._queue(servable, signature_name, feeds, outputs)
        if queue is None:
            return await self._direct.run(servable, signature_name, feeds, outputs, timeout_seconds)
        num_rows = merging.num_rows(feeds)
        self._metrics.batching_input_batch_size.observe(num_rows)
        loop, now = asyncio.get_running_loop(), time.monotonic()
        task = Task(servable, feeds, num_rows, loop.create_future(), now)
        queue.add(task)
        expiry = None
        if timeout_seconds is not None:
            task.deadline = now + timeout_seconds
            expiry = loop.call_later(timeout_seconds, _expire, task)
        try:
            self._turns.setdefault(queue)
            self._dispatch()
            return await task.future
        except asyncio.CancelledError:
            queue.withdraw(task)
            if task.batches:
                await asyncio.wait(task.batches)
            raise
        finally:
            if expiry:
                expiry.cancel()
            queue.close(task)

    def drain(self) -> None:
        """From now on no request waits for others to come."""
        self._is_draining = True
        if self._turns:
            self._dispatch()

    def close(self) -> None:
        """Ends the threads, once the batches that are being computed are done."""
        self._executor.shutdown()

    def _queue(
        self, servable: Servable, signature_name: str, feeds: Tensors, outputs: Collection[str]
    ) -> Queue | None:
        """Where a request waits, or None if it runs alone.

        Raises:
          ServingError: INVALID_ARGUMENT; there is no such signature.
        """
        signature = servable.signature(signature_name)
        if servable not in self._versions:
            own = parameters.of_model(servable.path) if self._per_model else self._common
            self._versions[servable] = _Version(own)
        version = self._versions[servable]
        if version.parameters is None or not _can_be_merged(feeds, signature):
            return None
        names = tuple(name for name in signature.outputs if not outputs or name in outputs)
        if (signature_name, names) not in version.mergings:
            version.mergings[signature_name, names] = exported.merging(
                servable, signature_name, names, version.parameters.pad_variable_length_inputs
            )
        merge = version.mergings[signature_name, names]
        if merge is None or not merge.takes(feeds, version.parameters):
            return None
        # What has other types or ranks would fail, or change, the rows next to it.
        kinds = sorted(
            (name, array.dtype.str, array.shape[1:] if merge.by_shape else array.ndim)
            for name, array in feeds.items()
        )
        key = (signature_name, names, tuple(kinds))
        if key not in version.queues:
            if len(version.queues) >= _MAX_QUEUES:
                version.forget_idle()
            computer = Computer(signature_name, names, merge, version.parameters, self._metrics)
            splits = version.parameters.enable_large_batch_splitting and not merge.axes
            version.queues[key] = Queue(version.parameters, computer.answers, splits)
        return version.queues[key]

    def _dispatch(self) -> None:
        """Begins every batch that is due while threads are free; looks again when the next is."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        while self._num_free:
            queue = self._next_due(now)
            if queue is None:
                break
            self._begin(queue)
        if self._num_free and self._turns:
            wait = min(queue.due(now) for queue in self._turns) - now
            self._timer = asyncio.get_running_loop().call_later(max(wait, 0), self._dispatch)

    def _next_due(self, now: float) -> Queue | None:
        """The queue whose turn it is."""
        for queue in list(self._turns):
            if queue.num_waiting == 0:
                del self._turns[queue]
            elif self._is_draining or queue.due(now) <= now:
                self._turns.move_to_end(queue)
                return queue
        return None

    def _begin(self, queue: Queue) -> None:
        shares = queue.take()
        self._num_free -= 1
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._executor, queue.compute, shares)
        for share in shares:
            share.task.batches.add(done)
        done.add_done_callback(functools.partial(self._end, queue, shares))

    def _end(
        self,
        queue: Queue,
        shares: Sequence[Share],
        done: asyncio.Future[list[Answer | Exception]],
    ) -> None:
        self._num_free += 1
        queue.end(time.monotonic())
        for share, answer in zip(shares, done.result(), strict=True):
            share.task.batches.discard(done)
            share.task.deliver(share.begin, answer)
            if share.task.future.done():
                queue.close(share.task)
        self._dispatch()


@dataclasses.dataclass
class _Version:
    """What is kept for a servable, for as long as it is loaded.

    Attributes:
      parameters: None: its requests are not merged.
      mergings: by signature and outputs.
    """

    parameters: BatchingParameters | None
    mergings: dict[tuple[str, tuple[str, ...]], Merging | None] = dataclasses.field(
        default_factory=dict
    )
    queues: dict[_Key, Queue] = dataclasses.field(default_factory=dict)

    def forget_idle(self) -> None:
        """Drops queues that nobody uses; a client may send rows of ever new shapes."""
        self.queues = {key: queue for key, queue in self.queues.items() if queue.num_open}


def _can_be_merged(feeds: Tensors, signature: Signature) -> bool:
    """Whether a request is right as far as can be told; what is wrong with others is told alone."""
    inputs = signature.inputs
    return feeds.keys() == inputs.keys() and all(
        spec.admits(feeds[name].shape) and (not spec.shape or spec.shape[0] == -1)
        for name, spec in inputs.items()
    )


def _expire(task: Task) -> None:
    """Answers a request whose time is over."""
    if task.num_begun:
        error = ServingError(Code.DEADLINE_EXCEEDED, "Timed out waiting for notification")
    else:
        error = ServingError(
            Code.RESOURCE_EXHAUSTED, "Run() timeout exceeded while waiting in batching queue"
        )
    task.deliver(0, error)
