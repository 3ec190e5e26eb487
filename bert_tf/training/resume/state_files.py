"""Saved states as files: their names, their checksums, the way they come and go.

A state is a directory that appears whole, by a rename:

    step-12/                 updates done; `step-12.1` is a later one of the same step
        state.index  state.data-00000-of-00001     of tf.train.Checkpoint
        state.json           step, size and SHA-256 of those files, notes; its own SHA-256

Names that begin with a dot are not finished, or on their way out. `ckpt-12.index` with
`ckpt-12.data-*` is a state of the first layout, which has no state.json.
"""

import contextlib
import dataclasses
import functools
import glob
import hashlib
import json
import os
import re
import shutil

import tensorflow as tf

_FORMAT = 1
_MANIFEST = "state.json"
_DIRECTORY = re.compile(r"step-(\d+)(?:\.(\d+))?")
_OLD_FILE = re.compile(r"ckpt-(\d+)\.(?:index|data-\d{5}-of-\d{5})")
_OLD = -1  # the `repeat` of a state of the first layout
_ASIDE = "damaged-"


class DamagedError(Exception):
    """A saved state is not what was written, or does not fit; the message says why."""


@functools.total_ordering
@dataclasses.dataclass(frozen=True)
class Saved:
    """One saved state; of two, the greater is the newer.

    Attributes:
      directory: str, where all of a run's states are.
      step: int, updates done.
      repeat: int, states of this step that were saved before it.
    """

    directory: str
    step: int
    repeat: int = 0

    def __lt__(self, other):
        return (self.step, self.repeat) < (other.step, other.repeat)

    @property
    def is_old(self):
        """Whether it is of the first layout."""
        return self.repeat == _OLD

    @property
    def path(self):
        """What messages call it: the directory, or the old kind's prefix."""
        if self.is_old:
            return os.path.join(self.directory, f"ckpt-{self.step}")
        suffix = f".{self.repeat}" if self.repeat else ""
        return os.path.join(self.directory, f"step-{self.step}{suffix}")

    @property
    def prefix(self):
        """What `tf.train.Checkpoint` calls it."""
        return self.path if self.is_old else prefix(self.path)

    def manifest(self):
        """Reads state.json; of an old state, one that says as much.

        Raises:
          DamagedError: it is missing or not as it was written.
        """
        if self.is_old:
            return {"files": {}, "is_good": True, "notes": {}}
        try:
            with open(os.path.join(self.path, _MANIFEST), encoding="utf-8") as file:
                manifest = json.load(file)
        except FileNotFoundError:
            raise DamagedError(f"{_MANIFEST} is missing") from None
        except (OSError, ValueError) as error:
            raise DamagedError(f"{_MANIFEST} cannot be read: {error}") from None
        if not isinstance(manifest, dict) or manifest.pop("sha256", None) != _digest(manifest):
            raise DamagedError(f"{_MANIFEST} is not as it was written")
        if manifest["format"] != _FORMAT:
            raise DamagedError(
                f"it has format {manifest['format']}, and this version reads {_FORMAT}"
            )
        if manifest["step"] != self.step:
            raise DamagedError(f"it is the state of step {manifest['step']}")
        return manifest

    def verify(self):
        """Compares every file with state.json, which it returns.

        Raises:
          DamagedError: one is missing or not as it was written.
        """
        manifest = self.manifest()
        for name, written in manifest["files"].items():
            path = os.path.join(self.path, name)
            try:
                found = _describe(path)
            except FileNotFoundError:
                raise DamagedError(f"{name} is missing") from None
            except OSError as error:
                raise DamagedError(f"{name} cannot be read: {error}") from None
            if found["size"] != written["size"]:
                raise DamagedError(
                    f"{name} has {found['size']} bytes, and {written['size']} were written"
                )
            if found != written:
                raise DamagedError(f"{name} is not as it was written: its SHA-256 differs")
        return manifest

    @property
    def is_good(self):
        """Whether it was saved while the loss was in order, as far as its state.json goes."""
        try:
            return self.manifest()["is_good"]
        except DamagedError:
            return False

    @property
    def num_bytes(self):
        """Size of its files on disk."""
        path = glob.escape(self.path)
        pattern = f"{path}.*" if self.is_old else os.path.join(path, "*")
        return sum(os.path.getsize(path) for path in glob.glob(pattern))

    def set_aside(self):
        """Renames it, so that it is no longer one of the run's states; returns the new path."""
        aside = os.path.join(self.directory, _ASIDE + os.path.basename(self.path))
        if self.is_old:
            _drop_list(self.directory)
            for path in glob.glob(f"{glob.escape(self.path)}.*"):
                os.replace(path, aside + path.removeprefix(self.path))
        else:
            os.rename(self.path, aside)
        return aside

    def remove(self):
        """Deletes it, as far as the disk lets it; what is left of it is no state."""
        with contextlib.suppress(OSError):
            if self.is_old:
                _drop_list(self.directory)
                for path in glob.glob(f"{glob.escape(self.path)}.*"):
                    os.remove(path)
            else:
                hidden = os.path.join(self.directory, f".{os.path.basename(self.path)}.removed")
                shutil.rmtree(hidden, ignore_errors=True)
                os.rename(self.path, hidden)
                shutil.rmtree(hidden, ignore_errors=True)


