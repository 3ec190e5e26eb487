"""Files on any file system that Beam knows: local disks, gs://, hdfs:// and so on."""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems

from bert_tf import files
from bert_tf.corpus import inputs
from bert_tf.errors import InputError
from bert_tf.records import manifest

_BLOCK_BYTES = 2**20


def scheme(path: str) -> str | None:
    """The name of another file system, as gs in gs://bucket/name; None for local disks.

    Raises:
      InputError: the installed Beam does not know that file system.
    """
    name = FileSystems.get_scheme(path)
    if name is not None:
        try:
            FileSystems.get_filesystem(path)
        except (ValueError, BeamIOError) as error:
            raise InputError(f"{path} is on a file system that Beam cannot use: {error}") from None
    return name


def is_remote(path: str) -> bool:
    """Whether a path is on another file system than the local disks."""
    return scheme(path) is not None


def find(patterns: str, what: str = "--input_file") -> list[str]:
    """Lists the input files; of other file systems, files and globs, without empty ones.

    Raises:
      InputError: see `inputs.find`.
    """
    parts = list(filter(None, (part.strip() for part in patterns.split(","))))
    remote = list(filter(is_remote, parts))
    local = [pattern for pattern in parts if pattern not in remote]
    paths = inputs.find(",".join(local), what) if local or not remote else []
    for pattern in remote:
        matches = FileSystems.match([pattern])[0].metadata_list
        not_empty = [each.path for each in matches if each.size_in_bytes]
        if not not_empty:
            raise InputError(
                f"{what}: {pattern!r} matches {len(matches)} files, all of them empty. "
                "Directories are searched on local disks only; elsewhere name files or globs."
            )
        paths += not_empty
    return sorted(set(paths))


def read(path: str) -> IO[bytes]:
    """Opens a file to read its bytes, compressed or not."""
    return FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)


def create(path: str) -> IO[bytes]:
    """Opens a new file to write bytes to."""
    return FileSystems.create(path, compression_type=CompressionTypes.UNCOMPRESSED)


@contextlib.contextmanager
def local_copy(path: str) -> Iterator[str]:
    """Yields a path on this machine with the same content; messages keep the other one.

    Raises:
      InputError: what the block raises; or this machine has no such file.
    """
    if not is_remote(path):
        if not os.path.exists(path):
            raise InputError(
                f"{path} does not exist on a machine that was to read it. Put it where this one "
                "and every worker find it: on a mounted disk, gs://, hdfs:// or the like."
            )
        yield path
        return
    with tempfile.TemporaryDirectory() as directory:
        local = os.path.join(directory, os.path.basename(path))
        _download(path, local)
        try:
            yield local
        except InputError as error:
            raise InputError(str(error).replace(local, path)) from None


def _download(path: str, local: str) -> None:
    with read(path) as source, open(local, "wb") as target:
        shutil.copyfileobj(source, target, _BLOCK_BYTES)


def digest(path: str) -> tuple[int, str]:
    """The length and hexadecimal sha256 of a file."""
    sha256, num_bytes = hashlib.sha256(), 0
    with read(path) as file:
        while block := file.read(_BLOCK_BYTES):
            sha256.update(block)
            num_bytes += len(block)
    return num_bytes, sha256.hexdigest()


def concatenate(sources: Iterable[str], path: str) -> tuple[int, str]:
    """Joins files to one; returns its length and hexadecimal sha256."""
    sha256, num_bytes = hashlib.sha256(), 0
    with create(path) as target:
        for each in sources:
            with read(each) as source:
                while block := source.read(_BLOCK_BYTES):
                    target.write(block)
                    sha256.update(block)
                    num_bytes += len(block)
    return num_bytes, sha256.hexdigest()


@contextlib.contextmanager
def scratch(path: str) -> Iterator[str]:
    """Makes a directory and deletes it at the end, also after an error."""
    FileSystems.mkdirs(path)
    try:
        yield path
    finally:
        if is_remote(path):
            FileSystems.delete([f"{path}/"])  # object stores know a directory by its last "/"
        else:
            shutil.rmtree(path)


def move(source: str, path: str) -> None:
    """Moves a finished file to its place on the same file system, replacing one that is there."""
    if not is_remote(path):
        with files.replacing(path) as temporary:
            shutil.move(source, temporary)
        return
    if FileSystems.exists(path):
        FileSystems.delete([path])
    FileSystems.rename([source], [path])


def add_to_manifest(paths: list[str], *build: Any) -> None:
    """`manifest.add` for paths on any file system; `build` are its other arguments."""
    with tempfile.TemporaryDirectory() as directory:
        local_of: dict[str, str] = {}
        for path in filter(is_remote, paths):
            parent = FileSystems.split(path)[0]
            if parent not in local_of:
                local_of[parent] = os.path.join(directory, str(len(local_of)))
                os.makedirs(local_of[parent])
                known = FileSystems.join(parent, manifest.NAME)
                if FileSystems.exists(known):
                    _download(known, os.path.join(local_of[parent], manifest.NAME))
        manifest.add([_moved(path, local_of) for path in paths], *build)
        for parent, local in local_of.items():
            with open(os.path.join(local, manifest.NAME), "rb") as source:
                with create(FileSystems.join(parent, manifest.NAME)) as target:
                    shutil.copyfileobj(source, target)


def _moved(path: str, local_of: dict[str, str]) -> str:
    parent, name = FileSystems.split(path) if is_remote(path) else ("", path)
    return os.path.join(local_of[parent], name) if parent in local_of else path
