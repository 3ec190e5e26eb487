"""Processes that read large or broken JSON bodies for the server, started when one comes.

The interpreter runs one thread at a time, and a decoder of 100 MB holds it for seconds. Another
process reads it, and its tensors come back in memory that both share.
"""

import asyncio
import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

import numpy as np
import orjson

from serving.rest_api import flat_tensors
from serving.rest_api.limits import Limits
from serving.rest_api.parser_worker import INFLATED_BYTES, MESSAGE_BYTES
from serving.status import Code, ServingError

_WORKER = "serving.rest_api.parser_worker"
# Where the worker finds this package, however this process found it.
_SEARCHED = [str(pathlib.Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]
# Of two processes, one reads the largest bodies one after the other, so that the others never wait
# for them. It ends after each, because it would keep their memory.
_PROCESSES = 2
_LARGE_BYTES = 2**22


class _Process:
    """A worker and the socket to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _WORKER, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, _SEARCHED))},
                start_new_session=True,
            )

    async def ask(self, message: Mapping[str, Any], file: int | None = None) -> "_Answer":
        """Sends a message and waits for the answer.

        Raises:
          ServingError: the worker's, or RESOURCE_EXHAUSTED if it has died.
        """
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(self._socket, [orjson.dumps(message)], [] if file is None else [file])
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._socket, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._socket)
        try:
            text, files, _, _ = socket.recv_fds(self._socket, MESSAGE_BYTES, 1)
        except ConnectionError:
            text, files = b"", []
        if not text:
            raise ServingError(
                Code.RESOURCE_EXHAUSTED,
                "The process that reads the request's JSON has ended, most likely for want of "
                "memory; send fewer rows at once.",
            )
        answer = orjson.loads(text)
        if "code" in answer:
            raise ServingError(Code(answer["code"]), answer["message"])
        return _Answer(answer, files[0] if files else None)

    def is_alive(self) -> bool:
        """Whether nobody has ended it from outside."""
        return self._process.poll() is None

    def end(self) -> None:
        """Ends the worker, whatever it is doing."""
        self._socket.close()
        self._process.kill()
        # Giving gigabytes back takes the kernel a while.
        threading.Thread(target=self._process.wait, daemon=True).start()


class _Answer:
    """A worker's message and the file that came with it."""

    def __init__(self, message: dict[str, Any], file: int | None) -> None:
        self.message = message
        self._file = file

    async def tensors(self) -> dict[str, np.ndarray]:
        """The tensors in the file."""
        assert self._file is not None
        try:
            reader = flat_tensors.Reader(self.message["entries"], self._file)
        finally:
            os.close(self._file)
        for _ in reader:
            await asyncio.sleep(0)
        return reader.tensors


@contextlib.asynccontextmanager
async def _deadline(seconds: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        message = "Timed out while the request's JSON was read; send fewer rows at once."
        raise ServingError(Code.DEADLINE_EXCEEDED, message) from None


class RemoteDocument:
    """A body that a worker has parsed. The worker is kept until tensors or examples are read.

    Attributes:
      signature_name: the one that the request asks for.
      form: of a predict request, once its tensors are read.
    """

    def __init__(
        self,
        worker: contextlib.AsyncExitStack,
        process: _Process,
        signature_name: str,
        timeout_seconds: float | None,
    ) -> None:
        self.signature_name = signature_name
        self.form = ""
        self._worker = worker
        self._process = process
        self._timeout_seconds = timeout_seconds

    async def tensors(self, inputs: Mapping[str, str]) -> dict[str, np.ndarray]:
        """The tensors of a predict request; see `json_reading.read`."""
        answer = await self._ask({"step": "tensors", "inputs": dict(inputs)})
        self.form = answer.message["form"]
        return await answer.tensors()

    async def examples(self) -> list[bytes]:
        """The examples of a classify or regress request; see `json_examples.read`."""
        answer = await self._ask({"step": "examples"})
        return list((await answer.tensors())["examples"])

    async def _ask(self, message: Mapping[str, Any]) -> _Answer:
        async with self._worker, _deadline(self._timeout_seconds):
            return await self._process.ask(message)

    async def close(self) -> None:
        """Gives the worker back, if it is still kept."""
        await self._worker.aclose()


class ParserProcesses:
    """Workers, as many as are needed at a time.

    Args:
      timeout_seconds: for waiting for one and for parsing; None: no limit.
    """

    def __init__(self, limits: Limits, timeout_seconds: float | None) -> None:
        self._limits = limits
        self._timeout_seconds = timeout_seconds
        self._idle: list[_Process] = []
        self._free = asyncio.Semaphore(_PROCESSES)
        self._large = asyncio.Semaphore(_PROCESSES - 1)

    async def parse(self, file: int, size: int, gzipped: bool) -> RemoteDocument:
        """Has a body parsed. The document must be closed.

        Args:
          file: descriptor of a file that holds the body.
          size: of the body in bytes.

        Raises:
          ServingError: INVALID_ARGUMENT, no JSON; RESOURCE_EXHAUSTED; DEADLINE_EXCEEDED.
          RequestTooLargeError: it is beyond the limit once inflated.
        """
        message = {"step": "parse", "gzipped": gzipped, **self._limits.of_parser()}
        seconds = self._timeout_seconds
        async with contextlib.AsyncExitStack() as stack:
            async with _deadline(seconds):
                is_large = size > _LARGE_BYTES or gzipped
                process = await stack.enter_async_context(self._process(is_large))
                answer = await process.ask(message, file)
                if answer.message.get(INFLATED_BYTES, 0) > self._limits.request_bytes:
                    raise self._limits.too_large(answer.message[INFLATED_BYTES])
            name = answer.message["signature_name"]
            return RemoteDocument(stack.pop_all(), process, name, seconds)

    @contextlib.asynccontextmanager
    async def _process(self, is_large: bool) -> AsyncIterator[_Process]:
        async with contextlib.AsyncExitStack() as stack:
            if is_large:
                await stack.enter_async_context(self._large)
            await stack.enter_async_context(self._free)
            while self._idle and not self._idle[-1].is_alive():
                self._idle.pop().end()
            process = self._idle.pop() if self._idle else await asyncio.to_thread(_Process)
            waits = False  # whether it waits for another message
            try:
                yield process
                waits = True
            except ServingError as error:
                waits = error.code not in (Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED)
                raise
            finally:
                if waits and not is_large:
                    self._idle.append(process)
                else:
                    process.end()

    def close(self) -> None:
        """Ends all workers that wait."""
        while self._idle:
            self._idle.pop().end()
