"""The REST API as an ASGI application: paths, verbs, status codes and bodies."""

import asyncio
import json
import logging
import re
import urllib.parse
import zlib
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from typing import Any

from serving.models.servable import Servable
from serving.rest_api import json_tensors, json_text
from serving.status import HTTP_STATUS, Code, ServingError, invalid

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_PREDICTION = re.compile(
    r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?:(classify|regress|predict)",
    re.IGNORECASE | re.ASCII,
)
_STATUS = re.compile(
    r"/v1/models(?:/([^/:]+))?(?:/versions/(\d+)|/labels/([^/:]+))?(?:/(metadata))?",
    re.IGNORECASE | re.ASCII,
)
_MAX_INFLATED_BYTES = 100 * 2**20
_NOT_FOUND_PAGE = (
    b"<html><head><title>404 Not Found</title></head>"
    b"<body><h1>Not Found</h1><p>The API is under /v1/models/.</p></body></html>"
)


class RestApplication:
    """ASGI application that answers for one version of one model.

    Requests are decoded, run and encoded in `executor`, so the event loop never waits.
    """

    def __init__(self, servable: Servable, executor: Executor, timeout_seconds: float) -> None:
        self._servable = servable
        self._timeout_seconds = timeout_seconds
        self._executor = executor

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"No support for ASGI scope {scope['type']!r}.")
        body = await _read_body(receive)
        if body is None:
            return  # the client went away
        method = scope["method"]
        headers = dict(scope["headers"])
        path = scope.get("raw_path", scope["path"].encode()).decode("utf-8", "replace")
        if not path.lower().startswith("/v1/"):
            await _send(send, 404, _NOT_FOUND_PAGE, b"text/html")
        elif method == "OPTIONS":
            allowed = re.search(rb"https?://", headers.get(b"origin", b""))
            await _send(send, 200 if allowed else 400, b"")
        else:
            gzipped = b"gzip" in headers.get(b"content-encoding", b"")
            loop = asyncio.get_running_loop()
            status, answer = await loop.run_in_executor(
                self._executor, self._answer, method, path, body, gzipped
            )
            await _send(send, status, answer)

    def _answer(self, method: str, path: str, body: bytes, gzipped: bool) -> tuple[int, bytes]:
        try:
            return 200, self._dispatch(method, path, _inflate(body) if gzipped else body)
        except ServingError as error:
            return HTTP_STATUS[error.code], json_text.error_body(error.message)
        except Exception:
            logging.exception("%s %s failed", method, path)
            return 500, json_text.error_body("Internal error; the server's log has the details.")

    def _dispatch(self, method: str, path: str, body: bytes) -> bytes:
        pattern = {"POST": _PREDICTION, "GET": _STATUS}.get(method)
        match = pattern and pattern.fullmatch(path)
        if not match:
            raise invalid(f"Malformed request: {method} {path}")
        version, action = _version(match[2]), match[4]
        name, label = (part and urllib.parse.unquote(part) for part in (match[1], match[3]))
        if method == "GET":
            if not name:
                raise invalid("Missing model name in request.")
            # The pattern takes any case, but only lower case means something; see below too.
            if action == "metadata":
                return _dump(self._find(name, version, label).metadata())
            return _dump(self._status(name, version))  # the same for every label
        if action == "predict":
            return self._predict(name, version, label, body)
        if action in ("classify", "regress"):
            raise ServingError(
                Code.UNIMPLEMENTED, f"{action} is not supported by this server; use predict"
            )
        raise invalid(f"Malformed request: {method} {path}")

    def _serves(self, name: str, version: int | None) -> bool:
        return name == self._servable.name and version in (None, self._servable.version)

    def _find(self, name: str, version: int | None, label: str | None) -> Servable:
        """What answers a request by version, by label, or without one.

        Raises:
          ServingError: NOT_FOUND, or INVALID_ARGUMENT for a label; this server has none.
        """
        if label is not None:
            raise invalid(f"Unrecognized servable version label: {label}")
        if not self._serves(name, version):
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise ServingError(Code.NOT_FOUND, f"Servable not found for request: {wanted}")
        return self._servable

    def _status(self, name: str, version: int | None) -> dict[str, Any]:
        """The status answer.

        Raises:
          ServingError: NOT_FOUND.
        """
        if not self._serves(name, version):
            which = "any versions" if version is None else f"version {version}"
            raise ServingError(Code.NOT_FOUND, f"Could not find {which} of model {name}")
        entry = {
            "version": str(self._servable.version),
            "state": "AVAILABLE",  # it is loaded before the server listens
            "status": {"error_code": Code.OK.name, "error_message": ""},
        }
        return {"model_version_status": [entry]}

    def _predict(self, name: str, version: int | None, label: str | None, body: bytes) -> bytes:
        document = json_text.parse(body)
        signature_name = json_tensors.signature_name(document)
        servable = self._find(name, version, label)
        signature = servable.signature(signature_name)
        form, feeds = json_tensors.read(document, signature.inputs)
        tensors = servable.run(signature_name, feeds, (), self._timeout_seconds)
        return json_tensors.write(form, tensors, signature.outputs)


def _version(text: str | None) -> int | None:
    """The version that a path names, if any."""
    if text is None:
        return None
    digits = text.lstrip("0") or "0"
    if len(digits) > 19 or int(digits) >= 2**63:
        raise invalid(f"Failed to convert version: {text} to numeric.")
    return int(digits)


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body, or None if the client has gone."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _inflate(body: bytes) -> bytes:
    """Uncompressed bytes; what does not inflate, or becomes too large, counts as empty."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        inflated = inflater.decompress(body, _MAX_INFLATED_BYTES)
    except zlib.error:
        return b""
    return inflated if inflater.eof else b""


async def _send(
    send: Send, status: int, body: bytes, content_type: bytes = b"application/json"
) -> None:
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode()
