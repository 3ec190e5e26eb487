"""The processes of a load test."""

import dataclasses
import multiprocessing
import multiprocessing.connection
import signal
import time

from bert_tf.errors import InputError
from serving.loadtest import worker
from serving.loadtest.worker import Load, Record, Report


def run(load: Load, num_processes: int, report: Report) -> list[Record]:
    """Sends a load from several processes, which share its concurrency and its rate.

    Args:
      load: its `start` is set here: when all processes are there.

    Returns:
      What happened in each.
    """
    if num_processes == 1:
        return [worker.run(dataclasses.replace(load, start=time.monotonic()), report)]
    # Not forked: gRPC does not survive a fork once it has been used.
    context = multiprocessing.get_context("spawn")
    pipes, children = [], []
    try:
        for _ in range(num_processes):
            ours, theirs = context.Pipe()
            child = context.Process(target=_run, args=(theirs,), daemon=True)
            child.start()
            theirs.close()
            pipes.append(ours)
            children.append(child)
        for pipe in pipes:
            _receive(pipe)
        start = time.monotonic() + 0.1
        for number, pipe in enumerate(pipes):
            pipe.send(_share(dataclasses.replace(load, start=start), number, num_processes))
        return _records(pipes, report)
    finally:
        for child in children:
            child.terminate()
            child.join()


def _share(load: Load, number: int, num_processes: int) -> Load:
    concurrency = load.concurrency // num_processes + (number < load.concurrency % num_processes)
    rate = load.rate / num_processes if load.rate else None
    return dataclasses.replace(load, concurrency=concurrency, rate=rate, seed=load.seed + number)


def _records(pipes: list[multiprocessing.connection.Connection], report: Report) -> list[Record]:
    records = []
    waiting = list(pipes)
    while waiting:
        for ready in multiprocessing.connection.wait(waiting):
            assert isinstance(ready, multiprocessing.connection.Connection)
            found = _receive(ready)
            if isinstance(found, Record):
                records.append(found)
                waiting.remove(ready)
            else:
                report(*found)
    return records


def _receive(pipe: multiprocessing.connection.Connection) -> Record | tuple[int, int]:
    try:
        return pipe.recv()
    except EOFError:
        raise InputError(
            "A process of the load test ended early; what it printed is above. Fewer --processes "
            "need less memory."
        ) from None


def _run(pipe: multiprocessing.connection.Connection) -> None:
    """What a child does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    pipe.send((0, 0))  # it is there
    load = pipe.recv()
    pipe.send(worker.run(load, lambda ended, failed: pipe.send((ended, failed))))
