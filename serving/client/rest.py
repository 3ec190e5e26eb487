"""Clients of the REST API."""

import functools
import gzip
import http.client
import ssl
from typing import Any

import httpx2
import requests
from requests.adapters import HTTPAdapter

from serving.client import address
from serving.client.asynchronous import AsyncClient
from serving.client.blocking import Client
from serving.client.exchanges import Exchange
from serving.client.methods import Methods
from serving.client.rest_requests import RestRequests, checked
from serving.client.settings import DEFAULTS, Settings, Tls
from serving.status import Code, ServingError

_MOST_INFLATED = 100_000_000  # bytes that TensorFlow Serving inflates a request to


class RestClient(Client):
    """A client of the REST API that blocks.

    Args:
      url: of the server, HOST:PORT or a URL.
    """

    def __init__(self, url: str, model_name: str, settings: Settings = DEFAULTS) -> None:
        transport = _Requests(address.server_url(url), settings)
        super().__init__(
            Methods(RestRequests(), model_name, settings.batch_size), transport, settings
        )


class AsyncRestClient(AsyncClient):
    """A client of the REST API for asyncio; parameters as for `RestClient`."""

    def __init__(self, url: str, model_name: str, settings: Settings = DEFAULTS) -> None:
        transport = _Httpx(address.server_url(url), settings)
        super().__init__(
            Methods(RestRequests(), model_name, settings.batch_size), transport, settings
        )


class _Requests:
    """Sends by the library requests."""

    def __init__(self, server: str, settings: Settings) -> None:
        self._server, self._settings = server, settings
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=settings.concurrency))
        tls = settings.tls
        if tls.client_certificate and tls.client_key:
            self._session.cert = (tls.client_certificate, tls.client_key)
        # The proxies and certificates of the environment, looked up once and not for each request.
        self._around = self._session.merge_environment_settings(
            server, {}, False, tls.root_certificates or True, None
        )

    def send(self, exchange: Exchange[Any], timeout_seconds: float) -> bytes:
        body, headers = _encoded(exchange, self._settings)
        url = f"{self._server}{exchange.target}"
        request = requests.Request(exchange.verb, url, headers, data=body)
        try:
            response = self._session.send(
                self._session.prepare_request(request),
                timeout=timeout_seconds,
                allow_redirects=False,  # after one, a POST would be a GET
                **self._around,
            )
        except requests.Timeout:
            raise _late(self._server, timeout_seconds) from None
        except requests.RequestException as error:
            is_tls = isinstance(error, requests.exceptions.SSLError)
            raise _unreachable(self._server, error, is_tls=is_tls) from error
        return checked(response.status_code, response.content, f"{exchange.verb} {url}")

    def close(self) -> None:
        self._session.close()


class _Httpx:
    """Sends by the library httpx2."""

    def __init__(self, server: str, settings: Settings) -> None:
        self._server, self._settings = server, settings

    @functools.cached_property
    def _client(self) -> httpx2.AsyncClient:
        # Made when it is needed, in the event loop.
        is_encrypted = self._server.startswith("https:")
        verify = _context(self._settings.tls) if is_encrypted else False
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=self._settings.concurrency
        )
        return httpx2.AsyncClient(verify=verify, timeout=None, limits=limits)

    async def send(self, exchange: Exchange[Any], timeout_seconds: float) -> bytes:
        body, headers = _encoded(exchange, self._settings)
        url = f"{self._server}{exchange.target}"
        try:
            response = await self._client.request(exchange.verb, url, content=body, headers=headers)
        # An alert of TLS that comes after the handshake is passed on as ssl raises it, an OSError.
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            is_tls = isinstance(error, ssl.SSLError) or "[SSL" in str(error)
            raise _unreachable(self._server, error, is_tls=is_tls) from error
        return checked(response.status_code, response.content, f"{exchange.verb} {url}")

    async def close(self) -> None:
        await self._client.aclose()


def _encoded(exchange: Exchange[Any], settings: Settings) -> tuple[bytes, dict[str, str]]:
    """The body of a request and its headers."""
    body = exchange.body
    headers = {"Content-Type": "application/json"} if body else {}
    least = settings.gzip_from_bytes
    if least is not None and max(1, least) <= len(body) <= _MOST_INFLATED:
        # Level 1: JSON shrinks nearly as much as at level 9, in a tenth of the time.
        return gzip.compress(body, 1), headers | {"Content-Encoding": "gzip"}
    return body, headers


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls.root_certificates)
    if tls.client_certificate:
        context.load_cert_chain(tls.client_certificate, tls.client_key)
    return context


def _late(server: str, seconds: float) -> ServingError:
    return ServingError(Code.DEADLINE_EXCEEDED, f"{server} did not answer within {seconds:.3g} s.")


def _unreachable(server: str, error: Exception, *, is_tls: bool) -> ServingError:
    """The error of a connection that fails; only that of a certificate is not tried again."""
    if is_tls:
        return ServingError(Code.UNAUTHENTICATED, f"TLS with {server} failed: {error}")
    return ServingError(Code.UNAVAILABLE, f"No server answers at {server}: {_reason(error)}")


def _reason(error: BaseException) -> str:
    """What the operating system said, where it said something; libraries say it in five lines."""
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        if type(cause) is http.client.BadStatusLine:
            return "what it answers is not HTTP 1; a port of gRPC is asked with grpc://"
        cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__
