"""Clients for asyncio: what both APIs share."""

import asyncio
import collections
from collections.abc import Collection
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from serving.client import retrying
from serving.client.exchanges import Burst, Exchange, Pause, Plan
from serving.client.inputs import Inputs
from serving.client.methods import Methods
from serving.client.results import Answer, Metadata, Scored
from serving.client.retrying import Deadline
from serving.client.settings import Settings
from serving.models.spec import VersionStatus
from serving.status import ServingError

T = TypeVar("T")


class AsyncTransport(Protocol):
    """Sends bytes over connections that it keeps, in one event loop."""

    async def send(self, exchange: Exchange[Any], timeout_seconds: float) -> bytes:
        """The answer.

        Raises:
          ServingError: an error was answered, or nothing.
        """
        ...

    async def close(self) -> None:
        """Closes the connections."""
        ...


class AsyncClient:
    """Asks one model on a server, in one event loop; an asynchronous context manager.

    The methods and their keywords are those of `serving.client.blocking.Client`.
    """

    def __init__(self, methods: Methods, transport: AsyncTransport, settings: Settings) -> None:
        self._methods, self._transport, self._settings = methods, transport, settings

    async def predict(
        self,
        inputs: Inputs,
        *,
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
        outputs: Collection[str] = (),
        timeout_seconds: float | None = None,
    ) -> list[Answer]:
        """See `Client.predict`."""
        spec = self._methods.spec(signature, version, label)
        return await self._run(self._methods.predict(spec, inputs, outputs), timeout_seconds)

    async def classify(
        self,
        features: Inputs,
        *,
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> list[Scored]:
        """See `Client.classify`."""
        spec = self._methods.spec(signature, version, label)
        return await self._run(self._methods.classify(spec, features), timeout_seconds)

    async def regress(
        self,
        features: Inputs,
        *,
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> list[float]:
        """See `Client.regress`."""
        spec = self._methods.spec(signature, version, label)
        return await self._run(self._methods.regress(spec, features), timeout_seconds)

    async def metadata(
        self,
        *,
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> Metadata:
        """See `Client.metadata`."""
        spec = self._methods.spec("", version, label)
        return await self._run(self._methods.metadata(spec), timeout_seconds)

    async def status(
        self, *, version: int | None = None, timeout_seconds: float | None = None
    ) -> list[VersionStatus]:
        """See `Client.status`."""
        spec = self._methods.spec("", version)
        return await self._run(self._methods.status(spec), timeout_seconds)

    async def wait_until_ready(
        self,
        *,
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> int:
        """See `Client.wait_until_ready`."""
        spec = self._methods.spec("", version, label)
        return await self._run(self._methods.wait_until_ready(spec), timeout_seconds)

    async def close(self) -> None:
        """Closes the connections; calls in progress fail."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, plan: Plan[T], timeout_seconds: float | None) -> T:
        """Does what a plan yields until it returns."""
        deadline = Deadline(timeout_seconds or self._settings.timeout_seconds)
        try:
            step = next(plan)
            while True:
                try:
                    result = await self._done(step, deadline)
                except ServingError as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(result)
        except StopIteration as stop:
            return stop.value

    async def _done(self, step: Burst[Any] | Pause, deadline: Deadline) -> list[Any]:
        if isinstance(step, Pause):
            await asyncio.sleep(min(step.seconds, deadline.left()))
            return []
        results: list[Any] = []
        waiting: collections.deque[asyncio.Task[Any]] = collections.deque()
        try:
            for exchange in step.exchanges:
                if len(waiting) == self._settings.concurrency:
                    results.append(await waiting.popleft())
                waiting.append(asyncio.create_task(self._exchanged(exchange, deadline)))
            while waiting:
                results.append(await waiting.popleft())
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return results

    async def _exchanged(self, exchange: Exchange[T], deadline: Deadline) -> T:
        """The result of an exchange, sent again where that may help."""
        attempt = 0
        while True:
            attempt += 1
            try:
                async with asyncio.timeout(deadline.left()):
                    body = await self._transport.send(exchange, deadline.left())
                return exchange.read(body)
            except TimeoutError:
                raise deadline.exceeded() from None
            except ServingError as error:
                if not exchange.is_retried:
                    raise
                seconds = retrying.pause(self._settings.retry, attempt, error, deadline)
            await asyncio.sleep(seconds)
