"""uvicorn's HTTP protocol, with time limits for slow clients and an orderly end.

uvicorn waits without limit for a request, for the rest of a body and for a client that does not
read its answer; gives a client that has closed its half of the connection no answer; hears nothing
more on a connection that offered to change the protocol, as Java's client does; and when it stops,
closes connections at once on which the next request may be under way.
"""

import asyncio
import functools
import sys
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from serving.rest_api import json_text

_MIN_BYTES_PER_SECOND = 1000  # of a body that comes without a pause
# When the server stops: for the next request to begin, and for one that has begun to be complete.
_IDLE_SECONDS, _REST_SECONDS = 1.0, 5.0
# Headers that offer another protocol, such as HTTP/2.
_OFFERS = (b"connection", b"upgrade", b"http2-settings")
_REFUSAL = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n\r\n%b"


class _Timer:
    """Calls a function unless it is set again, or stopped, before."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    def set(self, seconds: float, then: Callable[[], None]) -> None:
        self.stop()
        self._handle = self._loop.call_later(max(seconds, 0), then)

    def stop(self) -> None:
        if self._handle:
            self._handle.cancel()
            self._handle = None

    def is_set(self) -> bool:
        return self._handle is not None


class RestProtocol(HttpToolsProtocol):
    """A connection.

    Args:
      header_seconds: for the headers of a request, from its first byte or from the connection on.
      client_seconds: for a pause within a body, for a client that does not read its answer, and
        for a connection without a request.
      uvicorn: what uvicorn gives every protocol.
    """

    def __init__(self, header_seconds: float, client_seconds: float, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.timeout_keep_alive: float = client_seconds  # type: ignore[assignment]
        self._header_seconds = header_seconds
        self._client_seconds = client_seconds
        self._incoming = _Timer(self.loop)
        self._outgoing = _Timer(self.loop)
        self._is_receiving = False  # a request has begun and is not complete
        self._headers_due = 0.0
        self._body_start: float | None = None
        self._body_bytes = 0
        self._half_closed = False
        self._data = b""  # what the parser reads
        self._stop_at: float | None = None

    # What is waited for.

    def _is_idle(self) -> bool:
        answered = self.cycle is None or self.cycle.response_complete
        return answered and not self.pipeline and not self._is_receiving

    def _expect_more(self) -> None:
        """Sets the time limit for what comes next, if anything has to."""
        if self._body_start is not None:
            self._expect_body(self._body_start)
        elif self._is_receiving:
            due = min(self._headers_due, self._stop_at or self._headers_due)
            self._incoming.set(due - self.loop.time(), self._time_out)
        elif not self._is_idle():
            self._incoming.stop()
        elif not self._incoming.is_set():  # line ends, but no request
            self._incoming.set(self._header_seconds, self._time_out)

    def _expect_body(self, start: float) -> None:
        """Bytes must come before a pause is too long, and not drop by drop."""
        now = self.loop.time()
        due = start + self._client_seconds + self._body_bytes / _MIN_BYTES_PER_SECOND
        due = min(due, now + self._client_seconds, self._stop_at or due)
        self._incoming.set(due - now, self._time_out)

    def _time_out(self) -> None:
        """The client has not sent what it should have."""
        if self.flow.read_paused:  # it could not
            self._incoming.set(self._client_seconds, self._time_out)
            return
        if self._is_receiving and self._may_refuse():
            if self._stop_at is None:
                self._refuse(b"408 Request Timeout", "Timed out while the request was received")
            else:
                self._refuse(b"503 Service Unavailable", "The server is stopping")
        self._close()

    def _may_refuse(self) -> bool:
        """Whether no answer is being sent that a refusal would end up in."""
        cycle = self.cycle
        is_between = cycle is None or cycle.response_complete or not cycle.response_started
        return is_between and not self.pipeline

    def _refuse(self, status: bytes, message: str) -> None:
        body = json_text.error_body(message)
        self.transport.write(_REFUSAL % (status, len(body), b"connection: close", body))

    def _close(self) -> None:
        """Closes the connection, even if the client does not read what it was sent."""
        self._incoming.stop()
        self._outgoing.set(self._client_seconds, self.transport.abort)
        self.transport.close()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    # Events of the connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._incoming.set(self._header_seconds, self._time_out)

    def connection_lost(self, exc: Exception | None) -> None:
        self._incoming.stop()
        self._outgoing.stop()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._body_start is not None:
            self._body_bytes += len(data)
        self._data = data
        super().data_received(data)
        self._data = b""
        if not self.transport.is_closing():
            self._expect_more()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more; what it has asked for it still gets."""
        self._half_closed = True
        if self._is_receiving or self._is_idle():
            self._close()
        return True

    def pause_writing(self) -> None:
        super().pause_writing()
        self._outgoing.set(self._client_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._outgoing.stop()

    # Events of the parser.

    def _unsupported_upgrade_warning(self) -> None:
        """Reads a request again without its offer of another protocol.

        The parser takes what follows for that protocol; most clients go on in this one.
        """
        error = sys.exception()
        method = self.parser.get_method()
        if method == b"CONNECT" or error is None:
            self.send_400_response("Invalid HTTP request received.")
            return
        lines = [
            b"%b: %b\r\n" % (name, value) for name, value in self.headers if name not in _OFFERS
        ]
        closes = b"" if self.parser.should_keep_alive() else b"connection: close\r\n"
        head = b"%b %b HTTP/1.1\r\n%b%b\r\n" % (method, self.url, b"".join(lines), closes)
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(head + self._data[error.args[0] :])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_receiving = True
        self._headers_due = self.loop.time() + self._header_seconds

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # it is read again
        super().on_headers_complete()
        self._body_start = self.loop.time()
        self._body_bytes = 0
        if self._stop_at is not None:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._is_receiving = False
        self._body_start = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or (self._half_closed and self._is_idle()):
            self._close()

    # The end.

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def shutdown(self) -> None:
        """Answers what is asked or asked in a moment with `Connection: close`, then closes."""
        self._stop_at = self.loop.time() + _REST_SECONDS
        if self._is_idle():
            self._unset_keepalive_if_required()
            self._incoming.set(_IDLE_SECONDS, self._time_out)
            return
        if self.cycle is not None:  # of several requests on the connection, that is the last one
            self.cycle.keep_alive = False
        if self._is_receiving:
            self._incoming.set(_REST_SECONDS, self._time_out)


def protocol_class(header_seconds: float, client_seconds: float) -> Any:
    """What `uvicorn.Config(http=...)` takes; see `RestProtocol`."""
    return functools.partial(RestProtocol, header_seconds, client_seconds)
