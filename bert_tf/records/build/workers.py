"""Worker processes for tasks whose results do not depend on who runs them, or when."""

import collections
import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bert_tf.errors import UnfinishedError

_TASKS_PER_WORKER = 4  # enough that none waits for another, few enough to hold in memory
# Every worker has a core to itself, so TensorFlow must not use more.
_ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}

# What a worker process calls its tasks on; set once when it starts.
_target: Any = None


class Workers:
    """Runs the methods of an object in worker processes, or in this one if there is one worker.

    Args:
      num_workers: processes.
      factory: picklable; what it returns is made once in every process.
      arguments: of the factory.
    """

    def __init__(self, num_workers: int, factory: Callable[..., Any], *arguments: Any) -> None:
        self._num_workers = num_workers
        self._factory, self._arguments = factory, arguments
        self._executor: concurrent.futures.ProcessPoolExecutor | None = None
        self._here: Any = None

    @property
    def are_processes(self) -> bool:
        """Whether there are worker processes, which take a while to start."""
        return self._num_workers > 1

    def __enter__(self) -> "Workers":
        if self._num_workers > 1:
            self._environment = {name: os.environ.get(name) for name in _ONE_THREAD}
            os.environ.update(_ONE_THREAD)  # worker processes inherit it
            self._executor = concurrent.futures.ProcessPoolExecutor(
                self._num_workers,
                multiprocessing.get_context("spawn"),
                _start_worker,
                (self._factory, self._arguments),
            )
        return self

    def __exit__(self, *_: Any) -> None:
        if self._executor:
            self._executor.shutdown(wait=True, cancel_futures=True)
            for name, value in self._environment.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value

    def run(self, method: str, tasks: Iterable[tuple]) -> Iterator[Any]:
        """Runs tasks; only few are taken from the iterable before they are needed.

        Args:
          method: name of a method of what the factory returns.
          tasks: its arguments.

        Yields:
          What the method returns, in the order of the tasks.

        Raises:
          UnfinishedError: a worker was killed.
        """
        if not self._executor:
            self._here = self._here or self._factory(*self._arguments)
            yield from (getattr(self._here, method)(*task) for task in tasks)
            return
        running: collections.deque[concurrent.futures.Future] = collections.deque()
        try:
            for task in tasks:
                running.append(self._executor.submit(_run_task, method, task))
                if len(running) >= _TASKS_PER_WORKER * self._num_workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        except concurrent.futures.process.BrokenProcessPool:
            raise UnfinishedError(
                "A worker process was killed, most likely because memory ran out. Give a smaller "
                "--num_workers; the same command goes on where this one stopped."
            ) from None


def _start_worker(factory: Callable[..., Any], arguments: tuple) -> None:
    global _target
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _target = factory(*arguments)


def _end_with_parent() -> None:
    """Ends this process if its parent was killed, which nothing else would do."""
    parent = multiprocessing.parent_process()
    assert parent  # only worker processes come here
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _run_task(method: str, task: tuple) -> Any:
    return getattr(_target, method)(*task)
