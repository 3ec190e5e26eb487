"""One file over HTTP: resumed where it broke off, and checked before it is taken for whole.

Our own code and not a library's: huggingface_hub and pooch do not check, resume and explain as
docs/presets.md promises; the reasons stand there.
"""

import base64
import dataclasses
import hashlib
import os
import shutil
import time
import urllib.parse

import google_crc32c
import requests

from bert_tf.errors import InputError, UnfinishedError
from bert_tf.progress import Progress

WAITS = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before the next try, after one that brought nothing
_TRIES_WITHOUT_CONNECTION = 2  # where there is no network, waiting longer does not help
_LONGEST_WAIT = 60.0  # whatever Retry-After says
_TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two pieces
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers that another try may better
_MAX_REDIRECTS = 8
_PIECE = 1 << 16  # bytes; what a broken connection loses at the most
_SHOWN_FROM = 1_000_000  # bytes; smaller files pass without a progress bar


class UnreachableError(UnfinishedError):
    """The host gave no whole answer: no network, or it is down."""


class RefusedError(InputError):
    """The host answered that there is no such file, or not for us.

    Attributes:
      status: int, of HTTP: 401, 403, 404 or another.
    """

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class _PassingError(Exception):
    """A failure that another try may better."""

    def __init__(self, reason, is_connected=True, wait=None):
        super().__init__(reason)
        self.is_connected, self.wait = is_connected, wait


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a file comes from and what is known of it beforehand.

    Attributes:
      url: str.
      num_bytes: int, or None where only the answer tells it.
      digests: dict from a name of `DIGESTS` to the hexadecimal digest of the whole file.
      token: str or None, shown to the host of `url` and to no other.
    """

    url: str
    num_bytes: int | None = None
    digests: dict = dataclasses.field(default_factory=dict)
    token: str | None = None


def download(source, path):
    """Fetches a file to `path`; until it is whole and checked it is `path`.part.

    What an earlier call left in `path`.part is gone on with, and what it has brought to `path` is
    not fetched again if it has the digests of `source`. Should the whole then have a wrong
    digest, the file has changed in between, and is asked for once more from its start.

    Args:
      source: `Source`.
      path: str; its directory exists.

    Returns:
      str, the sha256 of the file.

    Raises:
      UnreachableError: no connection, or none that lasted.
      RefusedError: the host has no such file.
      InputError: wrong length or digest, a redirect to plain http, or no space.
    """
    part = f"{path}.part"
    if source.digests and os.path.isfile(path):
        found = digests(path, {"sha256", *source.digests})
        if not _problem(path, found, source):
            return found["sha256"]
    while True:
        is_resumed = _size(part) > 0
        known = _Transfer(source, part).run()
        found = digests(part, {"sha256", *known.digests})
        problem = _problem(part, found, known)
        if not problem:
            os.replace(part, path)
            return found["sha256"]
        os.remove(part)
        if not is_resumed:
            raise InputError(
                f"{source.url} did not arrive as it was sent: {problem}. Nothing of it is kept; "
                "start again, and if it fails again, something on the way changes files."
            )


def digests(path, names):
    """Digests of a file, in one pass over it.

    Args:
      path: str.
      names: from `DIGESTS`.

    Returns:
      dict from name to hexadecimal str.
    """
    num_bytes = os.path.getsize(path)
    hashes = {name: DIGESTS[name](num_bytes) for name in sorted(names)}
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            for each in hashes.values():
                each.update(piece)
    return {name: each.digest().hex() for name, each in hashes.items()}


# From a name to a function of the file's size that gives an object with update() and digest().
# "git" is the name that git gives a file, which hosts of git repositories list.
DIGESTS = {
    "sha256": lambda num_bytes: hashlib.sha256(),
    "md5": lambda num_bytes: hashlib.md5(usedforsecurity=False),
    "crc32c": lambda num_bytes: google_crc32c.Checksum(),
    "git": lambda num_bytes: hashlib.sha1(b"blob %d\0" % num_bytes, usedforsecurity=False),
}


def _problem(part, found, known):
    """What is wrong with a finished file, or None."""
    if known.num_bytes not in (None, _size(part)):
        return f"{_size(part)} bytes, {known.num_bytes} were wanted"
    for name, wanted in known.digests.items():
        if found[name] != wanted:
            return f"its {name} is {found[name]}, {wanted} was wanted"
    return None


class _Transfer:
    """The tries that bring one file into `part`."""

    def __init__(self, source, part):
        self._source, self._part = source, part
        self._shown, self._position = None, 0

    def run(self):
        """Returns `Source` with what the host told of length and digests besides."""
        tries = 0
        try:
            while True:
                before = _size(self._part)
                try:
                    return self._attempt()
                except _PassingError as error:
                    tries = 1 if _size(self._part) > before else tries + 1
                    if tries > (len(WAITS) if error.is_connected else _TRIES_WITHOUT_CONNECTION):
                        raise UnreachableError(self._kept(error)) from None
                    wait = WAITS[tries - 1] if error.wait is None else error.wait
                    time.sleep(min(wait, _LONGEST_WAIT))
        except KeyboardInterrupt:
            raise UnfinishedError(self._kept("interrupted")) from None
        finally:
            if self._shown:
                self._shown.close()

    def _kept(self, reason):
        message = f"{self._source.url}: {reason}."
        if kept := _size(self._part):
            message += f" {kept} bytes are kept; the same command goes on behind them."
        return message

    def _attempt(self):
        start = _size(self._part)
        if self._source.num_bytes is not None:
            if start == self._source.num_bytes:
                return self._source
            start = 0 if start > self._source.num_bytes else start
        headers = {"Range": f"bytes={start}-"} if start else {}
        try:
            with _answer(self._source, headers) as response:
                if response.status_code == 416:  # behind its end: what is there is another file
                    os.remove(self._part)
                    raise _PassingError("it has become shorter", wait=0.0)
                start = _start(response, start)
                known = _told(response, self._source)
                self._show(known.num_bytes, start)
                self._write(response, start, known.num_bytes)
        except requests.RequestException as error:
            if isinstance(error, ValueError):
                raise InputError(f"{self._source.url} is no address: {error}.") from None
            is_connected = not isinstance(error, requests.exceptions.ConnectionError)
            raise _PassingError(_reason(error), is_connected) from None
        if known.num_bytes is not None and _size(self._part) < known.num_bytes:
            raise _PassingError(
                f"it broke off after {_size(self._part)} of {known.num_bytes} bytes"
            )
        return known

    def _write(self, response, start, num_bytes):
        directory = os.path.dirname(os.path.abspath(self._part))
        if num_bytes is not None:
            require_space(directory, num_bytes - start, self._source.url)
        # Otherwise it would raise in place of giving what there is; `_attempt` sees to the length.
        response.raw.enforce_content_length = num_bytes is None
        try:
            with open(self._part, "ab" if start else "wb") as file:
                for piece in response.iter_content(_PIECE):
                    file.write(piece)
                    self._position += len(piece)
                    if self._shown:
                        self._shown.advance(len(piece))
        except requests.RequestException:  # an OSError too, but the network's
            raise
        except OSError as error:
            raise InputError(f"{self._part} cannot be written: {error}.") from None

    def _show(self, num_bytes, start):
        """Opens the progress bar, or sets it to where this try starts."""
        if self._shown:
            self._shown.advance(start - self._position)
        elif num_bytes is not None and num_bytes >= _SHOWN_FROM:
            name = urllib.parse.urlsplit(self._source.url).path.rpartition("/")[2]
            self._shown = Progress(name, num_bytes, "bytes", done=start, unit_scale=True)
        self._position = start


def require_space(directory, num_bytes, what):
    """Refuses to start what the disk cannot hold.

    Raises:
      InputError: fewer bytes are free.
    """
    free = shutil.disk_usage(directory).free
    if num_bytes > free:
        raise InputError(
            f"{what} needs {num_bytes} bytes in {directory}, where {free} are free. Make room, or "
            "name another cache with the environment variable BERT_TF_CACHE."
        )


def _answer(source, headers):
    """The open answer behind all redirects; what is no file is raised."""
    url = source.url
    headers = {"Accept-Encoding": "identity", **headers}  # lengths are those of the file
    with requests.Session() as session:
        for _ in range(_MAX_REDIRECTS):
            if not _is_safe(url, source.url):
                raise InputError(
                    f"{source.url} redirects to {url}, which is not encrypted; refused."
                )
            token = source.token if _origin(url) == _origin(source.url) else None
            response = session.get(
                url,
                headers=headers,
                auth=_Bearer(token),
                stream=True,
                timeout=_TIMEOUT,
                allow_redirects=False,
            )
            if not response.is_redirect:
                _raise_for_status(response, source.url)
                return response
            url = urllib.parse.urljoin(url, response.headers["location"])
            response.close()
    raise InputError(f"{source.url} redirects more than {_MAX_REDIRECTS} times.")


class _Bearer(requests.auth.AuthBase):
    """Shows the token, or nothing; without it, requests would show what a .netrc holds."""

    def __init__(self, token):
        self._token = token

    def __call__(self, request):
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _origin(url):
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _is_safe(url, asked):
    """Encrypted, or the very server that the user has named with a plain address."""
    return urllib.parse.urlsplit(url).scheme == "https" or _origin(url) == _origin(asked)


def _raise_for_status(response, url):
    status = response.status_code
    if status in (200, 206, 416):
        return
    response.close()
    if status in _PASSING:
        wait = response.headers.get("retry-after", "")
        raise _PassingError(f"status {status}", wait=float(wait) if wait.isdigit() else None)
    raise RefusedError(f"{url} was answered with status {status}.", status)


def _start(response, wanted):
    """The byte of the file at which the answer's content starts."""
    if response.status_code == 200:
        return 0  # the host does not resume; the whole comes anew
    start = response.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
    if response.status_code == 206 and start == str(wanted):
        return wanted
    # Not what was asked for: what is there is no start of this file.
    raise InputError(
        f"{response.url} was asked for its bytes from {wanted} on and answered with "
        f"{response.headers.get('content-range', 'no range')}."
    )


def _told(response, source):
    """`Source` with the length and the digests that the answer's headers tell."""
    num_bytes = source.num_bytes
    if num_bytes is None and "content-encoding" not in response.headers:
        if response.status_code == 206:
            num_bytes = response.headers.get("content-range", "").rpartition("/")[2]
        else:
            num_bytes = response.headers.get("content-length", "")
        num_bytes = int(num_bytes) if num_bytes.isdigit() else None
    told = {}
    for part in response.headers.get("x-goog-hash", "").split(","):
        name, _, digest = part.strip().partition("=")
        if name in ("md5", "crc32c"):
            told[name] = base64.b64decode(digest).hex()
    return dataclasses.replace(source, num_bytes=num_bytes, digests=told | source.digests)


def _reason(error):
    """What happened, without the objects that the libraries print around it."""
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke"
    cause = getattr(error.args[0], "reason", None) if error.args else None
    return str(cause or error).rpartition(": ")[2].rstrip(".")


def _size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0
