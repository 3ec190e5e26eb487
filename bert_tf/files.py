"""Local files: checked before work starts, written whole or not at all."""

import contextlib
import glob
import os
import pathlib
import shutil
import tempfile

from bert_tf.errors import InputError


def require_file(path, what):
    """Returns `path` if it names a file that is not empty.

    Args:
      path: str, as the user gave it.
      what: str, how the message calls it, e.g. `"--vocab_file"`.

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
    return path


def _nearest_existing(path):
    """Says how much of the path is there, so that the typing error is easy to see."""
    parent = pathlib.Path(path).absolute().parent
    while not parent.exists():
        parent = parent.parent
    names = sorted(entry.name for entry in parent.iterdir())[:8] if parent.is_dir() else []
    held = ", ".join(names) or "nothing"
    return f"The nearest folder that exists is {parent}, which holds: {held}."


def require_writable_directory(path, what):
    """Returns `path` if it is a directory that may be written to, or one that can be made there.

    Raises:
      InputError: it, or what it would be made in, is a file or may not be written to.
    """
    if not path:
        raise InputError(f"{what} is not given; it must name a directory.")
    found = pathlib.Path(path).absolute()
    while not os.path.lexists(found):
        found = found.parent
    if not found.is_dir():
        raise InputError(f"{what}={path}: {found} is not a directory; give another one.")
    if not os.access(found, os.W_OK | os.X_OK):
        raise InputError(f"{what}={path}: {found} may not be written to; give another directory.")
    return path


def expand(patterns, what):
    """Expands a comma-separated list of globs into a sorted list of non-empty files.

    Sorted, so that what is built from them does not depend on the order a disk lists them in.

    Raises:
      InputError: a pattern matches nothing, or a match is empty.
    """
    paths = []
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        matches = sorted(path for path in glob.glob(pattern) if os.path.isfile(path))
        if not matches:
            raise InputError(f"{what}: {pattern!r} matches no file. {_nearest_existing(pattern)}")
        paths += [require_file(path, what) for path in matches]
    if not paths:
        raise InputError(f"{what} is empty; it takes a comma-separated list of files or globs.")
    return sorted(set(paths))


@contextlib.contextmanager
def replacing(path):
    """Yields a temporary path beside `path`, renamed to `path` if the block ends well.

    A reader sees the old file or the new one, never half of one; on an exception the
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
def replacing_directory(path):
    """The same for a directory: filled under a temporary name, then renamed.

    An existing `path` is moved aside first and removed last, so the gap is two renames. If the
    second fails, it is moved back. A symbolic link is followed, and stays.
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


def write_text(path, text):
    """Writes `text` as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        pathlib.Path(temporary).write_text(text, encoding="utf-8", newline="\n")


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
