"""The cheapest way to send prepared requests: what a load test spends on itself, it cannot measure.

A client of `serving.client` takes about half a millisecond of CPU time for a request. These take a
tenth: the request is bytes, and of the answer only the status is read.
"""

import asyncio
import ssl
import urllib.parse
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import grpc
import httptools

from serving.client import address, grpc_clients, rest_requests
from serving.client.settings import Tls
from serving.status import Code, ServingError


class Server(NamedTuple):
    """Where requests go.

    Attributes:
      url: as `serving.client.connect` takes it.
      target: the path, or the method of gRPC.
    """

    url: str
    target: str
    tls: Tls


class Connections(Protocol):
    """Sends requests of one process."""

    async def send(self, number: int) -> None:
        """Sends a request and waits for its answer.

        Args:
          number: of the request, among those it was made with.

        Raises:
          ServingError: the answer is an error, or there is none.
        """
        ...

    async def close(self) -> None:
        """Closes the connections."""
        ...


def to(server: Server, bodies: Sequence[bytes]) -> Connections:
    """Connections to a server for requests with these bodies; made in the event loop."""
    if address.is_grpc(server.url):
        return _Grpc(server, bodies)
    return _Http(server, bodies)


class _Grpc:
    """One connection for all requests, as gRPC has it."""

    def __init__(self, server: Server, bodies: Sequence[bytes]) -> None:
        self._bodies = bodies
        target, is_encrypted = address.grpc_target(server.url)
        options = grpc_clients.options(server.tls)
        if is_encrypted:
            found = grpc_clients.credentials(server.tls)
            self._channel = grpc.aio.secure_channel(target, found, options)
        else:
            self._channel = grpc.aio.insecure_channel(target, options)
        self._call: Any = self._channel.unary_unary(server.target)

    async def send(self, number: int) -> None:
        try:
            await self._call(self._bodies[number])
        except grpc.aio.AioRpcError as error:
            raise ServingError(Code(error.code().value[0]), error.details() or "") from None

    async def close(self) -> None:
        await self._channel.close()


class _Http:
    """Connections that are kept, one for each request in progress."""

    def __init__(self, server: Server, bodies: Sequence[bytes]) -> None:
        parts = urllib.parse.urlsplit(address.server_url(server.url))
        self._is_encrypted = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._is_encrypted else 80)
        self._context = self._tls_context(server.tls) if self._is_encrypted else None
        head = (
            f"POST {parts.path}{server.target} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n"
        )
        self._requests = [head.format(len(body)).encode() + body for body in bodies]
        self._idle: list[_Connection] = []

    async def send(self, number: int) -> None:
        connection = self._kept() or await self._connected()
        try:
            answer = await self._answer(connection, self._requests[number])
        except BaseException:
            connection.close()  # whatever it answers later belongs to no request
            raise
        if connection.is_reusable:
            self._idle.append(connection)
        rest_requests.checked(answer[0], answer[1], "The request")

    def _kept(self) -> "_Connection | None":
        """The connection that was used last, of those that the server has not closed."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_reusable:
                return connection
        return None

    async def _answer(self, connection: "_Connection", request: bytes) -> tuple[int, bytes]:
        try:
            return await connection.ask(request)
        except ConnectionError as error:
            raise ServingError(Code.UNAVAILABLE, str(error)) from None

    async def _connected(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                _Connection, self._host, self._port, ssl=self._context
            )
        except OSError as error:
            raise ServingError(Code.UNAVAILABLE, f"No connection: {error}") from None
        return connection

    async def close(self) -> None:
        for connection in self._idle:
            connection.close()

    @staticmethod
    def _tls_context(tls: Tls) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=tls.root_certificates)
        if tls.client_certificate:
            context.load_cert_chain(tls.client_certificate, tls.client_key)
        return context


class _Connection(asyncio.Protocol):
    """A connection of HTTP 1.1 with one request at a time.

    Attributes:
      is_reusable: whether another request may follow.
    """

    def __init__(self) -> None:
        self.is_reusable = True
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._body: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer.

        Raises:
          ConnectionError: the connection ends before the answer does, or it is not HTTP.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("The server closed the connection.")
        self._body = []
        self._parser = httptools.HttpResponseParser(self)
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        self.is_reusable = False
        if self._transport:
            self._transport.close()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"The answer is not HTTP: {error}")
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_reusable = False
        self._fail(f"The connection ended before the answer: {exc or 'closed by the server'}")

    # What httptools calls.

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.is_reusable = self.is_reusable and self._parser.should_keep_alive()
        if self._answer and not self._answer.done():
            self._answer.set_result((self._parser.get_status_code(), b"".join(self._body)))

    def _fail(self, message: str) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_exception(ConnectionResetError(message))
