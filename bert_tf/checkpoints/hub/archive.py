"""Zip archives from elsewhere: only named files leave them, and never to another place."""

import os
import posixpath
import shutil
import stat
import zipfile
import zlib

from bert_tf.checkpoints.hub import download
from bert_tf.errors import InputError

# A released archive holds about as many bytes as it has; one that unfolds to far more is a trap.
_LARGEST_RATIO = 20


def extract(path, directory, names):
    """Extracts files by their names, wherever in the archive they lie.

    Args:
      path: str, the zip file.
      directory: str, where the files go, without the archive's own directories.
      names: the files that are wanted; anything else in the archive is left there.

    Raises:
      InputError: not a whole zip archive, a file is missing or there twice, or an entry is no
        file or leads out of the archive, whether wanted or not.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_entries(archive, path)
            members = {name: _member(archive, name, path) for name in names}
            _check_sizes(members.values(), path, directory)
            for name, member in members.items():
                with archive.open(member) as packed, open(f"{directory}/{name}", "wb") as file:
                    shutil.copyfileobj(packed, file, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is not a whole zip archive: {error}.") from None


def _check_entries(archive, path):
    for member in archive.infolist():
        parts = member.filename.replace("\\", "/").split("/")
        if parts[0] == "" or ".." in parts or ":" in parts[0]:
            raise InputError(
                f"{path} holds {member.filename!r}, which leads out of the archive; refused."
            )
        kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where another system wrote it
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise InputError(f"{path} holds {member.filename!r}, which is no file; refused.")


def _member(archive, name, path):
    found = [m for m in archive.infolist() if posixpath.basename(m.filename) == name]
    if len(found) != 1:
        held = ", ".join(archive.namelist()[:12]) or "nothing"
        raise InputError(f"{path} holds {name} {len(found)} times, not once; it holds: {held}.")
    return found[0]


def _check_sizes(members, path, directory):
    num_bytes = sum(member.file_size for member in members)
    if num_bytes > _LARGEST_RATIO * os.path.getsize(path):
        raise InputError(
            f"{path} ({os.path.getsize(path)} bytes) would unfold to {num_bytes} bytes; refused."
        )
    download.require_space(directory, num_bytes, path)
