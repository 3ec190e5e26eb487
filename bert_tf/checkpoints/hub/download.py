"""One file over HTTP: resumed where it broke off, and checked before it counts as complete.

huggingface_hub makes the connections and knows the user's log-in. Its own downloads start from
the beginning in the next run and are not checked against a digest (docs/presets.md), so what has
arrived is kept and checked here. This module loads that library: import it only to fetch.
"""

import base64
import contextlib
import dataclasses
import os
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import httpx2
from huggingface_hub import get_session, hf_raise_for_status
from huggingface_hub.errors import HfHubHTTPError

from bert_tf.checkpoints.hub.cache import digests, require_space
from bert_tf.errors import InputError, UnfinishedError
from bert_tf.progress import Progress

WAITS = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before the next try, after one that brought nothing
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)  # seconds to connect, and between two chunks
_TRIES_WITHOUT_CONNECTION = 2  # where there is no network, waiting longer does not help
_LONGEST_WAIT = 60.0  # seconds, whatever Retry-After says
_BUSY = (408, 425, 429, 500, 502, 503, 504)  # statuses that may be gone in the next try
_MAX_REDIRECTS = 8
_SHOWN_FROM = 1_000_000  # bytes; smaller files get no progress bar
_OFFLINE = ("BERT_TF_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")  # environment variables

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a file comes from and what is known of it.

    Attributes:
      num_bytes: None if only the answer says it.
      digests: hexadecimal digests of the complete file, by a name of `cache.DIGESTS`.
      headers: of the request, with the log-in; a redirect to another host drops that.
    """

    url: str
    num_bytes: int | None = None
    digests: Mapping[str, str] = dataclasses.field(default_factory=dict)
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


def download(source: Source, path: str) -> str:
    """Fetches a file to `path`; until it is complete and checked it is `path`.part.

    A `path`.part that an earlier call left is continued. If the result has a wrong digest, the
    file has changed in between, and is fetched once more from its start. A complete `path` with
    the digests of `source` is not fetched again.

    Returns:
      The sha256 of the file.

    Raises:
      InputError: wrong length or digest, a redirect to plain http, or no space.
      ConnectionError, HfHubHTTPError, UnfinishedError: see `repeated`.
    """
    part = f"{path}.part"
    if source.digests and os.path.isfile(path):
        actual = digests(path, {"sha256", *source.digests})
        if not _problem(path, actual, source):
            return actual["sha256"]
    while True:
        is_resumed = _size(part) > 0
        wanted = repeated(lambda: _attempt(source, part), source.url, lambda: _size(part))
        actual = digests(part, {"sha256", *wanted.digests})
        problem = _problem(part, actual, wanted)
        if not problem:
            os.replace(part, path)
            return actual["sha256"]
        os.remove(part)
        if not is_resumed:
            raise InputError(
                f"{source.url} did not arrive as it was sent: {problem}. Nothing of it is kept. "
                "Start again; if it fails again, something on the way changes files."
            )


def _problem(path: str, actual: Mapping[str, str], wanted: Source) -> str | None:
    """What is wrong with a file that should be complete, or None."""
    if wanted.num_bytes not in (None, _size(path)):
        return f"{_size(path)} bytes, {wanted.num_bytes} were wanted"
    for name, digest in wanted.digests.items():
        if actual[name] != digest:
            return f"its {name} is {actual[name]}, {digest} was wanted"
    return None


def repeated(attempt: Callable[[], T], url: str, kept: Callable[[], int] = lambda: 0) -> T:
    """Returns what `attempt` returns; repeats it while the host is busy or the connection breaks.

    Args:
      url: for the messages.
      kept: the bytes that attempts have brought so far; the failed attempts since the last one
        that brought some are counted.

    Raises:
      ConnectionError: too many attempts failed, or the environment forbids using the network.
      HfHubHTTPError: the host answered with a status that another attempt would not change.
      UnfinishedError: interrupted from the keyboard.
    """

    def message(reason: str) -> str:
        advice = f" {kept()} bytes are kept; the same command continues after them."
        return f"{url}: {reason}.{advice if kept() else ''}"

    for name in _OFFLINE:
        if os.environ.get(name, "").lower() in ("1", "true", "yes", "on"):
            raise ConnectionError(f"The environment variable {name} forbids using the network.")
    failures = 0
    while True:
        before = kept()
        try:
            return attempt()
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise InputError(f"{url} is not an address: {error}") from None
        except (HfHubHTTPError, httpx2.TransportError) as error:
            reason, limit, wait = _failure(error)
            failures = 1 if kept() > before else failures + 1
            if failures > limit:
                raise ConnectionError(message(reason)) from None
        except KeyboardInterrupt:
            raise UnfinishedError(message("interrupted")) from None
        time.sleep(min(WAITS[failures - 1] if wait is None else wait, _LONGEST_WAIT))


def _failure(error: httpx2.HTTPError) -> tuple[str, int, float | None]:
    """What has failed, how often it may, and the seconds that the host asks to wait, if any."""
    if not isinstance(error, HfHubHTTPError):
        is_connected = not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
        limit = len(WAITS) if is_connected else _TRIES_WITHOUT_CONNECTION
        return str(error).rstrip(".") or type(error).__name__, limit, None
    status = error.response.status_code
    if status not in _BUSY:
        raise error
    wait = error.response.headers.get("retry-after", "")
    return f"status {status}", len(WAITS), float(wait) if wait.isdigit() else None


def _attempt(source: Source, part: str) -> Source:
    """Brings the rest of a file into `part`; returns `_announced`."""
    start = _size(part)
    if source.num_bytes is not None:
        if start == source.num_bytes:
            return source
        start = 0 if start > source.num_bytes else start
    with _answer(source, start) as response:
        if response.status_code == 416 and start:  # after its end: the part is of another file
            os.remove(part)
            return _attempt(source, part)
        hf_raise_for_status(response)
        start = _start(response, start)
        wanted = _announced(response, source)
        _write(response, part, start, wanted)
    if wanted.num_bytes is not None and _size(part) < wanted.num_bytes:
        raise httpx2.ReadError(f"it broke off after {_size(part)} of {wanted.num_bytes} bytes")
    return wanted


@contextlib.contextmanager
def _answer(source: Source, start: int) -> Iterator[httpx2.Response]:
    """The open answer after all redirects, of which none may lead to plain http."""
    headers = {"Accept-Encoding": "identity", **source.headers}  # lengths are those of the file
    if start:
        headers["Range"] = f"bytes={start}-"
    client = get_session()
    first = request = client.build_request("GET", source.url, headers=headers, timeout=_TIMEOUT)
    for _ in range(_MAX_REDIRECTS):
        # The server that the user has named with a plain address may be used.
        if request.url.scheme != "https" and _origin(request) != _origin(first):
            raise InputError(
                f"{source.url} redirects to {request.url}, which is not encrypted; refused."
            )
        response = client.send(request, stream=True, follow_redirects=False)
        with contextlib.closing(response):
            if response.next_request is None:
                yield response
                return
            request = response.next_request
    raise InputError(f"{source.url} redirects more than {_MAX_REDIRECTS} times.")


def _origin(request: httpx2.Request) -> tuple[str, str, int | None]:
    return request.url.scheme, request.url.host, request.url.port


def _start(response: httpx2.Response, wanted: int) -> int:
    """The byte of the file at which the answer's content starts."""
    if response.status_code == 200:
        return 0  # the host does not resume and sends the whole file
    content_range = response.headers.get("content-range", "no range")
    if content_range.removeprefix("bytes ").partition("-")[0] == str(wanted):
        return wanted
    raise InputError(
        f"{response.url} was asked for its bytes from {wanted} on, and answered {content_range}."
    )


