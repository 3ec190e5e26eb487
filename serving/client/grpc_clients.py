"""Clients of the gRPC API."""

import functools
from typing import Any

import grpc

from serving.client import address
from serving.client.asynchronous import AsyncClient
from serving.client.blocking import Client
from serving.client.exchanges import Exchange
from serving.client.grpc_requests import GrpcRequests
from serving.client.methods import Methods
from serving.client.settings import DEFAULTS, Settings, Tls
from serving.status import Code, ServingError


class GrpcClient(Client):
    """A client of the gRPC API that blocks.

    Args:
      url: grpc://HOST:PORT or HOST:PORT, grpcs://HOST:PORT if encrypted, or unix:PATH.
    """

    def __init__(self, url: str, model_name: str, settings: Settings = DEFAULTS) -> None:
        methods = Methods(GrpcRequests(), model_name, settings.batch_size)
        super().__init__(methods, _Channel(url, settings), settings)


class AsyncGrpcClient(AsyncClient):
    """A client of the gRPC API for asyncio; parameters as for `GrpcClient`."""

    def __init__(self, url: str, model_name: str, settings: Settings = DEFAULTS) -> None:
        methods = Methods(GrpcRequests(), model_name, settings.batch_size)
        super().__init__(methods, _AsyncChannel(url, settings), settings)


def options(tls: Tls) -> list[tuple[str, Any]]:
    """Options of a channel."""
    found: list[tuple[str, Any]] = [
        # gRPC refuses answers of more than 4 MB by itself.
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        # `Retry` counts attempts. A channel that waits up to two minutes before it connects again
        # would fail most of them without a try.
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2000),
    ]
    if tls.server_name:
        found.append(("grpc.ssl_target_name_override", tls.server_name))
    return found


def credentials(tls: Tls) -> grpc.ChannelCredentials:
    """The certificates of an encrypted channel."""
    return grpc.ssl_channel_credentials(
        _content(tls.root_certificates), _content(tls.client_key), _content(tls.client_certificate)
    )


def _content(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()


class _Channel:
    """Sends over a channel of threads."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._settings = settings
        target, is_encrypted = address.grpc_target(url)
        arguments = options(settings.tls)
        if is_encrypted:
            self._channel = grpc.secure_channel(target, credentials(settings.tls), arguments)
        else:
            self._channel = grpc.insecure_channel(target, arguments)
        # The same callable for each request to a method; making one takes 20 microseconds.
        self._call = functools.cache(self._channel.unary_unary)

    def send(self, exchange: Exchange[Any], timeout_seconds: float) -> bytes:
        compression = _compression(exchange, self._settings)
        try:
            return self._call(exchange.target)(
                exchange.body, timeout=timeout_seconds, compression=compression
            )
        except grpc.RpcError as error:
            raise _error(error) from error
        except ValueError as error:
            raise ServingError(Code.CANCELLED, f"The client is closed: {error}") from error

    def close(self) -> None:
        self._channel.close()


class _AsyncChannel:
    """Sends over a channel of asyncio."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._settings = settings
        self._target, self._is_encrypted = address.grpc_target(url)
        self._call = functools.cache(self._method)

    @functools.cached_property
    def _channel(self) -> Any:
        # Made when it is needed, in the event loop.
        arguments = options(self._settings.tls)
        if not self._is_encrypted:
            return grpc.aio.insecure_channel(self._target, arguments)
        found = credentials(self._settings.tls)
        return grpc.aio.secure_channel(self._target, found, arguments)

    def _method(self, name: str) -> Any:
        return self._channel.unary_unary(name)

    async def send(self, exchange: Exchange[Any], timeout_seconds: float) -> bytes:
        compression = _compression(exchange, self._settings)
        try:
            return await self._call(exchange.target)(
                exchange.body, timeout=timeout_seconds, compression=compression
            )
        except grpc.RpcError as error:
            raise _error(error) from error

    async def close(self) -> None:
        await self._channel.close()


def _compression(exchange: Exchange[Any], settings: Settings) -> grpc.Compression | None:
    least = settings.gzip_from_bytes
    return grpc.Compression.Gzip if least is not None and len(exchange.body) >= least else None


def _error(error: Any) -> ServingError:
    """The error of a call, of either kind of channel."""
    return ServingError(Code(error.code().value[0]), error.details() or "")
