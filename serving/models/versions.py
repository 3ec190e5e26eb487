"""The versions of a model on disk: numeric sub-directories of its base path."""

import os

from bert_tf.errors import InputError

SAVED_MODEL_FILE = "saved_model.pb"

_MAX_VERSION = 2**63 - 1
Stamp = frozenset[tuple[str, int, int]]


def on_disk(base_path: str) -> dict[int, str]:
    """From the number of each version to its path.

    Names that are no numbers are passed over: an export in progress has one. Of two names for one
    number, such as 1 and 01, the last one in the order of text counts, as in TensorFlow Serving.

    Raises:
      OSError: the base path cannot be read.
    """
    names = [name for name in sorted(os.listdir(base_path)) if name.isascii() and name.isdigit()]
    found = {int(name): os.path.join(base_path, name) for name in names}
    return {number: path for number, path in found.items() if number <= _MAX_VERSION}


def stamp(path: str) -> Stamp:
    """Sizes and times of the files that a load reads: when they change, it may end otherwise."""
    entries = []
    for folder in (path, os.path.join(path, "variables")):
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    state = entry.stat()
                    entries.append((entry.path, state.st_size, state.st_mtime_ns))
        except OSError:
            continue  # it is not there, or leaves just now
    return frozenset(entries)


def require(base_path: str, what: str) -> None:
    """Checks, at the start of a server, that there is a version to load.

    Args:
      what: names the base path in the message.

    Raises:
      InputError: there is none; the message says what is there instead.
    """
    if not os.path.isdir(base_path):
        raise InputError(
            f"{what} is not a directory. Wanted: the directory that holds the "
            f"model's versions, e.g. models/NAME with models/NAME/1/{SAVED_MODEL_FILE}; "
            "`python -m export.savedmodel` writes one."
        )
    names = sorted(os.listdir(base_path))
    if SAVED_MODEL_FILE in names:
        raise InputError(
            f"{what} holds {SAVED_MODEL_FILE} itself, so it is a version. Give the "
            f"directory above it, {os.path.dirname(os.path.abspath(base_path))}, where every "
            "version has a number as its name."
        )
    if not on_disk(base_path):
        raise InputError(
            f"{what} has no version, a sub-directory whose name is a number. It "
            f"holds: {', '.join(names[:8]) or 'nothing'}. `python -m export.savedmodel "
            f"--export_dir={base_path}` writes one."
        )
