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

from bert_tf import identity as run_identity
from bert_tf.progress import Progress
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


class Loop:
    """Repeats an update, and keeps the state of the run.

    Args:
      update: what is repeated, with its model, optimizer and strategy.
      directory: the model directory; the state goes to `training/` in it.
      identity: what decides the course of the run; a restart must have the same.
      save_steps: updates between two saves of the state.
      log_steps: updates between two lines of `metrics.jsonl`.
      record_files: from the number of an update to the files that its batch was read from.

    Attributes:
      log: `MetricsLog`, once `restore` was called.

    Raises:
      InputError: `directory` holds the state of a run with another identity, or another process
        trains in it.
    """

    log: MetricsLog

    def __init__(
        self,
        update: Update,
        directory: str,
        identity: Mapping[str, Any],
        *,
        save_steps: int,
        log_steps: int = 10,
        record_files: Callable[[int], list[str]] | None = None,
    ) -> None:
        self.model = update.model
        self._update, self._strategy = update, update.strategy
        self._save_steps, self._log_steps = save_steps, log_steps
        self._directory = directory
        with self._strategy.scope():
            self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._workers = Workers(self._strategy)
        state_directory = os.path.join(directory, "training")
        self._lock = None
        if self._workers.is_chief:
            check_identity(directory, identity)
            self._lock = DirectoryLock(state_directory)
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

    def save(self) -> str | None:
        """Saves weights, moments and step; returns the path, or None if the disk is full."""
        if self._strategy.num_replicas_in_sync > 1:
            self._replicas.check(self.step, self._state.last_good())
        notes = {"guard": self._guard.state()}
        return self._state.save(notes, is_good=not self._guard.is_suspicious)

    def run(
        self,
        batches: Iterable | DeviceBatches,
        num_steps: int,
        meter: Meter,
        after_update: Callable[[int], None] | None = None,
    ) -> None:
        """Trains from the restored step up to `num_steps`.

        Args:
          batches: from that step on. Either `DeviceBatches`, or batches from the host: each a list
            with a tuple of micro-batches for each replica of this process. Such a micro-batch is a
            dict of arrays, padded to its own longest row, and may have
            `features.ROW_NUMBERS`.
          num_steps: updates in all.
          meter: gets the amounts of every call.
          after_update: called after each call with the number of updates done.

        Raises:
          DivergedError: the loss is no longer finite, or has gone up and stays up.
          Interrupted: the process was told to end; the state is saved.
        """
        feed = self._feed(batches)
        first = done = self.step
        progress = Progress("train", num_steps, "steps", done=done, has_speed=False)
        with Interrupt(self._workers.any) as interrupt:
            while done < num_steps:
                due = min(num_steps, done + self._save_steps - done % self._save_steps)
                scalars, count = feed.advance(due - done)
                values = {name: float(value) for name, value in scalars.items()}
                num_good = int(values.pop(NUM_GOOD, count))
                amounts = [values.pop(name) for name in AMOUNTS]
                meter.advance(count, *map(int, amounts))
                is_logged = done // self._log_steps < (done + count) // self._log_steps
                done += count
                self._check(min(done, done - count + num_good + 1), values)
                if is_logged or done == num_steps or done == first + count:
                    progress.advance(count, **self._log(values, done, meter.rates()))
                else:
                    progress.advance(count)
                if after_update:
                    after_update(done)  # before the save: killed in here, a restart calls it again
                path = self.save() if done == due else None
                if interrupt.asked() and done < num_steps:
                    self.log.event(done, "interrupted")
                    interrupt.stop(done, path or self.save())
        progress.close()

    def _feed(self, batches: Iterable | DeviceBatches) -> HostFeed | DeviceFeed:
        if isinstance(batches, DeviceBatches):
            return DeviceFeed(self._update, self._step, batches)
        self._host_feed.batches = iter(batches)
        return self._host_feed

    def _check(self, step: int, values: dict[str, float]) -> None:
        """Stops a run that has diverged.

        An update that a loss scale above the smallest has made overflow was skipped: it halves the
        scale, and the next one tries that.
        """
        is_skipped = values.get("loss_scale", SMALLEST) > SMALLEST
        self._guard.check(step, values["loss"], 0.0 if is_skipped else values["gradient_norm"])

    def _log(self, values: dict[str, float], step: int, rates: Rates | None) -> dict[str, str]:
        """Writes the line of a step; returns what the progress display shows."""
        norm = {"parameter_norm": self._norm()}
        self.log.add(step, values | norm | (rates.values() if rates else {}))
        return {"loss": f"{values['loss']:.4f}"} | (rates.note() if rates else {})