def prefix(path):
    """The prefix of the checkpoint in the directory of a state."""
    return os.path.join(path, "state")


def listed(directory):
    """All states in a directory, whole or not, the newest first."""
    names = os.listdir(directory) if os.path.isdir(directory) else []
    found = set()
    for name in names:
        if match := _DIRECTORY.fullmatch(name):
            found.add(Saved(directory, int(match[1]), int(match[2] or 0)))
        elif match := _OLD_FILE.fullmatch(name):
            found.add(Saved(directory, int(match[1]), _OLD))
    if "checkpoint" in names:
        found |= set(_named_in_list(directory))
    return sorted(found, reverse=True)


def _named_in_list(directory):
    """Old states that the file `checkpoint` names, be they there or not."""
    try:
        state = tf.train.get_checkpoint_state(directory)
    except (tf.errors.OpError, ValueError):  # unreadable; the states themselves decide
        return
    for path in state.all_model_checkpoint_paths if state else ():
        if match := re.fullmatch(r"ckpt-(\d+)", os.path.basename(path)):
            yield Saved(directory, int(match[1]), _OLD)


def _drop_list(directory):
    """Removes the file `checkpoint`, which else would go on naming a state that is gone."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(directory, "checkpoint"))


def next_of_step(directory, step):
    """The state that the next save of a step makes."""
    repeats = [saved.repeat for saved in listed(directory) if saved.step == step]
    return Saved(directory, step, max(repeats, default=_OLD) + 1)


def seal(path, step, is_good, notes):
    """Writes state.json beside the files of a state, and sends all of it to the disk.

    Args:
      path: str, the directory of the state, under its temporary name.
      step: int, updates done.
      is_good: bool, whether the loss was in order.
      notes: dict that JSON can hold, for `State.notes`.
    """
    names = sorted(name for name in os.listdir(path) if os.path.isfile(os.path.join(path, name)))
    manifest = {
        "format": _FORMAT,
        "step": step,
        "is_good": is_good,
        "files": {name: _describe(os.path.join(path, name)) for name in names},
        "notes": notes,
    }
    manifest = json.loads(json.dumps(manifest))  # as it will be read: keys are strings
    manifest["sha256"] = _digest(manifest)
    with open(os.path.join(path, _MANIFEST), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1, sort_keys=True)
    for name in (*names, _MANIFEST):
        _flush(os.path.join(path, name))
    flush_directory(path)


def flush_directory(path):
    """Sends the names in a directory to the disk, where the file system knows such a thing."""
    with contextlib.suppress(OSError):
        _flush(path)


def clear_unfinished(directory):
    """Removes what killed processes left half-written, and half-removed."""
    for pattern in (".step-*", "ckpt-*_temp"):
        for path in glob.glob(os.path.join(glob.escape(directory), pattern)):
            shutil.rmtree(path, ignore_errors=True)


def clear_set_aside(directory):
    """Removes the damaged states of before, so that they never fill a disk."""
    for path in glob.glob(os.path.join(glob.escape(directory), f"{_ASIDE}*")):
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.remove(path)


def _describe(path):
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest}


def _digest(manifest):
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _flush(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
