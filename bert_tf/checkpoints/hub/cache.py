"""Where models fetched by name are kept: one directory each, with a record of what arrived.

$BERT_TF_CACHE/HOST/NAME/            complete, or not there; origin.json says what it holds
$BERT_TF_CACHE/HOST/NAME.partial/    what has arrived so far; the next fetch continues it
$BERT_TF_CACHE/HOST/.NAME.lock       held while a process fetches
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import google_crc32c

from bert_tf import files
from bert_tf.errors import InputError

ROOT = "BERT_TF_CACHE"  # environment variable
PARTIAL = ".partial"  # ending of a directory that is being filled
_ORIGIN = "origin.json"

# From a name to a function of the file's size that gives an object with update() and digest().
# "git" is the name that git gives a file, which hosts of git repositories list.
DIGESTS: dict[str, Callable[[int], Any]] = {
    "sha256": lambda num_bytes: hashlib.sha256(),
    "md5": lambda num_bytes: hashlib.md5(usedforsecurity=False),
    "crc32c": lambda num_bytes: google_crc32c.Checksum(),
    "git": lambda num_bytes: hashlib.sha1(b"blob %d\0" % num_bytes, usedforsecurity=False),
}


def digests(path: str, names: Collection[str]) -> dict[str, str]:
    """Hexadecimal digests of a file by their names in `DIGESTS`, in one pass over it."""
    hashes = {name: DIGESTS[name](os.path.getsize(path)) for name in names}
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            for each in hashes.values():
                each.update(chunk)
    return {name: each.digest().hex() for name, each in hashes.items()}


def sha256(path: str) -> str:
    """The sha256 of a file, hexadecimal."""
    return digests(path, ("sha256",))["sha256"]


def verified(
    directory: str, names: Iterable[str], known: Mapping[str, str], model: str
) -> dict[str, str]:
    """sha256 by file of the files of a model, which must be those that are known.

    Raises:
      InputError: a file has another one.
    """
    sha256s = {}
    for name in names:
        sha256s[name] = sha256(os.path.join(directory, name))
        wanted = known.get(name, sha256s[name])
        if sha256s[name] != wanted:
            raise InputError(
                f"{name} of {model} is not the known one: its sha256 is {sha256s[name]}, "
                f"{wanted} was wanted."
            )
    return sha256s


def root() -> str:
    """The cache's directory: that of the environment variable, or ~/.cache/bert_tf."""
    return os.path.expanduser(os.environ.get(ROOT) or os.path.join("~", ".cache", "bert_tf"))


def require_space(directory: str, num_bytes: int, what: str) -> None:
    """Refuses to start what the disk cannot hold.

    Raises:
      InputError: fewer than `num_bytes` are free.
    """
    free = shutil.disk_usage(directory).free
    if num_bytes > free:
        raise InputError(
            f"{what} needs {num_bytes} bytes in {directory}, where {free} are free. Make room, or "
            f"name another cache with the environment variable {ROOT}."
        )


def is_recorded(directory: str) -> bool:
    """Whether a fetch into `directory` is finished."""
    return os.path.isfile(os.path.join(directory, _ORIGIN))


def recorded() -> list[str]:
    """Every directory of the cache that `is_recorded`, sorted."""
    directories = (directory for directory, _, names in os.walk(root()) if _ORIGIN in names)
    return sorted(directory for directory in directories if not directory.endswith(PARTIAL))


def record(directory: str, origin: Mapping[str, str], sha256s: Mapping[str, str]) -> None:
    """Writes what the files of a directory are, for `check`.

    Args:
      origin: what else is known, such as address and commit.
      sha256s: from the name of a file in the directory to its sha256.
    """
    entries = {name: _entry(directory, name, digest) for name, digest in sha256s.items()}
    _write(directory, {**origin, "files": entries})


def _write(directory: str, values: Mapping[str, Any]) -> None:
    text = json.dumps(values, indent=2, sort_keys=True)
    files.write_text(os.path.join(directory, _ORIGIN), f"{text}\n")


def _entry(directory: str, name: str, digest: str) -> dict[str, Any]:
    status = os.stat(os.path.join(directory, name))
    return {"sha256": digest, "num_bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def _origin(directory: str) -> dict[str, Any]:
    """What `record` has written."""
    path = os.path.join(directory, _ORIGIN)
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        for entry in values["files"].values():
            if not entry.keys() >= {"sha256", "num_bytes", "mtime_ns"}:
                raise KeyError("files")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} cannot be read ({error!r}). {_way_out(directory)}") from None
    return values


def check(directory: str, fully: bool = False) -> None:
    """Refuses a directory whose files are no longer those that arrived.

    A file with the size and the time in its record counts as unchanged. With another time, as
    after copying, its sha256 decides.

    Args:
      fully: whether to compute every sha256.

    Raises:
      InputError: a file is missing or has changed.
    """
    values = _origin(directory)
    for name, wanted in values["files"].items():
        path = os.path.join(directory, name)
        if not os.path.isfile(path):
            raise InputError(f"{path} was fetched and is missing. {_way_out(directory)}")
        if os.path.getsize(path) != wanted["num_bytes"]:
            raise InputError(
                f"{path} has {os.path.getsize(path)} bytes; {wanted['num_bytes']} had arrived. "
                f"{_way_out(directory)}"
            )
        is_touched = os.stat(path).st_mtime_ns != wanted["mtime_ns"]
        if not (fully or is_touched):
            continue
        actual = sha256(path)
        if actual != wanted["sha256"]:
            raise InputError(
                f"{path} has changed since it arrived: its sha256 is {actual}, "
                f"{wanted['sha256']} was recorded. {_way_out(directory)}"
            )
        if is_touched:
            values["files"][name] = _entry(directory, name, actual)
            with contextlib.suppress(OSError):  # the cache may be read-only
                _write(directory, values)


def _way_out(directory: str) -> str:
    return f"Remove {directory}; the next run fetches it again."


@contextlib.contextmanager
def locked(directory: str) -> Iterator[None]:
    """Lets one process at a time fetch into `directory`; the others wait.

    Raises:
      InputError: the cache cannot be written.
    """
    parent, name = os.path.split(directory)
    try:
        os.makedirs(parent, exist_ok=True)
        lock = open(os.path.join(parent, f".{name}.lock"), "w")  # noqa: SIM115
    except OSError as error:
        raise InputError(
            f"The cache {root()} cannot be written: {error}. Name another one with the environment "
            f"variable {ROOT}."
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"Waiting for another process, which fetches {name}."
            print(message, file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
