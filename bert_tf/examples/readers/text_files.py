"""Finds the file of a set in a directory, and reads UTF-8 text, gzipped or not."""

import glob
import gzip
import os
import zlib

from bert_tf.errors import InputError


def find_file(directory: str, *names: str) -> str:
    """The path of the first of some names that `directory` holds, plain or as NAME.gz.

    Raises:
      InputError: none is there; the message lists what the directory holds.
    """
    if not directory or not os.path.isdir(directory):
        raise InputError(
            f"--data_dir={directory} is not a directory; it must hold {_listed(names)}."
        )
    for name in names:
        if path := file_in(directory, name):
            return path
    held = ", ".join(sorted(os.listdir(directory))[:20]) or "nothing"
    wanted = _listed(names) + (f" (or {names[0]}.gz)" if len(names) == 1 else "")
    raise InputError(f"{wanted} is not in --data_dir={directory}, which holds: {held}.")


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def file_in(directory: str, name: str) -> str | None:
    """The path of `name` in a directory, or of NAME.gz where only that is there; else None.

    A name without an ending may be that of a directory, such as a saved data set.
    """
    for candidate in (name, f"{name}.gz"):
        path = os.path.join(directory, candidate)
        if os.path.isfile(path) or (not ending(name) and os.path.isdir(path)):
            return path
    return None


def expand(pattern: str) -> list[str]:
    """The paths that a pattern with `*`, `?` or `[...]` names, in order; a path names itself.

    Raises:
      InputError: no file matches.
    """
    if os.path.exists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    if not (paths := sorted(glob.glob(pattern))):
        raise InputError(f"No file matches {pattern}.")
    return paths


def read_text(path: str) -> str:
    """The text of a UTF-8 file, gzipped if its name ends in .gz, without a byte order mark.

    Raises:
      InputError: missing, a directory, empty, not UTF-8, or not a gzip file.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
        if path.endswith(".gz"):
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory; a file was wanted.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a complete gzip file: {error}.") from None
    if not data.strip():
        raise InputError(f"{path} is empty ({len(data)} bytes).")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        encoding = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
        raise InputError(
            f"{path} is not UTF-8: line {line}, {error.reason}. Save it as UTF-8, for instance "
            f"with `iconv -f {encoding} -t UTF-8`, if that is its encoding."
        ) from None


def ending(path: str) -> str:
    """The ending of a file's name in lower case without .gz: ".csv" of "Reviews.CSV.gz"."""
    return os.path.splitext(path.lower().removesuffix(".gz"))[1]
