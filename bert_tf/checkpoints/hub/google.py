"""Google's released models: one zip archive each, of which four named files are taken."""

import os
import posixpath
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable

from bert_tf.checkpoints.formats.base import CONVERSION_FILE, write_conversion
from bert_tf.checkpoints.hub import cache
from bert_tf.checkpoints.hub.download import Source, download
from bert_tf.checkpoints.hub.preset_table import INDEX_FILE, VALUES_FILE, Preset
from bert_tf.checkpoints.model_directory import CONFIG_FILE, VOCAB_FILE
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.config import from_file
from bert_tf.errors import InputError

TITLE = "Google's bucket bert_models"
NAMES = (CONFIG_FILE, VOCAB_FILE, INDEX_FILE, VALUES_FILE)
FILES = f"{', '.join(NAMES[:-1])} and {VALUES_FILE}, which the archive holds"

_ARCHIVE = "archive.zip"
# A released archive holds about as many bytes as it has; one that unpacks to far more is a trap.
_LARGEST_RATIO = 20


def complete(directory: str) -> tuple[str, ...]:
    """Names of a model's files in `directory`, or () if one is missing."""
    is_complete = all(os.path.isfile(os.path.join(directory, name)) for name in NAMES)
    return NAMES if is_complete else ()


def fetch(preset: Preset, directory: str) -> tuple[dict[str, str], dict[str, str]]:
    """Brings the model's files into `directory`, where an earlier call may have left some.

    Returns:
      (what to record, sha256 by file).
    """
    path = os.path.join(directory, _ARCHIVE)
    if not os.path.isfile(path):
        download(Source(preset.address), path)
    try:
        extract(path, directory, NAMES)
        sha256s = cache.verified(directory, NAMES, preset.sha256s, preset.name)
        config = from_file(os.path.join(directory, CONFIG_FILE), CONFIG_FILE)
    except InputError:
        os.remove(path)
        raise
    os.remove(path)
    # The archives do not say how the text is cased; conversion.json does.
    described = StateDict(
        config=config,
        arrays={},
        kind="pretrain",
        source=preset.location,
        do_lower_case=preset.do_lower_case,
    )
    write_conversion(directory, described)
    sha256s[CONVERSION_FILE] = cache.sha256(os.path.join(directory, CONVERSION_FILE))
    return {"url": preset.address}, sha256s


def extract(path: str, directory: str, names: Iterable[str]) -> None:
    """Extracts files by their names, wherever in the archive they are.

    Args:
      directory: where the files go, without the archive's own directories.
      names: the wanted files; anything else is left in the archive.

    Raises:
      InputError: not a complete zip archive, a file is missing or there twice, or an entry, wanted
        or not, is not a file or leads out of the archive.
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
        raise InputError(f"{path} is not a complete zip archive: {error}.") from None


def _check_entries(archive: zipfile.ZipFile, path: str) -> None:
    for member in archive.infolist():
        parts = member.filename.replace("\\", "/").split("/")
        if parts[0] == "" or ".." in parts or ":" in parts[0]:
            raise InputError(
                f"{path} holds {member.filename!r}, which leads out of the archive; refused."
            )
        kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where another system wrote it
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise InputError(f"{path} holds {member.filename!r}, which is not a file; refused.")


def _member(archive: zipfile.ZipFile, name: str, path: str) -> zipfile.ZipInfo:
    members = [m for m in archive.infolist() if posixpath.basename(m.filename) == name]
    if len(members) != 1:
        held = ", ".join(archive.namelist()[:12]) or "nothing"
        raise InputError(f"{path} holds {name} {len(members)} times, not once; it holds: {held}.")
    return members[0]


def _check_sizes(members: Iterable[zipfile.ZipInfo], path: str, directory: str) -> None:
    num_bytes = sum(member.file_size for member in members)
    if num_bytes > _LARGEST_RATIO * os.path.getsize(path):
        raise InputError(
            f"{path} ({os.path.getsize(path)} bytes) would unpack to {num_bytes} bytes; refused."
        )
    cache.require_space(directory, num_bytes, path)
