"""The files of the page: HTML, style sheet and modules, sent as they are."""

import dataclasses
import pathlib
from collections.abc import Mapping
from importlib import resources

_CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_INDEX = "index.html"


@dataclasses.dataclass(frozen=True)
class Asset:
    """A file of the page."""

    content_type: str
    body: bytes


def load() -> Mapping[str, Asset]:
    """Reads all files of the page, by the paths that they are served at."""
    found = {}
    for file in resources.files("serving.page").joinpath("assets").iterdir():
        content_type = _CONTENT_TYPES.get(pathlib.PurePath(file.name).suffix)
        if content_type:
            path = "/" if file.name == _INDEX else f"/assets/{file.name}"
            found[path] = Asset(content_type, file.read_bytes())
    return found
