"""What a run needs to go on where it stopped: saved whole, checked on the way back.

A kill at any moment, a full disk or a damaged file cost at most the updates since the state before.
"""

import re
import shutil
import sys

import numpy as np
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.training.devices.workers import Workers
from bert_tf.training.monitoring.guards import DivergedError
from bert_tf.training.resume import state_files
from bert_tf.training.resume.state_files import DamagedError, Saved

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

    While a state is saved the disk holds `num_kept` more, and one more again if the last good one
    is older than those. Under MultiWorkerMirroredStrategy every process calls `restore` and `save`
    at the same steps; the chief alone writes, all read, so the directory must be on a disk that
    they share.

    Args:
      directory: str, where the states are.
      parts: dict from name to a dict of variables or a `tf.Module`, the names by which
        `tf.train.Checkpoint` keeps them.
      step: int64 variable, updates done.
      strategy: `tf.distribute.Strategy`, or None in one process.
      num_kept: int, newest states that are kept.

    Attributes:
      notes: dict that was saved with the restored state; empty if none was.
    """

    def __init__(self, directory, parts, step, strategy=None, num_kept=2):
        self.notes = {}
        self._directory = directory
        self._parts = parts
        self._step = step
        self._num_kept = num_kept
        self._workers = Workers(strategy)
        self._checkpoint = tf.train.Checkpoint(**parts, step=step)
        # Files are those of this process, also where variables lie on other hosts.
        is_remote = isinstance(strategy, tf.distribute.TPUStrategy)
        device = "/job:localhost" if is_remote else None
        self._options = tf.train.CheckpointOptions(experimental_io_device=device)
        # Made now, because states of the first layout hold it, and what is restored must match.
        self._num_saves = self._checkpoint.save_counter

    def last_good(self):
        """Path of the newest state that was saved while the loss was in order, or None."""
        good = (saved.path for saved in state_files.listed(self._directory) if saved.is_good)
        return next(good, None)

    def restore(self):
        """Goes back to the newest state that is whole and fits.

        Newer ones, damaged, are named on standard error and renamed.

        Returns:
          int, the number of updates it holds; 0 if nothing was ever saved.

        Raises:
          InputError: there are states, but none can be restored.
        """
        restored = error = None
        if self._workers.is_chief:
            try:
                restored = self._restore_newest()
            except InputError as caught:
                error = caught  # raised once the other processes know
        numbers = [int(error is not None), *_to_numbers(restored)]
        has_failed, *numbers = self._workers.from_chief(numbers)
        if error:
            raise error
        if has_failed:
            raise InputError(
                f"The chief could not restore a state of {self._directory}; see there."
            )
        self._follow(_from_numbers(self._directory, numbers))
        return int(self._step.numpy())

    def _restore_newest(self):
        """Restores the newest state that can be; returns it, or None if there are none."""
        state_files.clear_unfinished(self._directory)
        damaged = []
        for saved in state_files.listed(self._directory):
            try:
                self._load(saved)
            except DamagedError as error:
                damaged.append((saved, str(error)))
                continue
            self._set_aside(damaged, saved)
            return saved
        if damaged:
            found = "".join(f"\n  {saved.path}: {reason}" for saved, reason in damaged)
            raise InputError(
                f"None of the saved states of this run can be restored:{found}\n"
                "One that is whole and of the same model and optimizer was wanted. Put one back "
                "from a copy; if model or optimizer are others now, give the flags of before; to "
                f"start again from step 0, remove {self._directory}."
            )
        return None

    def _load(self, saved):
        """Fills the variables from a state, or raises DamagedError."""
        notes = saved.verify()["notes"]
        try:
            status = self._checkpoint.read(saved.prefix, self._options)
            status.assert_existing_objects_matched().assert_consumed()
        except _MISFITS as error:
            raise DamagedError(f"it cannot be read into this model: {_first_line(error)}") from None
        if int(self._step.numpy()) != saved.step:
            raise DamagedError(f"it is the state of step {int(self._step.numpy())}")
        self.notes = notes

    def _set_aside(self, damaged, restored):
        """Takes damaged states out of the way of the coming ones, and says so."""
        if not damaged:
            return
        state_files.clear_set_aside(self._directory)
        for saved, reason in damaged:
            _warn(
                f"{saved.path} cannot be restored ({reason}). Going on from {restored.path}, the "
                f"state before; the damaged one is now {saved.set_aside()}."
            )

    def _follow(self, restored):
        """In the other processes: restores what the chief has restored."""
        if not self._workers.are_several:
            return
        reason = None
        if restored and not self._workers.is_chief:
            try:
                self._load(restored)
            except DamagedError as error:
                reason = str(error)
        if self._workers.any(reason is not None):
            raise InputError(
                f"The chief has restored {restored.path}, and not every worker could"
                + (f" (here: {reason})" if reason else "")
                + "; --output_dir must be on a disk that all workers share."
            )

    def save(self, notes=None, is_good=True):
        """Saves everything; if it cannot, warns, and the states of before stay.

        Args:
          notes: dict that JSON can hold, given back as `notes` after a restart.
          is_good: bool, whether the loss is in order. The newest good state is always kept.

        Returns:
          str, the path of the state, or None if it could not be saved.

        Raises:
          DivergedError: a variable is not finite; no such state is kept.
        """
        saved = error = None
        if self._workers.is_chief:
            try:
                saved = self._write(notes or {}, is_good)
            except DivergedError as caught:
                error = caught
        # The others wait: a process that ends while the chief writes may take the chief along.
        has_failed, *numbers = self._workers.from_chief(
            [int(error is not None), *_to_numbers(saved)]
        )
        if error:
            raise error
        if has_failed:
            step = int(self._step.numpy())
            raise DivergedError("the chief found values not finite.", step, self.last_good())
        saved = _from_numbers(self._directory, numbers)
        return saved.path if saved else None

    def _write(self, notes, is_good):
        """Writes a state and removes those that it makes needless; None if the disk refuses."""
        step = int(self._step.numpy())
        saved = state_files.next_of_step(self._directory, step)
        try:
            with files.replacing_directory(saved.path) as temporary:
                self._checkpoint.write(state_files.prefix(temporary), self._options)
                self._check_values(temporary, step)
                state_files.seal(temporary, step, is_good, notes)
        except (OSError, tf.errors.OpError) as error:
            self._warn_not_saved(step, error)
            return None
        state_files.flush_directory(self._directory)
        self._remove_old()
        return saved

    def _check_values(self, path, step):
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

    def _remove_old(self):
        """Keeps the newest states of `num_kept` steps, and the newest good one."""
        kept_steps, has_good = set(), False
        for saved in state_files.listed(self._directory):
            is_new = saved.step not in kept_steps and len(kept_steps) < self._num_kept
            is_last_good = not has_good and saved.is_good
            if is_new or is_last_good:
                kept_steps.add(saved.step)
                has_good = has_good or is_last_good
            else:
                saved.remove()

    def _warn_not_saved(self, step, error):
        needed = sum(v.shape.num_elements() * v.dtype.size for v in self._variables())
        _warn(
            f"the state of step {step} could not be saved ({_first_line(error)}). It takes "
            f"{_size(needed)}; {self._directory} {_free(self._directory)}. The last good state is "
            f"{self.last_good()}. The run goes on and tries again at the next save. Make room."
        )

    def _variables(self):
        for part in self._parts.values():
            yield from part.values() if isinstance(part, dict) else part.variables


def _to_numbers(saved):
    return [saved.step, saved.repeat] if saved else [-1, 0]


def _from_numbers(directory, numbers):
    step, repeat = numbers
    return Saved(directory, step, repeat) if step >= 0 else None


def _first_line(error):
    text = str(getattr(error, "message", None) or error).strip()
    text = re.sub(r"\{\{.*?\}\} ?| ?\[Op:.*?\]", "", text)  # where in TensorFlow's graph it came up
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def _free(directory):
    try:
        return f"has {_size(shutil.disk_usage(directory).free)} free"
    except OSError as error:
        return f"cannot be reached ({_first_line(error)})"


def _size(num_bytes):
    for unit in ("bytes", "kB", "MB"):
        if num_bytes < 1000:
            return f"{num_bytes:.3g} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.3g} GB"


def _warn(text):
    print(f"WARNING: {text}", file=sys.stderr, flush=True)
