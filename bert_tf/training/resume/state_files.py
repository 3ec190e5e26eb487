"""Saved states as files: their names, their checksums, how they appear and disappear.

A state is a directory that a rename makes appear complete:

    step-12/                 after 12 updates; `step-12.1` is a later one of the same step
        state.index  state.data-00000-of-00001     of tf.train.Checkpoint
        state.json           step, size and SHA-256 of those files, notes; its own SHA-256

Names that begin with a dot are unfinished, or being removed.
"""

import contextlib
import dataclasses
import glob
import hashlib
import json
import os
import re
import shutil
from typing import Any

_FORMAT = 1
_MANIFEST = "state.json"
_DIRECTORY = re.compile(r"step-(\d+)(?:\.(\d+))?")
_ASIDE = "damaged-"


class DamagedError(Exception):
    """A saved state is damaged or does not fit the model; the message says why."""


@dataclasses.dataclass(frozen=True, order=True)
class Saved:
    """One saved state; of two in a directory, the greater is the newer.

    Attributes:
      directory: where all of a run's states are.
      step: updates done.
      repeat: how many states of this step were saved before it.
    """

    directory: str
    step: int
    repeat: int = 0

    @property
    def path(self) -> str:
        suffix = f".{self.repeat}" if self.repeat else ""
        return os.path.join(self.directory, f"step-{self.step}{suffix}")

    def manifest(self) -> dict[str, Any]:
        """Reads state.json.

        Raises:
          DamagedError: it is missing or differs from what was written.
        """
        try:
            with open(os.path.join(self.path, _MANIFEST), encoding="utf-8") as file:
                manifest = json.load(file)
        except FileNotFoundError:
            raise DamagedError(f"{_MANIFEST} is missing") from None
        except (OSError, ValueError) as error:
            raise DamagedError(f"{_MANIFEST} cannot be read: {error}") from None
        if not isinstance(manifest, dict) or manifest.pop("sha256", None) != _digest(manifest):
            raise DamagedError(f"{_MANIFEST} differs from what was written")
        if manifest["format"] != _FORMAT:
            raise DamagedError(f"it has format {manifest['format']}; this version reads {_FORMAT}")
        if manifest["step"] != self.step:
            raise DamagedError(f"it is the state of step {manifest['step']}")
        return manifest

    def verify(self) -> dict[str, Any]:
        """Compares every file with state.json, which it returns.

        Raises:
          DamagedError: a file is missing or differs from what was written.
        """
        manifest = self.manifest()
        for name, written in manifest["files"].items():
            path = os.path.join(self.path, name)
            try:
                present = _describe(path)
            except FileNotFoundError:
                raise DamagedError(f"{name} is missing") from None
            except OSError as error:
                raise DamagedError(f"{name} cannot be read: {error}") from None
            if present["size"] != written["size"]:
                raise DamagedError(
                    f"{name} has {present['size']} bytes; {written['size']} were written"
                )
            if present != written:
                raise DamagedError(f"{name} differs from what was written (SHA-256)")
        return manifest

    @property
    def is_good(self) -> bool:
        """Whether its state.json is intact and says that the loss was in order."""
        try:
            return self.manifest()["is_good"]
        except DamagedError:
            return False

    @property
    def is_intact(self) -> bool:
        """Whether every file is as it was written."""
        try:
            self.verify()
        except DamagedError:
            return False
        return True

    def set_aside(self) -> str:
        """Renames it, so that it is no longer one of the run's states; returns the new path."""
        aside = os.path.join(self.directory, _ASIDE + os.path.basename(self.path))
        os.rename(self.path, aside)
        return aside

    def remove(self) -> None:
        """Deletes it as far as the disk allows; what remains is no longer a state."""
        hidden = os.path.join(self.directory, f".{os.path.basename(self.path)}.removed")
        with contextlib.suppress(OSError):
            shutil.rmtree(hidden, ignore_errors=True)
            os.rename(self.path, hidden)
            shutil.rmtree(hidden, ignore_errors=True)


def prefix(path: str) -> str:
    """What `tf.train.Checkpoint` calls its files in the directory of a state."""
    return os.path.join(path, "state")


def listed(directory: str) -> list[Saved]:
    """All states in a directory, damaged or not, the newest first."""
    names = os.listdir(directory) if os.path.isdir(directory) else []
    matches = filter(None, map(_DIRECTORY.fullmatch, names))
    return sorted((Saved(directory, int(m[1]), int(m[2] or 0)) for m in matches), reverse=True)


def next_of_step(directory: str, step: int) -> Saved:
    """The state that the next save of a step makes."""
    repeats = [saved.repeat for saved in listed(directory) if saved.step == step]
    return Saved(directory, step, max(repeats, default=-1) + 1)


def seal(path: str, step: int, is_good: bool, notes: dict[str, Any]) -> None:
    """Writes state.json next to the files of a state.

    Args:
      path: the directory of the state, under its temporary name.
      step: updates done.
      is_good: whether the loss was in order.
      notes: for `State.notes`; JSON must be able to hold it.
    """
    names = sorted(name for name in os.listdir(path) if os.path.isfile(os.path.join(path, name)))
    manifest = {
        "format": _FORMAT,
        "step": step,
        "is_good": is_good,
        "files": {name: _describe(os.path.join(path, name)) for name in names},
        "notes": notes,
    }
    manifest = json.loads(json.dumps(manifest))  # as a reader gets it: keys are strings
    manifest["sha256"] = _digest(manifest)
    with open(os.path.join(path, _MANIFEST), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1, sort_keys=True)


def clear_unfinished(directory: str) -> None:
    """Removes what killed processes left half-written or half-removed."""
    _clear(directory, ".step-*")


def clear_set_aside(directory: str) -> None:
    """Removes states that were set aside earlier, so that they never fill a disk."""
    _clear(directory, f"{_ASIDE}*")


def remove_all(directory: str) -> None:
    """Removes every state, whole or not; the names disappear first, so a kill leaves none half."""
    for saved in listed(directory):
        saved.remove()
    clear_unfinished(directory)
    clear_set_aside(directory)


def _clear(directory: str, pattern: str) -> None:
    for path in glob.glob(os.path.join(glob.escape(directory), pattern)):
        shutil.rmtree(path, ignore_errors=True)


def _describe(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest}


def _digest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
