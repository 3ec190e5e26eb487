"""Local files: checked before work starts, written completely or not at all."""

import contextlib
import errno
import fcntl
import glob
import hashlib
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator

from bert_tf.errors import DiskFullError, InputError

StrPath = str | os.PathLike[str]

_FULL = (errno.ENOSPC, errno.EDQUOT)
# What TensorFlow, safetensors, HDF5 and NumPy say where they do not pass the number on.
_SAYS_FULL = re.compile(
    "|".join(
        [*(re.escape(os.strerror(number)) for number in _FULL)]
        + [rf"errno = {number}\b" for number in _FULL]
        + [r"\d+ requested and \d+ written"]
    )
)
_RANDOM = "[a-z0-9_]{8}"  # what `tempfile` adds to a name


def require_file(path: StrPath, what: str) -> None:
    """Checks that `path` names a file that is not empty.

    Args:
      what: what error messages call it, e.g. `"--vocab_file"`.

    Raises:
      InputError: it is missing, a directory, or empty.
    """
    if not path:
        raise InputError(f"{what} is not given; it must name a file.")
    if os.path.isdir(path):
        raise InputError(f"{what}={path} is a directory; a file was wanted.")
    if not os.path.exists(path):
        raise InputError(f"{what}={path} does not exist. {_nearest_existing(path)}")
    if os.path.getsize(path) == 0:
        raise InputError(f"{what}={path} is empty (0 bytes).")


def _nearest_existing(path: StrPath) -> str:
    """Says how much of the path exists, so that a typing error is easy to see."""
    parent = pathlib.Path(path).absolute().parent
    while not parent.exists():
        parent = parent.parent
    names = sorted(entry.name for entry in parent.iterdir())[:8] if parent.is_dir() else []
    held = ", ".join(names) or "nothing"
    return f"The nearest existing folder is {parent}, which holds: {held}."


def require_writable_directory(path: StrPath, what: str) -> None:
    """Checks that `path` is a writable directory, or one that can be created.

    Raises:
      InputError: it, or its nearest existing parent, is a file or not writable.
    """
    if not path:
        raise InputError(f"{what} is not given; it must name a directory.")
    existing = pathlib.Path(path).absolute()
    while not os.path.lexists(existing):
        existing = existing.parent
    if not existing.is_dir():
        raise InputError(f"{what}={path}: {existing} is not a directory; give another one.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"{what}={path}: {existing} is not writable; give another directory.")


def require_output_file(path: StrPath, what: str, source: StrPath, source_what: str) -> None:
    """Checks that a file can be written at `path`, and that it is not the one that is read.

    Raises:
      InputError: `path` is a directory or `source`, or its directory cannot be written to.
    """
    if os.path.isdir(path) or not os.path.basename(path):
        raise InputError(f"{what}={path} is a directory; the name of a file was wanted.")
    if os.path.realpath(path) == os.path.realpath(source):
        raise InputError(f"{what}={path} is {source_what} too; give another name.")
    require_writable_directory(os.path.dirname(path) or ".", f"the folder of {what}")


def expand(patterns: str, what: str) -> list[str]:
    """Expands a comma-separated list of globs into a sorted list of non-empty files.

    The list is sorted, so that results do not depend on the order in which a disk lists files.

    Raises:
      InputError: a pattern matches nothing, or a match is empty.
    """
    paths = []
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        matches = sorted(path for path in glob.glob(pattern) if os.path.isfile(path))
        if not matches:
            raise InputError(f"{what}: {pattern!r} matches no file. {_nearest_existing(pattern)}")
        for path in matches:
            require_file(path, what)
        paths += matches
    if not paths:
        raise InputError(f"{what} is empty; it takes a comma-separated list of files or globs.")
    return sorted(set(paths))


@contextlib.contextmanager
def replacing(path: StrPath, flushes: bool = True) -> Iterator[str]:
    """Yields a temporary path next to `path`, which is renamed to `path` when the block ends.

    A reader sees the old file or the new one, never part of one. On an exception the
    temporary file is removed and the old one stays.

    Args:
      flushes: whether the file and its name are on the disk when the block ends, so that the
        computer may lose power. False for what is cheap to make again.
    """
    directory = os.path.dirname(os.path.abspath(path))
    with _naming_full_disk(path):
        os.makedirs(directory, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=directory)
        os.close(handle)
        os.chmod(temporary, 0o666 & ~_umask())
        try:
            with _in_use(temporary):
                yield temporary
                if flushes:
                    _flush(temporary)
                os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)
            raise
    if flushes:
        _flush_names(directory)


def digest(directory: StrPath, paths: Iterable[str]) -> str:
    """sha256 over the names in `directory` and the bytes of files, whatever their order."""
    total = hashlib.sha256()
    for path in sorted(paths):
        with open(path, "rb") as file:
            of_file = hashlib.file_digest(file, "sha256").digest()
        total.update(os.path.relpath(path, directory).encode() + of_file)
    return total.hexdigest()


