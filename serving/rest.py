"""The REST API as an ASGI application: paths, verbs, status codes and bodies."""

import asyncio
import json
import logging
import re
import urllib.parse
import zlib

from serving import json_tensors, json_text
from serving.status import HTTP_STATUS, Code, ServingError, invalid

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
    """ASGI application over a `catalogue.Catalogue`.

    Requests are decoded, run and encoded in `executor`, so the event loop never waits.
    """

    def __init__(self, catalogue, executor):
        self._catalogue = catalogue
        self._executor = executor

    async def __call__(self, scope, receive, send):
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

    def _answer(self, method, path, body, gzipped):
        try:
            return 200, self._dispatch(method, path, _inflate(body) if gzipped else body)
        except ServingError as error:
            return HTTP_STATUS[error.code], json_text.error_body(error.message)
        except Exception:
            logging.exception("%s %s failed", method, path)
            return 500, json_text.error_body("Internal error; the server's log has the details.")

    def _dispatch(self, method, path, body):
        pattern = {"POST": _PREDICTION, "GET": _STATUS}.get(method)
        match = pattern and pattern.fullmatch(path)
        if not match:
            raise invalid(f"Malformed request: {method} {path}")
        name, version, label = _model(*match.groups()[:3])
        action = match[4]
        if method == "GET":
            if not name:
                raise invalid("Missing model name in request.")
            # The pattern takes any case, but only lower case means something; see below too.
            if action == "metadata":
                return _dump(self._catalogue.find(name, version, label).metadata())
            return _dump(self._catalogue.status(name, version))  # lists all, whatever the label
        if action == "predict":
            return self._predict(name, version, label, body)
        if action in ("classify", "regress"):
            raise ServingError(
                Code.UNIMPLEMENTED, f"{action} is not supported by this server; use predict"
            )
        raise invalid(f"Malformed request: {method} {path}")

    def _predict(self, name, version, label, body):
        document = json_text.parse(body)
        signature_name = json_tensors.signature_name(document)
        servable = self._catalogue.find(name, version, label)
        signature = servable.signature(signature_name)
        form, feeds = json_tensors.read(document, signature.inputs)
        tensors = servable.predict(signature_name, feeds)
        return json_tensors.write(form, tensors, signature.outputs)


def _model(name, version, label):
    """Decodes what a path says of a model: (name or None, version or None, label or None)."""
    if version is not None:
        digits = version.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) >= 2**63:
            raise invalid(f"Failed to convert version: {version} to numeric.")
        version = int(digits)
    name, label = (part and urllib.parse.unquote(part) for part in (name, label))
    return name, version, label


async def _read_body(receive):
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _inflate(body):
    """Uncompressed bytes; what does not inflate, or to too much, counts as empty."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        inflated = inflater.decompress(body, _MAX_INFLATED_BYTES)
    except zlib.error:
        return b""
    return inflated if inflater.eof else b""


async def _send(send, status, body, content_type=b"application/json"):
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _dump(value):
    return json.dumps(value, indent=1, ensure_ascii=False).encode()
