"""What is written so far of an output file, in the directory OUTPUT.unfinished next to it.

    identity.json   what decides the numbers: an extraction goes on only with the same
    progress.json   complete lines, and the size that each stream has with them
    STREAM          bytes that only ever get longer

A killed extraction leaves more bytes than progress.json says; these are cut off.
"""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from bert_tf import files, identity
from bert_tf.errors import InputError
from bert_tf.extraction.formats.base import Appended, Format
from bert_tf.training.resume import directory_lock
from bert_tf.training.resume.directory_lock import DirectoryLock

_SECONDS_BETWEEN_SAVES = 10.0
_ENDING = ".unfinished"


def directory_of(output_file: str) -> str:
    """Where the unfinished output is."""
    return output_file + _ENDING


def check(output_file: str, wanted: Mapping[str, Any]) -> None:
    """Refuses to go on with an unfinished output that other options made; writes nothing.

    Raises:
      InputError: there is one.
    """
    directory = directory_of(output_file)
    path = os.path.join(directory, "identity.json")
    if differences := identity.differences(path, wanted):
        raise InputError(
            f"{directory} is what another extraction has left: {'; '.join(differences)}. Remove "
            "it, or give another --output_file, or the options of that extraction to go on with "
            "it."
        )


class Unfinished:
    """Streams of rows, saved every ten seconds.

    Args:
      wanted: see `check`.

    Raises:
      InputError: see `check`; or another process writes there.

    Attributes:
      num_rows: complete rows at the last save.
    """

    def __init__(self, output_file: str, layout: Format, wanted: Mapping[str, Any]) -> None:
        self._output_file, self._format = output_file, layout
        self._directory = directory_of(output_file)
        self._streams: dict[str, BinaryIO] = {}
        check(output_file, wanted)
        self._lock = DirectoryLock(self._directory, work="writes", flag="--output_file")
        identity.keep(os.path.join(self._directory, "identity.json"), wanted)
        saved = self._saved()
        self.num_rows = saved["lines"]
        for name in self._files():
            self._open(name).truncate(saved["bytes"].get(name, 0))
        if not saved["bytes"]:
            self._write(layout.start())
        self._last_save = time.monotonic()

    def _saved(self) -> dict[str, Any]:
        """The last save; that of no row if there is none, or if a stream has lost bytes since."""
        with contextlib.suppress(FileNotFoundError):
            with open(self._path("progress.json"), encoding="utf-8") as file:
                saved = json.load(file)
            if all(os.path.getsize(self._path(name)) >= n for name, n in saved["bytes"].items()):
                return saved
        return {"lines": 0, "bytes": {}}

    def _files(self) -> Iterator[str]:
        """Names of the streams that are there."""
        for name in os.listdir(self._directory):
            is_stream = name != directory_lock.NAME and not name.endswith(".json")
            if is_stream and not name.startswith("."):
                yield name

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def _open(self, name: str) -> BinaryIO:
        if name not in self._streams:
            self._streams[name] = open(self._path(name), "ab")  # noqa: SIM115  closed by `close`
        return self._streams[name]

    def _write(self, appended: Appended) -> None:
        for name, data in appended.items():
            self._open(name).write(data)

    def add(self, appended: Appended, num_rows: int) -> None:
        """Adds rows to the streams."""
        self._write(appended)
        self.num_rows += num_rows
        if time.monotonic() - self._last_save > _SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Makes sure that a restart goes on from here."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        sizes = {name: os.path.getsize(self._path(name)) for name in self._streams}
        saved = {"lines": self.num_rows, "bytes": sizes}
        files.write_text(self._path("progress.json"), json.dumps(saved) + "\n")
        self._last_save = time.monotonic()

    def finish(self) -> None:
        """Makes the output file, which appears complete, and removes the unfinished one."""
        self.save()
        self._close_streams()
        streams = {name: self._path(name) for name in self._files()}
        with files.replacing(self._output_file) as temporary:
            self._format.finish(streams, temporary)
        shutil.rmtree(self._directory)

    def close(self) -> None:
        """Closes the streams, and lets other processes go on."""
        self._close_streams()
        self._lock.release()

    def _close_streams(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()
