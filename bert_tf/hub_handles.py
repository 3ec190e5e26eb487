"""Handles of TensorFlow Hub: what a path or an address of a model means on this machine.

tensorflow_hub keeps what it has downloaded in $TFHUB_CACHE_DIR, or in a folder for temporary files,
under the sha1 of the address. Nothing is downloaded here.
"""

import hashlib
import os
import tempfile

from bert_tf.errors import InputError

CACHE = "TFHUB_CACHE_DIR"  # environment variable
GRAPH_FILE = "saved_model.pb"

_DEFAULT_CACHE = "tfhub_modules"
_ADDRESSES = ("https://", "http://")


def resolve(handle: str | os.PathLike[str]) -> str:
    """The directory of a SavedModel.

    Args:
      handle: that directory; a base path, whose numeric sub-directories are versions, for the
        newest; or the address of a model that is in the cache of tensorflow_hub.

    Raises:
      InputError: no SavedModel is there.
    """
    path = location(handle)
    if os.path.isfile(os.path.join(path, GRAPH_FILE)):
        return path
    if _is_address(handle):
        raise InputError(
            f"{handle} is not in the cache of tensorflow_hub: there is no SavedModel in {path}. "
            "Nothing is downloaded here. Load it once with tensorflow_hub, or unpack its archive "
            f"into that directory; {CACHE} names the cache. Or give the path of a SavedModel."
        )
    held = ", ".join(sorted(os.listdir(path))[:8]) if os.path.isdir(path) else "(missing)"
    raise InputError(
        f"{handle} is no SavedModel: there is no {GRAPH_FILE} in it, nor in a numeric "
        f"sub-directory. It holds: {held or 'nothing'}. Give the directory of a SavedModel, a base "
        "path of its versions, or the address of one that tensorflow_hub has downloaded."
    )


def location(handle: str | os.PathLike[str]) -> str:
    """What `resolve` gives if there is a SavedModel, or else where one would be."""
    path = cached(os.fspath(handle)) if _is_address(handle) else os.path.expanduser(handle)
    names = os.listdir(path) if os.path.isdir(path) else []
    if GRAPH_FILE in names:
        return path
    versions = sorted((name for name in names if name.isascii() and name.isdigit()), key=int)
    complete = [name for name in versions if os.path.isfile(os.path.join(path, name, GRAPH_FILE))]
    return os.path.join(path, complete[-1]) if complete else path


def cached(address: str) -> str:
    """Where tensorflow_hub keeps what it downloads from an address."""
    root = os.environ.get(CACHE) or os.path.join(tempfile.gettempdir(), _DEFAULT_CACHE)
    name = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    return os.path.join(os.path.expanduser(root), name)


def _is_address(handle: str | os.PathLike[str]) -> bool:
    return os.fspath(handle).startswith(_ADDRESSES)
