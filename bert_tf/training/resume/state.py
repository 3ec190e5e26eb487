"""What a run needs to resume where it stopped: saved completely, checked when restored.

A kill at any moment, a full disk or a damaged file costs at most the updates since the last one.
"""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import files, formatting
from bert_tf.errors import InputError
from bert_tf.training.devices.workers import Workers
from bert_tf.training.monitoring.guards import DivergedError, sentence_on_last_good
from bert_tf.training.resume import state_files
from bert_tf.training.resume.state_files import DamagedError, Saved

_NUM_KEPT = 2  # steps whose states stay on disk

# What TensorFlow raises for a file that it cannot read (an OpError, or what its reader makes of
# errors in C++), of other shapes (ValueError), or that lacks variables (AssertionError).
_MISFITS = (tf.errors.OpError, IndexError, RuntimeError, ValueError, AssertionError)


class State:
    """Saves and restores variables, the number of updates done, and notes.

    In the loop:

        weights = {variable.path: variable.value for variable in model.variables}
        parts = {"weights": weights, "optimizer": optimizer}
        state = State(directory, parts, step, strategy)
        guard = LossGuard(state.last_good)
        done = state.restore()
        if "guard" in state.notes:
            guard.load(state.notes["guard"])
        ...
        guard.check(done, loss, gradient_norm)
        state.save({"guard": guard.state()}, is_good=not guard.is_suspicious)

    While a state is saved, the disk holds the two before it as well, and the last good one if it
    is older than those. Where there is no room for that, the states that the newest undamaged one
    replaces are removed first, so room for two is enough. Under MultiWorkerMirroredStrategy every
    process calls `restore` and `save` at the same steps. Only the chief writes and all processes
    read, so the directory must be on a disk that they share.

    Args:
      directory: where the states are.
      parts: by the names under which `tf.train.Checkpoint` saves them.
      step: int64, updates done.

    Attributes:
      notes: what was saved with the restored state; empty without one.
    """

    def __init__(
        self,
        directory: str,
        parts: Mapping[str, Mapping[str, tf.Variable] | tf.Module],
        step: tf.Variable,
        strategy: tf.distribute.Strategy,
    ) -> None:
        self.notes: dict[str, Any] = {}
        self._directory = directory
        self._parts = parts
        self._step = step
        self._workers = Workers(strategy)
        self._checkpoint = tf.train.Checkpoint(**parts, step=step)
        # This process reads and writes the files, even where variables are on other hosts.
        is_remote = isinstance(strategy, tf.distribute.TPUStrategy)
        device = "/job:localhost" if is_remote else None
        self._options = tf.train.CheckpointOptions(experimental_io_device=device)
        # Created now: states of version 0.1.0 hold it, and what is restored must match.
        self._num_saves = self._checkpoint.save_counter

    def last_good(self) -> str | None:
        """Path of the newest state that was saved while the loss was in order, or None."""
        good = (saved.path for saved in state_files.listed(self._directory) if saved.is_good)
        return next(good, None)

    def restore(self) -> int:
        """Restores the newest state that is undamaged and fits.

        Newer ones that are damaged are named on standard error and renamed. Warns at once where the
        disk has no room for the next state.

        Returns:
          The number of updates behind it; 0 if nothing was ever saved.

        Raises:
          InputError: there are states, but none can be restored.
        """
        restored: Saved | None = None
        error: InputError | None = None
        if self._workers.is_chief:
            try:
                restored = self._restore_newest()
                self._warn_without_room()
            except InputError as caught:
                error = caught  # raised when the other processes know
        numbers = [int(error is not None), *_to_numbers(restored)]
        has_failed, *numbers = self._workers.from_chief(numbers)
        if error:
            raise error
        if has_failed:
            raise InputError(
                f"The chief could not restore a state of {self._directory}; its message says why."
            )
        self._follow(_from_numbers(self._directory, numbers))
        return int(self._step.numpy())

    def _restore_newest(self) -> Saved | None:
        """Restores and returns the newest state that can be restored; None if there are none."""
        state_files.clear_unfinished(self._directory)
        damaged: list[tuple[Saved, str]] = []
        for saved in state_files.listed(self._directory):
            try:
                self._load(saved)
            except DamagedError as error:
                damaged.append((saved, str(error)))
                continue
            self._set_aside(damaged, saved)
            return saved
        if damaged:
            reasons = "".join(f"\n  {saved.path}: {reason}" for saved, reason in damaged)
            raise InputError(
                f"None of the saved states of this run can be restored:{reasons}\n"
                "The run needs an undamaged state of the same model and optimizer. Put one back "
                "from a copy; if you changed the model or the optimizer, give the earlier flags; "
                f"to start again from step 0, remove {self._directory}."
            )
        return None

    def _load(self, saved: Saved) -> None:
        """Fills the variables from a state, or raises DamagedError."""
        notes = saved.verify()["notes"]
        try:
            status = self._checkpoint.read(state_files.prefix(saved.path), self._options)
            status.assert_existing_objects_matched().assert_consumed()
        except _MISFITS as error:
            raise DamagedError(f"it cannot be read into this model: {_first_line(error)}") from None
        if int(self._step.numpy()) != saved.step:
            raise DamagedError(f"it is the state of step {int(self._step.numpy())}")
        self.notes = notes

    def _set_aside(self, damaged: list[tuple[Saved, str]], restored: Saved) -> None:
        """Renames damaged states, so that new ones can take their names, and warns."""
        if not damaged:
            return
        state_files.clear_set_aside(self._directory)
        for saved, reason in damaged:
            _warn(
                f"{saved.path} cannot be restored ({reason}). Resuming from {restored.path}, the "
                f"state before it; the damaged one is now {saved.set_aside()}."
            )

    def _follow(self, restored: Saved | None) -> None:
        """In the other processes: restores what the chief has restored."""
        if not (restored and self._workers.are_several):
            return
        reason = None
        if not self._workers.is_chief:
            try:
                self._load(restored)
            except DamagedError as error:
                reason = str(error)
        if self._workers.any(reason is not None):
            raise InputError(
                f"The chief has restored {restored.path}, but not every worker could"
                + (f" (this one: {reason})" if reason else "")
                + "; --output_dir must be on a disk that all workers share."
            )

    def save(
        self, notes: dict[str, Any] | None = None, is_good: bool = True, is_last: bool = False
    ) -> str | None:
        """Saves everything; if it cannot, warns and keeps the earlier states.

        Args:
          notes: available as `notes` after a restart; JSON must be able to hold it.
          is_good: whether the loss is in order. The newest good state is always kept.
          is_last: whether no update follows, which the warning says.

        Returns:
          The path of the state, or None if it could not be saved.

        Raises:
          DivergedError: a variable is not finite; no such state is kept.
        """
        saved: Saved | None = None
        error: DivergedError | None = None
        if self._workers.is_chief:
            try:
                saved = self._write(notes or {}, is_good, is_last)
            except DivergedError as caught:
                error = caught
        # The others wait: a process that ends while the chief writes may end the chief too.
        has_failed, *numbers = self._workers.from_chief(
            [int(error is not None), *_to_numbers(saved)]
        )
        if error:
            raise error
        if has_failed:
            what = "the chief found values that are not finite."
            raise DivergedError(what, int(self._step.numpy()), self.last_good())
        saved = _from_numbers(self._directory, numbers)
        return saved.path if saved else None

    def _write(self, notes: dict[str, Any], is_good: bool, is_last: bool) -> Saved | None:
        """Writes a state and removes those it replaces; None if the disk refuses."""
        step = int(self._step.numpy())
        try:
            try:
                saved = self._write_once(step, is_good, notes)
            except (OSError, tf.errors.OpError) as error:
                if not (files.is_disk_full(error) and self.make_room()):
                    raise
                saved = self._write_once(step, is_good, notes)
        except (OSError, tf.errors.OpError) as error:
            self._warn_not_saved(step, error, is_last)
            return None
        self._remove_old()
        return saved

    def _write_once(self, step: int, is_good: bool, notes: dict[str, Any]) -> Saved:
        saved = state_files.next_of_step(self._directory, step)
        with files.replacing_directory(saved.path) as temporary:
            self._checkpoint.write(state_files.prefix(temporary), self._options)
            self._check_values(temporary, step)
            state_files.seal(temporary, step, is_good, notes)
        return saved

    def make_room(self) -> bool:
        """Removes the states that the newest undamaged one replaces, but for the last good one.

        Returns:
          Whether any was removed.
        """
        listed = state_files.listed(self._directory)
        newest = next((saved for saved in listed if saved.is_intact), None)
        if newest is None:
            return False
        good = next((saved for saved in listed if saved.is_good), None)
        replaced = [saved for saved in listed if saved < newest and saved != good]
        for saved in replaced:
            saved.remove()
        return bool(replaced)

    def _check_values(self, path: str, step: int) -> None:
        """Reads back what was written: TensorFlow compares its checksums, we look for NaN."""
        reader = tf.train.load_checkpoint(state_files.prefix(path))
        names = [
            name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE").replace(".S", "/")
            for name, dtype in reader.get_variable_to_dtype_map().items()
            if dtype.is_floating and not np.isfinite(reader.get_tensor(name)).all()
        ]
        if names:
            what = f"values are not finite in {len(names)} variable(s), among them {min(names)}."
            raise DivergedError(what, step, self.last_good())

    def _remove_old(self) -> None:
        """Keeps the newest states of `_NUM_KEPT` steps, and the newest good one."""
        kept_steps: set[int] = set()
        has_good = False
        for saved in state_files.listed(self._directory):
            is_new = saved.step not in kept_steps and len(kept_steps) < _NUM_KEPT
            is_last_good = not has_good and saved.is_good
            if is_new or is_last_good:
                kept_steps.add(saved.step)
                has_good = has_good or is_last_good
            else:
                saved.remove()

    def _warn_without_room(self) -> None:
        replaced = state_files.listed(self._directory)[1:]
        room = files.free_bytes(self._directory) + sum(files.num_bytes(s.path) for s in replaced)
        if room < self._num_bytes():
            _warn(
                f"{self._directory} has {formatting.size(room)} free and a training state takes "
                f"{formatting.size(self._num_bytes())}, so none can be saved. Make room."
            )

    def _warn_not_saved(self, step: int, error: Exception, is_last: bool) -> None:
        on = "" if is_last else " and tries again at the next save"
        reason = "the disk is full" if files.is_disk_full(error) else _first_line(error)
        _warn(
            f"the state of step {step} could not be saved ({reason}). It takes "
            f"{formatting.size(self._num_bytes())}; {self._directory} {_free(self._directory)}. "
            f"{sentence_on_last_good(self.last_good())} The run continues{on}. Make room."
        )

    def _num_bytes(self) -> int:
        """Bytes of the variables, which are nearly all of a state."""
        return sum(v.shape.num_elements() * v.dtype.size for v in self._variables())

    def _variables(self) -> Iterator[tf.Variable]:
        for part in self._parts.values():
            yield from part.values() if isinstance(part, Mapping) else part.variables


def _to_numbers(saved: Saved | None) -> list[int]:
    return [saved.step, saved.repeat] if saved else [-1, 0]


def _from_numbers(directory: str, numbers: list[int]) -> Saved | None:
    step, repeat = numbers
    return Saved(directory, step, repeat) if step >= 0 else None


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "message", None) or error).strip()
    text = re.sub(r"\{\{.*?\}\} ?| ?\[Op:.*?\]", "", text)  # the place in TensorFlow's graph
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def _free(directory: str) -> str:
    try:
        return f"has {formatting.size(shutil.disk_usage(directory).free)} free"
    except OSError as error:
        return f"cannot be reached ({_first_line(error)})"


def _warn(text: str) -> None:
    print(f"WARNING: {text}", file=sys.stderr, flush=True)
