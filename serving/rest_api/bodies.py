"""Receives the bodies of requests: small ones as bytes, others in files in memory.

A file takes a large body part by part. Bytes would be joined in the end, and copying 100 MB keeps
an event loop for longer than it may wait.
"""

import asyncio
import os
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from serving.rest_api.limits import Limits
from serving.status import Code, ServingError

Receive = Callable[[], Awaitable[Mapping[str, Any]]]

SMALL_BYTES = 2**16
_MEDIUM_BYTES = 2**22  # inflated by a thread, which zlib lets run at the same time as others
# Bodies that are held at a time, as a multiple of the limit of one.
_HELD_BODIES = 4


class ClientGoneError(Exception):
    """The client closed the connection before its request was complete."""


class Body:
    """The body of a request. One that has a file must be closed.

    Attributes:
      content: if it is small.
      file: otherwise, the descriptor of a file that holds it.
      size: in bytes.
      gzipped: whether the file is compressed.
    """

    def __init__(
        self, content: bytes | None, file: int = -1, size: int = 0, gzipped: bool = False
    ) -> None:
        self.content = content
        self.file = file
        self.size = size if content is None else len(content)
        self.gzipped = gzipped
        self.on_close: Callable[[], None] | None = None

    @classmethod
    def in_file(cls, content: bytes) -> "Body":
        """A body that is in a file, though it is small."""
        file = _new_file()
        _append(file, content)
        return cls(None, file, len(content))

    def close(self) -> None:
        """Gives the memory back; in a thread, as it may take the kernel a while."""
        if self.file >= 0:
            asyncio.get_running_loop().run_in_executor(None, os.close, self.file)
            self.file = -1
        if self.on_close:
            self.on_close()
            self.on_close = None


def _new_file() -> int:
    return os.memfd_create("body")


def _append(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


class BodyReceiver:
    """Receives bodies within limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held_bytes = 0

    async def receive(self, headers: Mapping[bytes, bytes], receive: Receive) -> Body:
        """Receives a whole body and inflates it if it is gzipped and not too large for that.

        Args:
          headers: by names in lower case.

        Raises:
          ClientGoneError, RequestTooLargeError.
          ServingError: UNAVAILABLE; too many large bodies at a time.
        """
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > self._limits.request_bytes:
            raise self._limits.too_large(int(declared))
        body = await self._receive(receive)
        if b"gzip" not in headers.get(b"content-encoding", b""):
            return body
        if body.content is None:
            body.gzipped = True
            return body
        return await _inflated(body.content)

    async def _receive(self, receive: Receive) -> Body:
        content = b""
        more = True
        while more and len(content) <= min(SMALL_BYTES, self._limits.request_bytes):
            part, more = await _part(receive)
            content = content + part if content else part
        if len(content) > self._limits.request_bytes:
            raise self._limits.too_large(len(content))
        if len(content) <= SMALL_BYTES:
            return Body(content)
        return await self._receive_into_file(content, more, receive)

    async def _receive_into_file(self, content: bytes, more: bool, receive: Receive) -> Body:
        body = Body(None, _new_file())
        body.on_close = lambda: self._hold(-body.size)
        try:
            while True:
                body.size += len(content)
                self._hold(len(content))
                if body.size > self._limits.request_bytes:
                    raise self._limits.too_large(body.size)
                _append(body.file, content)
                if not more:
                    return body
                content, more = await _part(receive)
        except BaseException:
            body.close()
            raise

    def _hold(self, num_bytes: int) -> None:
        self._held_bytes += num_bytes
        if num_bytes > 0 and self._held_bytes > _HELD_BODIES * self._limits.request_bytes:
            raise ServingError(
                Code.UNAVAILABLE, "Too many large requests at once; send this one later."
            )


async def _part(receive: Receive) -> tuple[bytes, bool]:
    """Bytes, and whether more will come."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), message.get("more_body", False)


async def _inflated(content: bytes) -> Body:
    """What a small body is once inflated; what does not inflate counts as empty."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        inflated = inflater.decompress(content, SMALL_BYTES)
        if inflater.eof:
            return Body(inflated)
        left = _MEDIUM_BYTES - len(inflated)
        inflated += await asyncio.to_thread(inflater.decompress, inflater.unconsumed_tail, left)
    except zlib.error:
        return Body(b"")
    if inflater.eof:
        return Body(inflated) if len(inflated) <= SMALL_BYTES else Body.in_file(inflated)
    if len(inflated) < _MEDIUM_BYTES:  # the end is missing
        return Body(b"")
    body = Body.in_file(content)
    body.gzipped = True
    return body
