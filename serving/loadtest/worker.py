"""One process of a load test: sends requests and notes how long each took."""

import array
import asyncio
import collections
import dataclasses
import random
import resource
import time
from collections.abc import Callable, Sequence

import uvloop

from serving.loadtest import arrivals, connections
from serving.loadtest.connections import Connections, Server
from serving.status import Code, ServingError

_SECONDS_BETWEEN_REPORTS = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Load:
    """What a process sends.

    Attributes:
      bodies: of the requests, sent in turns.
      concurrency: requests in progress, with a rate at most.
      rate: requests per second, or None.
      start: when to begin, of time.monotonic, which is the same in all processes.
      warmup_seconds, seconds: how long, without and with counting.
    """

    server: Server
    bodies: Sequence[bytes]
    concurrency: int
    rate: float | None
    start: float
    warmup_seconds: float
    seconds: float
    timeout_seconds: float
    seed: int


@dataclasses.dataclass
class Record:
    """What happened to the requests that were due while it counted.

    Attributes:
      latencies: seconds from when a request was due to its answer; also of those that were given up
        after `timeout_seconds`, but not of those that failed otherwise.
      delays: seconds from when it was due until it was sent.
      answered: requests that were answered without an error.
      errors: others, by code.
      messages: the first one of each code.
      seconds: from the first moment that counts to the last answer.
      cpu_share: of a core that the process took meanwhile.
    """

    latencies: array.array = dataclasses.field(default_factory=lambda: array.array("d"))
    delays: array.array = dataclasses.field(default_factory=lambda: array.array("d"))
    answered: int = 0
    errors: collections.Counter[Code] = dataclasses.field(default_factory=collections.Counter)
    messages: dict[Code, str] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    cpu_share: float = 0.0


# Called with the number of requests that ended since the last call, those with errors among them.
Report = Callable[[int, int], None]


def run(load: Load, report: Report) -> Record:
    """Sends the load and waits for all answers."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))  # a connection is a file
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_Worker(load, report).run())


class _Worker:
    def __init__(self, load: Load, report: Report) -> None:
        self._load, self._report = load, report
        self._record = Record()
        self._start = self._from = self._end = 0.0
        self._next = load.seed  # processes begin with different requests
        self._ended = self._failed = 0
        self._cpu_from = time.process_time(), time.monotonic()
        self._connections: Connections

    async def run(self) -> Record:
        self._connections = connections.to(self._load.server, self._load.bodies)
        self._start = max(self._load.start, time.monotonic())
        self._from = self._start + self._load.warmup_seconds
        self._end = self._from + self._load.seconds
        await asyncio.sleep(self._start - time.monotonic())
        watching = asyncio.create_task(self._watch())
        try:
            await (self._send_at_times() if self._load.rate else self._send_in_turns())
        finally:
            watching.cancel()
            await self._connections.close()
        self._tell()
        if not self._record.cpu_share:  # it took less than the time between two reports
            self._measure_cpu()
        self._record.seconds = max(time.monotonic(), self._end) - self._from
        return self._record

    async def _send_in_turns(self) -> None:
        """The next request when one is answered."""

        async def one_after_another() -> None:
            while (now := time.monotonic()) < self._end:
                await self._send(now)

        await asyncio.gather(*(one_after_another() for _ in range(self._load.concurrency)))

    async def _send_at_times(self) -> None:
        """A request whenever one is due."""
        room = asyncio.Semaphore(self._load.concurrency)
        seconds = self._load.warmup_seconds + self._load.seconds
        generator = random.Random(self._load.seed)
        assert self._load.rate

        async def send(due: float) -> None:
            async with room:
                await self._send(due)

        async with asyncio.TaskGroup() as tasks:
            for time_due in arrivals.times(self._load.rate, seconds, generator):
                due = self._start + time_due
                while (wait := due - time.monotonic()) > 0:  # uvloop wakes up to 1 ms too early
                    await asyncio.sleep(wait)
                tasks.create_task(send(due))

    async def _send(self, due: float) -> None:
        """Sends a request and notes what happens.

        Args:
          due: when it should be sent. Latency counts from then: a server that stalls delays what
            is sent after it, and a client that waits with it would not notice.
        """
        number = self._next % len(self._load.bodies)
        self._next += 1
        sent = time.monotonic()
        code, message = Code.OK, ""
        try:
            async with asyncio.timeout(self._load.timeout_seconds):
                await self._connections.send(number)
        except TimeoutError:
            code, message = Code.DEADLINE_EXCEEDED, "No answer within --timeout_seconds."
        except ServingError as error:
            code, message = error.code, error.message
            await asyncio.sleep(0)  # a server that refuses at once does not stop other tasks
        self._ended += 1
        self._failed += code != Code.OK
        if self._from <= due < self._end:
            self._note(code, message, time.monotonic() - due, sent - due)

    def _note(self, code: Code, message: str, latency: float, delay: float) -> None:
        record = self._record
        record.delays.append(delay)
        if code == Code.OK:
            record.answered += 1
        else:
            record.errors[code] += 1
            record.messages.setdefault(code, message)
        if code in (Code.OK, Code.DEADLINE_EXCEEDED):
            record.latencies.append(latency)

    async def _watch(self) -> None:
        """Reports what ends, and measures CPU time from the moment that counts to the end."""
        await asyncio.sleep(max(0.0, self._from - time.monotonic()))
        self._cpu_from = time.process_time(), time.monotonic()
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_REPORTS)
            self._tell()
            if time.monotonic() < self._end:
                self._measure_cpu()

    def _measure_cpu(self) -> None:
        cpu, wall = self._cpu_from
        self._record.cpu_share = (time.process_time() - cpu) / (time.monotonic() - wall)

    def _tell(self) -> None:
        self._report(self._ended, self._failed)
        self._ended = self._failed = 0
