"""Local files: checked before work starts, written completely or not at all."""

import contextlib
import glob
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from bert_tf.errors import InputError

StrPath = str | os.PathLike[str]


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
def replacing(path: StrPath) -> Iterator[str]:
    """Yields a temporary path next to `path`, which is renamed to `path` when the block ends.

    A reader sees the old file or the new one, never part of one. On an exception the
    temporary file is removed and the old one stays.
    """
    directory = os.path.dirname(os.path.abspath(path))
    os.makedirs(directory, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=directory)
    os.close(handle)
    os.chmod(temporary, 0o666 & ~_umask())
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise


@contextlib.contextmanager
def replacing_directory(path: StrPath) -> Iterator[str]:
    """Yields a temporary directory, which is renamed to `path` when the block ends.

    An existing `path` is moved aside first and removed last; between the two renames there is
    none. If the second rename fails, it is moved back. A symbolic link is followed, and stays.
    """
    path = os.path.realpath(path)
    parent = os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    temporary = tempfile.mkdtemp(prefix=f".{os.path.basename(path)}.", dir=parent)
    os.chmod(temporary, 0o777 & ~_umask())
    try:
        yield temporary
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
        if aside:
            shutil.rmtree(aside)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def write_text(path: StrPath, text: str) -> None:
    """Writes `text` as UTF-8, completely or not at all."""
    with replacing(path) as temporary:
        pathlib.Path(temporary).write_text(text, encoding="utf-8", newline="\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
