"""The stages of a build and the scratch directory in which they leave their parts.

A stage is a function from parts to parts. It depends on its arguments, the options and those parts
alone, so it does not matter which process runs it, when, or whether it was begun before:

1. `Stages.tokenize`: a unit of text to ids.
2. `Stages.draw`: the ids of some units, in a pool of more, to examples, sorted by the bucket they
   go to. A bucket is a share of a shard that fits into memory; each example goes to a random one.
3. `Stages.encode`: all examples of a bucket, in random order, to a TFRecord file; those of the
   buckets of a shard, one behind the other, are the shard.

A part whose header exists is complete: all files are written under a temporary name and renamed,
the header last. So a build that was killed goes on. What a part holds depends on the identity of
the build alone; a directory of another build is refused.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf import files
from bert_tf.corpus.units import Unit
from bert_tf.errors import InputError, UnfinishedError
from bert_tf.examples.pool import Documents, Pool
from bert_tf.identity import differences, keep
from bert_tf.options import PretrainingData
from bert_tf.records import manifest
from bert_tf.records.build import write
from bert_tf.records.build.recipe import Key, Recipe
from bert_tf.records.build.summary import ExampleCounts
from bert_tf.text import vocab

_IDENTITY = "identity.json"


class Scratch:
    """Names of the parts of a build; picklable, for worker processes.

    Attributes:
      path: the directory.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def tokens(self, unit: Key) -> str:
        """Path of the ids of a unit."""
        return self._part("tokens", "{:04d}-{:06d}", *unit)

    def rows(self, run: tuple[int, int]) -> str:
        """Path of the examples of a run of units, given as (pool, run)."""
        return self._part("rows", "{:06d}-{:04d}", *run)

    def bucket(self, number: int) -> str:
        """Path of the records of a bucket, until they are part of a shard."""
        return self._part("buckets", "{:06d}.tfrecord", number)

    def shard(self, number: int) -> str:
        """Path of a finished shard."""
        return self._part("shards", "{:05d}.tfrecord", number)

    def note(self, name: str) -> str:
        """Path of what is known about the build once a stage is done."""
        return os.path.join(self.path, f"{name}.json")

    def _part(self, folder: str, pattern: str, *numbers: int) -> str:
        return os.path.join(self.path, folder, pattern.format(*numbers))