@contextlib.contextmanager
def replacing_directory(path: StrPath) -> Iterator[str]:
    """Yields a temporary directory, which is renamed to `path` when the block ends.

    All of it is on the disk before. An existing `path` is moved aside first and removed last;
    between the two renames there is none. If the second rename fails, it is moved back. A symbolic
    link is followed, and stays. What a killed process left of the same directory is removed.
    """
    path = os.path.realpath(path)
    parent = os.path.dirname(path)
    with _naming_full_disk(path):
        os.makedirs(parent, exist_ok=True)
        remove_unfinished(path)
        temporary = tempfile.mkdtemp(prefix=f".{os.path.basename(path)}.", dir=parent)
        os.chmod(temporary, 0o777 & ~_umask())
        try:
            with _in_use(temporary):
                yield temporary
                _flush_directory(temporary)
                _exchange(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def _exchange(temporary: str, path: str) -> None:
    """Renames `temporary` to `path`; an old `path` is gone afterwards."""
    parent = os.path.dirname(path)
    aside = None
    try:
        if os.path.isdir(path):
            aside = tempfile.mkdtemp(prefix=f".{os.path.basename(path)}.old.", dir=parent)
            os.rename(path, os.path.join(aside, "old"))
        os.rename(temporary, path)
    except OSError:
        if aside:
            if os.listdir(aside):
                os.rename(os.path.join(aside, "old"), path)
            os.rmdir(aside)
        raise
    _flush_names(parent)
    if aside:
        shutil.rmtree(aside)


def remove_unfinished(path: StrPath) -> None:
    """Removes the temporary copies of `path`, a directory or a file, that killed processes left.

    A directory that a kill has left moved aside is put back. A copy that another process is writing
    stays: it is locked, where the file system has locks.
    """
    path = os.path.realpath(path)
    parent, name = os.path.split(path)
    pattern = re.compile(rf"\.{re.escape(name)}\.(old\.)?{_RANDOM}")
    names = os.listdir(parent) if os.path.isdir(parent) else []
    for found in filter(pattern.fullmatch, names):
        copy = os.path.join(parent, found)
        with contextlib.suppress(OSError), _in_use(copy):
            old = os.path.join(copy, "old")
            if ".old." in found and os.path.isdir(old) and not os.path.lexists(path):
                os.rename(old, path)
            shutil.rmtree(copy) if os.path.isdir(copy) else os.remove(copy)


@contextlib.contextmanager
def _in_use(path: str) -> Iterator[None]:
    """Holds the lock of a temporary copy.

    Raises:
      BlockingIOError: another process holds it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # the file system has no such locks
            pass
        yield
    finally:
        os.close(handle)


def _flush(path: str) -> None:
    """Waits until a file is on the disk, which may be the first to say that the disk is full."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_names(directory: str) -> None:
    """Waits until the names in a directory are on the disk, where the file system supports it."""
    with contextlib.suppress(OSError):
        _flush(directory)


def _flush_directory(path: str) -> None:
    """Waits until a directory with everything in it is on the disk."""
    for folder, _, names in os.walk(path):
        for name in names:
            _flush(os.path.join(folder, name))
        _flush_names(folder)


def write_text(path: StrPath, text: str, flushes: bool = True) -> None:
    """Writes `text` as UTF-8, completely or not at all; `flushes`: see `replacing`."""
    with replacing(path, flushes) as temporary:
        pathlib.Path(temporary).write_text(text, encoding="utf-8", newline="\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def is_disk_full(error: BaseException) -> bool:
    """Whether an exception, of Python or of a library, says that a disk or a quota is full."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return isinstance(error, Exception) and bool(_SAYS_FULL.search(str(error)))


@contextlib.contextmanager
def _naming_full_disk(path: StrPath) -> Iterator[None]:
    """Adds the path to the exception of a full disk; many name no file, or a temporary one."""
    try:
        yield
    except Exception as error:
        if is_disk_full(error):
            if isinstance(error, OSError) and error.errno is None:  # NumPy's; a path hides its text
                error.errno = errno.ENOSPC
            setattr(error, "filename", os.fspath(path))  # noqa: B010  not every class declares it
        raise


@contextlib.contextmanager
def disk_full_explained(path: StrPath, explain: Callable[[], str]) -> Iterator[None]:
    """Turns the exception of a full disk in the block into one message.

    Args:
      path: what the block writes; named where the exception names no file.
      explain: says what is kept and how to go on; called only when the disk is full.

    Raises:
      DiskFullError: the disk is full.
    """
    try:
        yield
    except InputError:
        raise  # explained already
    except Exception as error:
        if not is_disk_full(error):
            raise
        where = getattr(error, "filename", None) or path
        raise DiskFullError(f"The disk is full ({where}). {explain()}") from None


def free_bytes(path: StrPath) -> int:
    """Bytes that are free on the disk of `path`, which need not exist yet."""
    existing = pathlib.Path(path).absolute()
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free


def num_bytes(path: StrPath) -> int:
    """Bytes of the files in a directory."""
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    )
