"""The page as an ASGI application: `/`, its assets, and the names of the models.

TensorFlow Serving has nothing outside of `/v1/` but its monitoring page: no client of it asks for
these paths.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from serving.page import assets

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_MODELS = "/models.json"
# Nothing from elsewhere is loaded, asked or embedded in, and no text can become code.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
_NOT_FOUND = (
    b"<html><head><title>404 Not Found</title></head>"
    b"<body><h1>Not Found</h1><p>The API is under /v1/models/.</p></body></html>"
)


class PageApplication:
    """ASGI application for what is outside of `/v1/`.

    Args:
      model_names: gives the names of the models that the server has at the moment. TensorFlow
        Serving's API has no list of them.
    """

    def __init__(self, model_names: Callable[[], Iterable[str]]) -> None:
        self._model_names = model_names
        self._assets = assets.load()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers GET and HEAD; all else is not found, as without the page. No body is read."""
        asset = None
        if scope["method"] in ("GET", "HEAD"):
            asset = self._asset(scope["path"])
        status = 200 if asset else 404
        asset = asset or assets.Asset("text/html", _NOT_FOUND)
        headers = _HEADERS | {
            "content-type": asset.content_type,
            "content-length": str(len(asset.body)),
        }
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        body = b"" if scope["method"] == "HEAD" else asset.body
        await send({"type": "http.response.body", "body": body})

    def _asset(self, path: str) -> assets.Asset | None:
        if path == _MODELS:
            names = sorted(self._model_names())
            return assets.Asset("application/json", json.dumps({"models": names}).encode())
        return self._assets.get(path)
