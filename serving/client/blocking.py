"""Clients that block: what both APIs share."""

import collections
import concurrent.futures
import time
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


class Transport(Protocol):
    """Sends bytes over connections that it keeps; may be used by several threads."""

    def send(self, exchange: Exchange[Any], timeout_seconds: float) -> bytes:
        """The answer.

        Raises:
          ServingError: an error was answered, or nothing.
        """
        ...

    def close(self) -> None:
        """Closes the connections."""
        ...


class Client:
    """Asks one model on a server. May be used by several threads; a context manager.

    The methods have the same keywords: `signature` is the default one if left out, `version` or
    `label` (one of them) the newest version, and `timeout_seconds`, the maximum time of the whole
    call, that of the settings. All raise `ServingError` with the code and the words of the server;
    DEADLINE_EXCEEDED and UNAVAILABLE may be the client's own.
    """

    def __init__(self, methods: Methods, transport: Transport, settings: Settings) -> None:
        self._methods, self._transport, self._settings = methods, transport, settings
        self._pool = concurrent.futures.ThreadPoolExecutor(settings.concurrency, "client")

    def predict(
        self,
        inputs: Inputs,
        *,
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
        outputs: Collection[str] = (),
        timeout_seconds: float | None = None,
    ) -> list[Answer]:
        """Answers to rows, in their order.

        Args:
          inputs: texts, or a dict from the name of an input to its values, a row each.
          outputs: names of those wanted; none: all.
        """
        spec = self._methods.spec(signature, version, label)
        return self._run(self._methods.predict(spec, inputs, outputs), timeout_seconds)

    def classify(
        self,
        features: Inputs,
        *,
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> list[Scored]:
        """Labels with their scores for each row, in the model's order.

        Args:
          features: of tf.Examples: a dict from name to values, a row each; texts alone are the
            feature `text`.
        """
        spec = self._methods.spec(signature, version, label)
        return self._run(self._methods.classify(spec, features), timeout_seconds)

    def regress(
        self,
        features: Inputs,
        *,
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> list[float]:
        """A number for each row; `features` as for `classify`."""
        spec = self._methods.spec(signature, version, label)
        return self._run(self._methods.regress(spec, features), timeout_seconds)

    def metadata(
        self,
        *,
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> Metadata:
        """The signatures of a version."""
        spec = self._methods.spec("", version, label)
        return self._run(self._methods.metadata(spec), timeout_seconds)

    def status(
        self, *, version: int | None = None, timeout_seconds: float | None = None
    ) -> list[VersionStatus]:
        """The states of all versions, or of one; the newest first."""
        spec = self._methods.spec("", version)
        return self._run(self._methods.status(spec), timeout_seconds)

    def wait_until_ready(
        self,
        *,
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
    ) -> int:
        """Waits until a version answers, also for the server to start; gives its number."""
        spec = self._methods.spec("", version, label)
        return self._run(self._methods.wait_until_ready(spec), timeout_seconds)

    def exchange(self, exchange: Exchange[T], timeout_seconds: float | None = None) -> T:
        """The result of a request that was made without this client."""
        (result,) = self._run(_alone(exchange), timeout_seconds)
        return result

    def close(self) -> None:
        """Closes the connections; calls in progress fail."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, plan: Plan[T], timeout_seconds: float | None) -> T:
        """Does what a plan yields until it returns."""
        deadline = Deadline(timeout_seconds or self._settings.timeout_seconds)
        try:
            step = next(plan)
            while True:
                try:
                    result = self._done(step, deadline)
                except ServingError as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(result)
        except StopIteration as stop:
            return stop.value

    def _done(self, step: Burst[Any] | Pause, deadline: Deadline) -> list[Any]:
        if isinstance(step, Pause):
            time.sleep(min(step.seconds, deadline.left()))
            return []
        results: list[Any] = []
        waiting: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
        try:
            for exchange in step.exchanges:
                if len(waiting) == self._settings.concurrency:
                    results.append(_result(waiting.popleft(), deadline))
                # In a thread even if it is the only one: a socket's timeout bounds each read of
                # an answer, but waiting for a thread can be given up at the deadline.
                waiting.append(self._pool.submit(self._exchanged, exchange, deadline))
            while waiting:
                results.append(_result(waiting.popleft(), deadline))
        finally:
            for future in waiting:
                future.cancel()
        return results

    def _exchanged(self, exchange: Exchange[T], deadline: Deadline) -> T:
        """The result of an exchange, sent again where that may help."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return exchange.read(self._transport.send(exchange, deadline.left()))
            except ServingError as error:
                if not exchange.is_retried:
                    raise
                seconds = retrying.pause(self._settings.retry, attempt, error, deadline)
            time.sleep(seconds)


def _alone(exchange: Exchange[T]) -> Plan[list[T]]:
    return (yield Burst([exchange]))


def _result(future: concurrent.futures.Future[T], deadline: Deadline) -> T:
    try:
        return future.result(deadline.left())
    except concurrent.futures.TimeoutError:
        raise deadline.exceeded() from None
    finally:
        future.cancel()
