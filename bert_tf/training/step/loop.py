"""The training loop: updates, saves and guards, exact resume.

`update.Update` makes an update; `feeding` has the two ways in which batches reach it. This file
decides when to log, save and stop.

Everything that varies from update to update (data order, dropout masks) is a function of the seed
and the number of the update. A restart needs the weights, the moments and that number.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf

from bert_tf import checkpoints, files, formatting
from bert_tf import identity as run_identity
from bert_tf.progress import Progress, status
from bert_tf.training.devices import environment
from bert_tf.training.devices.workers import Workers
from bert_tf.training.inputs import check_identity, identity_file
from bert_tf.training.monitoring.guards import LossGuard, ReplicaCheck
from bert_tf.training.monitoring.metrics_log import MetricsLog
from bert_tf.training.monitoring.throughput import Meter, Rates
from bert_tf.training.optimization.loss_scale import SMALLEST
from bert_tf.training.resume.directory_lock import DirectoryLock
from bert_tf.training.resume.interrupt import Interrupt
from bert_tf.training.resume.state import State
from bert_tf.training.step.feeding import NUM_GOOD, DeviceBatches, DeviceFeed, HostFeed
from bert_tf.training.step.update import AMOUNTS, Update

# What a run writes into its model directory, apart from the training states.
_WRITTEN = (
    *("best", "last", "model.json", "bert_config.json", "vocab.txt", "flags.txt", "metrics.jsonl"),
    *("scores.jsonl", "evaluation.json", "eval_results.txt", "report.html"),
    *("training/identity.json", "training/complete.json"),
)


class Loop:
    """Repeats an update, and keeps the state of the run.

    Args:
      update: what is repeated, with its model, optimizer and strategy.
      directory: the model directory; the state goes to `training/` in it.
      identity: what decides the course of the run; a restart must have the same.
      save_steps: updates between two saves of the state.
      log_steps: updates between two lines of `metrics.jsonl`.
      peak_step: the update with the highest learning rate, which gets a line too; 0: none.
      record_files: from the number of an update to the files that its batch was read from.

    Attributes:
      log: `MetricsLog`, once `restore` was called.
      before_save: called before a state is saved, in every process. It returns whether one may be
        saved: not while the disk lacks what a restart from it would not make again.

    Raises:
      InputError: `directory` holds the state of a run with another identity, or another process
        trains in it.
    """

    log: MetricsLog
    before_save: Callable[[], bool] | None = None

    def __init__(
        self,
        update: Update,
        directory: str,
        identity: Mapping[str, Any],
        *,
        save_steps: int,
        log_steps: int = 10,
        peak_step: int = 0,
        record_files: Callable[[int], list[str]] | None = None,
    ) -> None:
        self.model = update.model
        self._update, self._strategy = update, update.strategy
        self._save_steps, self._log_steps, self._peak_step = save_steps, log_steps, peak_step
        self._directory = directory
        with self._strategy.scope():
            self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._workers = Workers(self._strategy)
        state_directory = os.path.join(directory, "training")
        self._lock = None
        if self._workers.is_chief:
            check_identity(directory, identity)
            self._lock = DirectoryLock(state_directory)
            _remove_unfinished(directory)
            run_identity.keep(identity_file(directory), identity)
        # Named one by one: tf.train.Checkpoint does not see layers that Keras keeps in a list.
        weights = {variable.path: variable.value for variable in self.model.variables}
        parts = {"weights": weights, "optimizer": update.optimizer}
        self._state = State(state_directory, parts, self._step, self._strategy)
        self._guard = LossGuard(self._state.last_good, record_files)
        self._replicas = ReplicaCheck(self._strategy, update.variables)
        self._host_feed = HostFeed(update, self._step)
        self._norm = tf.function(update.parameter_norm, autograph=False)

    @property
    def step(self) -> int:
        """Updates done."""
        return int(self._step.numpy())

    def restore(self) -> int:
        """Goes back to the newest saved state; returns the number of updates it holds, or 0."""
        done = self._state.restore()
        if "guard" in self._state.notes:
            self._guard.load(self._state.notes["guard"])
        self.log = MetricsLog(
            self._directory,
            done,
            is_writer=self._workers.is_chief,
            environment=environment.describe(self._strategy),
        )
        return done

    def close(self) -> None:
        """Ends the log; other processes may then train in the directory."""
        self.log.close()
        if self._lock:
            self._lock.release()

    def new_phase(self, sizes: dict[str, int], is_new: bool) -> None:
        """Logs what the batches are from here on.

        Args:
          sizes: see `metrics_log.MetricsLog.phase`.
          is_new: whether they begin here; the loss may then be at another level.
        """
        if is_new:
            self.log.phase(self.step, sizes)
            self._guard.reset()

    def save(self, is_last: bool = False) -> str | None:
        """Saves weights, moments and step; returns the path, or None if the disk is full.

        Args:
          is_last: whether no update follows.
        """
        if self.before_save is not None and self._workers.any(not self.before_save()):
            return None
        if self._strategy.num_replicas_in_sync > 1:
            self._replicas.check(self.step, self._state.last_good())
        notes = {"guard": self._guard.state()}
        is_good = not self._guard.is_suspicious
        with status(f"saving step {self.step:,}"):
            return self._state.save(notes, is_good=is_good, is_last=is_last)

    def save_weights(self, which: str) -> None:
        """Writes the weights to `which` in the model directory, `"best"` or `"last"`.

        Where the disk is full, training states that a newer one replaces are removed for them.

        Raises:
          OSError, tf.errors.OpError: they cannot be written; what was there before stays.
        """
        with status(f"writing the weights {which}/"):
            self.write(lambda: checkpoints.save(self.model, os.path.join(self._directory, which)))

    def write(self, function: Callable[[], None]) -> None:
        """Calls what writes; on a full disk again, once replaced training states are removed."""
        try:
            function()
        except Exception as error:
            if not (files.is_disk_full(error) and self._state.make_room()):
                raise
            function()

    def run(
        self,
        batches: Iterable | DeviceBatches,
        num_steps: int,
        meter: Meter,
        after_update: Callable[[int], bool] | None = None,
        next_pause: Callable[[int], int] | None = None,
    ) -> None:
        """Trains from the restored step up to `num_steps`, or until `after_update` ends it.

        Args:
          batches: from that step on. Either `DeviceBatches`, or batches from the host: each a list
            with a tuple of micro-batches for each replica of this process. Such a micro-batch is a
            dict of arrays, padded to its own longest row, and may have
            `features.ROW_NUMBERS`.
          num_steps: updates in all.
          meter: gets the amounts of every call.
          after_update: called after each call with the number of updates done. It returns whether
            the training ends with them, the same in every process.
          next_pause: from the number of updates done to the next one after which `after_update`
            must be called, even if devices could go on without the host.

        Raises:
          DivergedError: the loss is no longer finite, or has gone up and stays up.
          Interrupted: the process was told to end; the state is saved.
        """
        feed = self._feed(batches)
        first = done = self.step
        with (
            Interrupt(self._workers.any) as interrupt,
            Progress(
                "train",
                num_steps,
                "steps",
                done=done,
                has_speed=False,
                first="compiling the update",
            ) as progress,
        ):
            while done < num_steps:
                due = min(num_steps, done + self._save_steps - done % self._save_steps)
                pause = min(due, next_pause(done)) if next_pause else due
                scalars, count = feed.advance(pause - done)
                values = {name: float(value) for name, value in scalars.items()}
                num_good = int(values.pop(NUM_GOOD, count))
                amounts = [values.pop(name) for name in AMOUNTS]
                meter.advance(count, *map(int, amounts))
                is_logged = self._is_logged(done, done + count)
                done += count
                self._check(min(done, done - count + num_good + 1), values)
                rates = meter.rates()
                if is_logged or done == num_steps or done == first + count:
                    self._log(values, done, rates)
                _show(progress, count, values["loss"], rates)
                # Before the save: killed in here, a restart calls it again.
                is_over = bool(after_update and after_update(done)) or done == num_steps
                path = self.save(is_last=is_over) if is_over or done == due else None
                if is_over:
                    break
                if interrupt.asked():
                    self.log.event(done, "interrupted")
                    interrupt.stop(done, path if done == due else self.save(is_last=True))

    def _feed(self, batches: Iterable | DeviceBatches) -> HostFeed | DeviceFeed:
        if isinstance(batches, DeviceBatches):
            return DeviceFeed(self._update, self._step, batches)
        self._host_feed.batches = iter(batches)
        return self._host_feed

    def _is_logged(self, before: int, after: int) -> bool:
        """Whether one of the updates after `before`, up to `after`, is due for a line."""
        is_due = before // self._log_steps < after // self._log_steps
        return is_due or before < self._peak_step <= after

    def _check(self, step: int, values: dict[str, float]) -> None:
        """Stops a run that has diverged.

        An update that a loss scale above the smallest has made overflow was skipped: it halves the
        scale, and the next one tries that.
        """
        is_skipped = values.get("loss_scale", SMALLEST) > SMALLEST
        self._guard.check(step, values["loss"], 0.0 if is_skipped else values["gradient_norm"])

    def _log(self, values: dict[str, float], step: int, rates: Rates | None) -> None:
        """Writes the line of a step."""
        norm = {"parameter_norm": self._norm()}
        self.log.add(step, values | norm | (rates.values() if rates else {}))


def _show(progress: Progress, num_steps: int, loss: float, rates: Rates | None) -> None:
    progress.advance(
        num_steps,
        seconds_left=rates.seconds_left if rates else None,
        loss=formatting.number(loss),
        **(rates.note() if rates else {}),
    )


def _remove_unfinished(directory: str) -> None:
    """Removes the temporary copies that killed processes left of what a run writes."""
    for name in _WRITTEN:
        files.remove_unfinished(os.path.join(directory, name))