@contextlib.contextmanager
def opened(path: str, identity: dict[str, Any]) -> Iterator[Scratch]:
    """Opens a scratch directory, new or that of the same build.

    It is deleted if all ends well or the input turns out to be wrong.

    Args:
      path: of the directory.
      identity: all that the output depends on, for JSON.

    Raises:
      InputError: the directory belongs to another build that was not finished, or a build is
        at work in it.
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


def _check_identity(path: str, identity: dict[str, Any]) -> None:
    if os.path.exists(path):  # perhaps of version 0.1.0, which had other names
        with open(path, encoding="utf-8") as file:
            files.write_text(path, json.dumps(manifest.renamed(json.load(file))))
    if changes := differences(path, identity):
        raise InputError(
            f"{os.path.dirname(path)} holds the unfinished work of another build: "
            f"{'; '.join(changes)}. Run that build again to its end, or delete the directory."
        )
    keep(path, identity)


class Stages:
    """What a process needs to run any stage.

    Args:
      options: of the build.
      scratch: of the build.
    """

    def __init__(self, options: PretrainingData, scratch: Scratch) -> None:
        self._options = options
        self._scratch = scratch
        self._recipe = Recipe(options, vocab.from_file(options.vocab_file))
        self._pool: tuple[tuple[Key, ...], Pool] | None = None

    def tokenize(self, key: Key, unit: Unit) -> dict[str, Any]:
        """Stage 1; returns the header of the part."""
        documents, counts = self._recipe.tokenize(unit)
        header = {
            "key": key,
            "counts": dataclasses.asdict(counts),
            "num_tokens": len(documents.ids),
            "num_documents": len(documents.document_ends),
        }
        arrays = [each for each in documents if each is not None]
        write_arrays(self._scratch.tokens(key), header, *arrays)
        return header

    def draw(
        self,
        pool_keys: tuple[Key, ...],
        run: tuple[int, int],
        keys: Sequence[Key],
        num_buckets: int,
    ) -> dict[str, Any]:
        """Stage 2; returns the header of the part.

        Args:
          pool_keys: the units of the pool.
          run: (number of the pool, number of the run in it).
          keys: the units of the run, in the order of the pool.
          num_buckets: of the whole build.
        """
        pool, units, counts = self._loaded(pool_keys), [], ExampleCounts()
        for key in keys:
            part = pool_keys.index(key)
            rows, ends, counts_of_unit = self._recipe.draw(pool, part, key, num_buckets)
            units.append((rows, ends))
            counts += counts_of_unit
        header = {"run": run, "counts": dataclasses.asdict(counts)}
        write_rows(self._scratch.rows(run), header, units)
        return header

    def _loaded(self, pool_keys: tuple[Key, ...]) -> Pool:
        """The pool of some units; the last one is kept, for the next task may need it."""
        if self._pool is None or self._pool[0] != pool_keys:
            pool = self._recipe.pool([self._documents(key) for key in pool_keys])
            self._pool = pool_keys, pool
        return self._pool[1]

    def _documents(self, key: Key) -> Documents:
        with open(self._scratch.tokens(key), "rb") as file:
            ids, sentence_ends, document_ends = (np.load(file) for _ in range(3))
            starts = np.load(file) if self._options.has_group_starts else None
            return Documents(ids, sentence_ends, document_ends, starts)

    def encode(
        self, bucket: int, runs: list[tuple[int, int]], num_buckets: int, max_rows: int
    ) -> tuple[str, int]:
        """Stage 3; returns path and number of records of the TFRecord file made.

        Args:
          bucket: its number.
          runs: (pool, run), all of the build.
          num_buckets: of the whole build.
          max_rows: no bucket has more.
        """
        path = self._scratch.bucket(bucket)
        rows, count = np.empty(max_rows, self._recipe.row_dtype), 0
        for run in runs:
            count += read_rows(self._scratch.rows(run), rows[count:], bucket, num_buckets)
        return path, write.write_records(path, self._recipe.encode(rows[:count], bucket))


def write_arrays(path: str, header: dict[str, Any], *arrays: npt.NDArray) -> None:
    """Writes arrays as one part; `np.load` of the opened file gives them back one by one.

    `header` is for JSON; `header(path)` gives it back.
    """
    with files.replacing(path, flushes=False) as temporary, open(temporary, "wb") as file:
        for array in arrays:
            np.save(file, array)
    files.write_text(f"{path}.json", json.dumps(header), flushes=False)


def write_rows(
    path: str, header: dict[str, Any], units: list[tuple[npt.NDArray, npt.NDArray[np.int64]]]
) -> None:
    """Writes the rows of several units as one part, sorted by bucket.

    Args:
      path: of the part.
      header: for JSON.
      units: rows [n] of each, sorted by bucket, and [buckets], where in them each bucket ends; in
        every bucket the units follow one another.
    """
    ends = np.array([[0, *ends] for _, ends in units], "<i8")  # [units, buckets + 1]
    with files.replacing(path, flushes=False) as temporary, open(temporary, "wb") as file:
        file.write(ends.sum(axis=0).tobytes())
        for start, end in zip(ends.T[:-1].tolist(), ends.T[1:].tolist(), strict=True):
            for (rows, _), first, last in zip(units, start, end, strict=True):
                file.write(rows[first:last].view(np.uint8).data)
    files.write_text(f"{path}.json", json.dumps(header), flushes=False)


def read_rows(path: str, rows: npt.NDArray, bucket: int, num_buckets: int) -> int:
    """Reads the rows of one bucket, or as many of them as there is room for.

    Args:
      path: of the part.
      rows: [n] to read into, from its start.
      bucket: its number.
      num_buckets: of the whole build.

    Returns:
      The number of rows read.
    """
    with open(path, "rb") as file:
        file.seek(8 * bucket)
        start, end = np.fromfile(file, "<i8", 2).tolist()
        file.seek(8 * (num_buckets + 1) + start * rows.dtype.itemsize)
        wanted = rows[: end - start]
        file.readinto(wanted.view(np.uint8).data)
    return len(wanted)


def header(path: str) -> dict[str, Any] | None:
    """The header of a part, or None if the part is not there yet."""
    try:
        with open(f"{path}.json", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
