"""The REST API as an ASGI application: verbs, status codes, headers and bodies."""

import asyncio
import contextlib
import dataclasses
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from serving.methods.core import Core
from serving.rest_api import json_text
from serving.rest_api.api import RestApi
from serving.rest_api.bodies import BodyReceiver, ClientGoneError, Receive
from serving.rest_api.limits import Limits, RequestTooLargeError
from serving.status import HTTP_STATUS, ServingError

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Page = Callable[[Scope, Receive, Send], Awaitable[None]]
_Header = tuple[bytes, bytes]

_JSON = (b"content-type", b"application/json")
_HTML = (b"content-type", b"text/html")
_TEXT = (b"content-type", b"text/plain")
_CORS = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"POST, GET"),
    (b"access-control-allow-headers", b"Content-Type"),
)
_CLOSE = (b"connection", b"close")
_NOT_FOUND_PAGE = (
    b"<html><head><title>404 Not Found</title></head>"
    b"<body><h1>Not Found</h1><p>The API is under /v1/models/.</p></body></html>"
)
_INTERNAL = "Internal error; the server's log has the details."
_STOPPING = "The server is stopping."
_TOO_LARGE = 413
_DISCARD_SECONDS = 10  # for a client that goes on sending a body that was refused


@dataclasses.dataclass(frozen=True)
class RestOptions:
    """How the API is offered.

    Attributes:
      limits: on requests.
      cors: whether pages of other sites may call the API.
      metrics_path: where Prometheus finds the metrics; None: nowhere.
    """

    limits: Limits
    cors: bool = False
    metrics_path: str | None = None


class RestApplication:
    """ASGI application: TensorFlow Serving's REST API under /v1/, the metrics, and a page.

    Requests are read and written in the event loop where that takes no more than a few
    milliseconds; larger and broken ones are read by another process.

    Args:
      page: ASGI application for every path that is not under /v1/ nor that of the metrics; None:
        there is nothing.
    """

    def __init__(self, core: Core, options: RestOptions, page: Page | None = None) -> None:
        self._metrics = core.metrics
        self._metrics_path = options.metrics_path
        self._page = page
        self._api = RestApi(core, options.limits)
        self._receiver = BodyReceiver(options.limits)
        self._cors = _CORS if options.cors else ()

    def close(self) -> None:
        """Ends the processes that were started for large bodies."""
        self._api.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"No support for ASGI scope {scope['type']!r}.")
        path = scope.get("raw_path", scope["path"].encode()).decode("utf-8", "replace")
        is_api = path[:4].lower() == "/v1/"
        if path == self._metrics_path:
            await _send(send, scope, 200, (_TEXT,), [self._metrics.page().encode()])
        elif is_api and scope["method"] == "OPTIONS":
            origin = dict(scope["headers"]).get(b"origin", b"")
            await _send(send, scope, 200 if re.search(rb"https?://", origin) else 400, self._cors)
        elif is_api:
            await self._answer(path, scope, receive, send)
        elif self._page:
            await self._page(scope, receive, send)
        else:
            await _send(send, scope, 404, (_HTML,), [_NOT_FOUND_PAGE])

    async def _answer(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        headers = (_JSON, *self._cors)
        try:
            body = await self._receiver.receive(dict(scope["headers"]), receive)
            try:
                parts = await self._api.answer(scope["method"], path, body)
            finally:
                body.close()
            status = 200
        except ClientGoneError:
            return
        except RequestTooLargeError as error:
            parts = [json_text.error_body(error.message)]
            await _send(send, scope, _TOO_LARGE, (*headers, _CLOSE), parts, receive)
            return
        except ServingError as error:
            status, parts = HTTP_STATUS[error.code], [json_text.error_body(error.message)]
        except asyncio.CancelledError:  # by uvicorn, once the time for stopping is over
            status, parts = 503, [json_text.error_body(_STOPPING)]
        except Exception:
            logging.exception("%s %s failed", scope["method"], path)
            status, parts = 500, [json_text.error_body(_INTERNAL)]
        await _send(send, scope, status, headers, parts)


async def _send(
    send: Send,
    scope: Scope,
    status: int,
    headers: Iterable[_Header],
    parts: Sequence[bytes] = (),
    unread: Receive | None = None,
) -> None:
    """Sends an answer.

    Args:
      unread: what the client may still be sending. A connection that is closed with bytes unread is
        reset, and the client may lose the answer, so they are read and thrown away for a while.
    """
    length = (b"content-length", str(sum(map(len, parts))).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    if scope["method"] == "HEAD":
        parts = ()
    more = unread is not None
    for part in parts[:-1]:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    last = parts[-1] if parts else b""
    await send({"type": "http.response.body", "body": last, "more_body": more})
    if unread:
        await _discard(unread)
        await send({"type": "http.response.body", "body": b""})


async def _discard(receive: Receive) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