def _announced(response: httpx2.Response, source: Source) -> Source:
    """`source` with the length and the digests that the answer's headers announce."""
    num_bytes = source.num_bytes
    if num_bytes is None and "content-encoding" not in response.headers:
        length = response.headers.get("content-length", "")
        if response.status_code == 206:
            length = response.headers["content-range"].rpartition("/")[2]
        num_bytes = int(length) if length.isdigit() else None
    announced = {}
    for entry in response.headers.get("x-goog-hash", "").split(","):
        name, _, digest = entry.strip().partition("=")
        if name in ("md5", "crc32c"):
            announced[name] = base64.b64decode(digest).hex()
    return dataclasses.replace(source, num_bytes=num_bytes, digests={**announced, **source.digests})


def _write(response: httpx2.Response, part: str, start: int, wanted: Source) -> None:
    try:
        with contextlib.ExitStack() as stack:
            num_bytes, bar = wanted.num_bytes or 0, None
            require_space(os.path.dirname(part), num_bytes - start, wanted.url)
            file = stack.enter_context(open(part, "ab" if start else "wb"))
            for chunk in response.iter_bytes():
                file.write(chunk)
                if not bar and num_bytes >= _SHOWN_FROM:
                    name = urllib.parse.urlsplit(wanted.url).path.rpartition("/")[2]
                    bar = Progress(name, num_bytes, "bytes", done=start)
                    stack.callback(bar.close)
                if bar:
                    bar.advance(len(chunk))
    except OSError as error:
        raise InputError(f"{part} cannot be written: {error}.") from None


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0
