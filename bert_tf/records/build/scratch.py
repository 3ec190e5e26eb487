"""The scratch directory of a build: finished parts, so that a build that was killed goes on.

A part whose header exists is whole: all files are written under a temporary name and renamed, the
header last. What a part holds depends on the identity of the build alone; a directory that belongs
to another build is refused.
"""

import contextlib
import fcntl
import json
import os
import shutil

import numpy as np

from bert_tf import files
from bert_tf import identity as identity_lib
from bert_tf.errors import InputError, UnfinishedError
from bert_tf.records import manifest

_IDENTITY = "identity.json"


class Scratch:
    """Names of the parts of a build; picklable, for worker processes.

    Attributes:
      path: str, the directory.
    """

    def __init__(self, path):
        self.path = path

    def tokens(self, unit):
        """Path of the ids of a unit, given as (input, number)."""
        return self._part("tokens", "{:04d}-{:06d}", *unit)

    def rows(self, run):
        """Path of the examples of a run of units, given as (pool, run)."""
        return self._part("rows", "{:06d}-{:04d}", *run)

    def bucket(self, number):
        """Path of the records of a bucket, until they are part of a shard."""
        return self._part("buckets", "{:06d}.tfrecord", number)

    def shard(self, number):
        """Path of a finished shard."""
        return self._part("shards", "{:05d}.tfrecord", number)

    def note(self, name):
        """Path of what is known about the build once a stage is done."""
        return os.path.join(self.path, f"{name}.json")

    def _part(self, folder, pattern, *numbers):
        return os.path.join(self.path, folder, pattern.format(*numbers))


@contextlib.contextmanager
def opened(path, identity):
    """Opens a scratch directory, new or that of the same build.

    It is deleted if all ends well or the input turns out to be wrong.

    Args:
      path: str.
      identity: dict for JSON, all that the output depends on.

    Yields:
      `Scratch`.

    Raises:
      InputError: the directory belongs to another build that was not finished, or a build is at
        work in it.
    """
    for folder in ("tokens", "rows", "buckets", "shards"):
        os.makedirs(os.path.join(path, folder), exist_ok=True)
    with open(os.path.join(path, "lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Another process is building the same files: {path} is locked. Wait for it, or "
                "give another --output_file."
            ) from None
        _check_identity(os.path.join(path, _IDENTITY), identity)
        try:
            yield Scratch(path)
        except UnfinishedError:
            raise
        except InputError:
            shutil.rmtree(path)  # it was made from input that has to change
            raise
        shutil.rmtree(path)


def _check_identity(path, identity):
    if os.path.exists(path):  # perhaps of version 0.1.0, which had other names
        with open(path, encoding="utf-8") as file:
            files.write_text(path, json.dumps(manifest.renamed(json.load(file))))
    if differences := identity_lib.differences(path, identity):
        raise InputError(
            f"{os.path.dirname(path)} holds the unfinished work of another build: "
            f"{'; '.join(differences)}. Run that build again to its end, or delete the directory."
        )
    identity_lib.keep(path, identity)


def write_arrays(path, header, *arrays):
    """Writes arrays as one part; `header` of the same path gives its header back.

    Args:
      path: str.
      header: dict for JSON.
      arrays: NumPy arrays; `np.load` of the opened file gives them back one by one.
    """
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        for array in arrays:
            np.save(file, array)
    files.write_text(f"{path}.json", json.dumps(header))


def write_rows(path, header, units):
    """Writes the rows of several units as one part, sorted by bucket.

    Args:
      path: str.
      header: dict for JSON.
      units: list of (structured array [n], int64 [buckets]), rows sorted by bucket and where in
        them each bucket ends; in every bucket they follow one another.
    """
    ends = np.array([[0, *ends] for _, ends in units], "<i8")  # [units, buckets + 1]
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(ends.sum(axis=0).tobytes())
        for start, end in zip(ends.T[:-1].tolist(), ends.T[1:].tolist(), strict=True):
            for (rows, _), first, last in zip(units, start, end, strict=True):
                file.write(rows[first:last].view(np.uint8))
    files.write_text(f"{path}.json", json.dumps(header))


def read_rows(path, rows, bucket, num_buckets):
    """Reads the rows of one bucket, or of them as many as there is room for.

    Args:
      path: str.
      rows: structured array [n] to read into, from its start.
      bucket: int.
      num_buckets: int, of the whole build.

    Returns:
      int, the number of rows read.
    """
    with open(path, "rb") as file:
        file.seek(8 * bucket)
        start, end = np.fromfile(file, "<i8", 2).tolist()
        file.seek(8 * (num_buckets + 1) + start * rows.dtype.itemsize)
        wanted = rows[: end - start]
        file.readinto(wanted.view(np.uint8))
    return len(wanted)


def header(path):
    """The header of a part, or None if the part is not there yet."""
    try:
        with open(f"{path}.json", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
