"""Where models fetched by name are kept: one directory each, with a record of what arrived.

$BERT_TF_CACHE/HOST/NAME/            whole, or not there; origin.json says what it holds
$BERT_TF_CACHE/HOST/NAME.partial/    what has arrived so far, gone on with by the next fetch
$BERT_TF_CACHE/HOST/.NAME.lock       held while a process fetches
"""

import contextlib
import fcntl
import json
import os
import sys

from bert_tf import files
from bert_tf.checkpoints.hub import download
from bert_tf.errors import InputError

ROOT = "BERT_TF_CACHE"  # environment variable
PARTIAL = ".partial"  # ending of a directory that is being filled
_ORIGIN = "origin.json"


def root():
    """The cache's directory: that of the environment variable, or ~/.cache/bert_tf."""
    return os.path.expanduser(os.environ.get(ROOT) or os.path.join("~", ".cache", "bert_tf"))


def is_recorded(directory):
    """Whether a fetch into `directory` has been finished."""
    return os.path.isfile(os.path.join(directory, _ORIGIN))


def recorded():
    """Every directory of the cache that `is_recorded`, sorted."""
    found = (place for place, _, names in os.walk(root()) if _ORIGIN in names)
    return sorted(place for place in found if not place.endswith(PARTIAL))


def record(directory, origin, sha256s):
    """Writes what the files of a directory are, for `check`.

    Args:
      directory: str.
      origin: dict of what else is known, e.g. address and revision.
      sha256s: dict from the name of a file in the directory to its sha256.
    """
    entries = {name: _entry(directory, name, sha256) for name, sha256 in sha256s.items()}
    _write(directory, origin | {"files": entries})


def _write(directory, values):
    text = json.dumps(values, indent=2, sort_keys=True)
    files.write_text(os.path.join(directory, _ORIGIN), f"{text}\n")


def _entry(directory, name, sha256):
    status = os.stat(os.path.join(directory, name))
    return {"sha256": sha256, "num_bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def origin(directory):
    """What `record` has written: dict with "files" and what was given.

    Raises:
      InputError: the record is damaged.
    """
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


def check(directory, fully=False):
    """Refuses a directory whose files are no longer those that arrived.

    A file with the size and the time of its record is taken for unchanged; with another time, as
    after copying, its sha256 decides.

    Args:
      directory: str, one that `is_recorded`.
      fully: bool, compute every sha256 anew.

    Raises:
      InputError: a file is gone, or another.
    """
    values = origin(directory)
    for name, wanted in values["files"].items():
        path = os.path.join(directory, name)
        if not os.path.isfile(path):
            raise InputError(f"{path} was fetched and is gone. {_way_out(directory)}")
        if os.path.getsize(path) != wanted["num_bytes"]:
            raise InputError(
                f"{path} has {os.path.getsize(path)} bytes; {wanted['num_bytes']} had arrived. "
                f"{_way_out(directory)}"
            )
        is_touched = os.stat(path).st_mtime_ns != wanted["mtime_ns"]
        if not (fully or is_touched):
            continue
        found = download.digests(path, {"sha256"})["sha256"]
        if found != wanted["sha256"]:
            raise InputError(
                f"{path} is not what had arrived: its sha256 is {found}, {wanted['sha256']} was "
                f"recorded. {_way_out(directory)}"
            )
        if is_touched:
            values["files"][name] = _entry(directory, name, found)
            with contextlib.suppress(OSError):  # a cache that others only read stays as it is
                _write(directory, values)


def _way_out(directory):
    return f"Remove {directory}; the next run fetches it anew."


@contextlib.contextmanager
def locked(directory):
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
            print(f"Waiting for another process that fetches {name}.", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
