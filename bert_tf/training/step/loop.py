"""The training loop: updates, saves and guards, exact resume.

A replica's share of a batch is a number of pieces. Their gradients are summed in the replica,
all-reduced, clipped and applied (`update.Update`), so one update is that of the whole batch however
it is cut or shared out. Batches come in one of two ways:

- from the host (`run`): dicts of arrays, each piece padded to its own longest row. This is what a
  CPU is fastest with.
- from `tf.data` on the devices (`run_on_devices`): pieces of few known shapes, many updates a call.

Everything that varies from update to update (data order, dropout masks) is a function of the
seed and the number of the update; a restart needs the weights, the moments and that number.
"""

import os

import tensorflow as tf

from bert_tf import identity as identity_lib
from bert_tf.errors import InputError
from bert_tf.progress import Progress
from bert_tf.training.devices import environment
from bert_tf.training.devices.workers import Workers
from bert_tf.training.monitoring.guards import LossGuard, ReplicaCheck
from bert_tf.training.monitoring.metrics_log import MetricsLog
from bert_tf.training.optimization.loss_scale import SMALLEST
from bert_tf.training.resume.directory_lock import DirectoryLock
from bert_tf.training.resume.interrupt import Interrupt
from bert_tf.training.resume.state import State
from bert_tf.training.step.update import AMOUNTS, Update

_NUM_GOOD = "num_good"  # of a call: updates before the first whose loss or gradients are not finite

# Entries of identities of before: they change how sums are rounded, as the number of replicas does,
# and a run that goes on with fewer devices needs more pieces.
_ONCE_DECIDING = ("gradient_accumulation_steps",)


class Loop:
    """Trains `model` with `optimizer` for `objective` under `strategy`, and keeps its state.

    Args:
      model: a model of `modeling.models`, made under the strategy's scope.
      objective: `objectives.Objective`.
      optimizer: `optimizer.Optimizer`, made under the strategy's scope.
      strategy: `tf.distribute.Strategy`.
      directory: str, the model directory; state goes to `training/` in it.
      random_seed: int, of the dropout masks.
      save_steps: int, updates between two saves of the state.
      log_steps: int, updates between two lines of `metrics.jsonl`.
      identity: dict of what decides the course of the run; a restart must have the same one.
      record_files: callable from an update to the files its batch was read from, or None.
      jit_compile: bool, see `update.Update`.

    Attributes:
      log: `metrics_log.MetricsLog`, once `restore` was called.

    Raises:
      InputError: `directory` holds the state of a run with another identity, or another process
        trains in it.
    """

    def __init__(
        self,
        *,
        model,
        objective,
        optimizer,
        strategy,
        directory,
        random_seed,
        save_steps,
        identity,
        log_steps=10,
        record_files=None,
        jit_compile=False,
    ):
        self.model = model
        self.log = None
        self._optimizer = optimizer
        self._strategy = strategy
        self._update = Update(
            model, objective, optimizer, strategy, random_seed=random_seed, jit_compile=jit_compile
        )
        self._save_steps, self._log_steps = save_steps, log_steps
        self._directory = directory
        with strategy.scope():
            self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._workers = Workers(strategy)
        state_directory = os.path.join(directory, "training")
        self._lock = None
        if self._workers.is_chief:
            check_identity(directory, identity)
            self._lock = DirectoryLock(state_directory)
            identity_lib.keep(_identity_file(directory), identity)
        # Named one by one: tf.train.Checkpoint does not see layers that Keras keeps in a list.
        weights = {variable.path: variable.value for variable in model.variables}
        parts = {"weights": weights, "optimizer": optimizer}
        self._state = State(state_directory, parts, self._step, strategy)
        self._guard = LossGuard(self._state.last_good, record_files)
        self._replicas = ReplicaCheck(strategy, self._update.variables)
        self._from_host = {}
        self._norm = tf.function(self._update.parameter_norm)

    @property
    def step(self):
        """int, updates done."""
        return int(self._step.numpy())

    def restore(self):
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

    def close(self):
        """Ends the log; other processes may then train in the directory."""
        self.log.close()
        if self._lock:
            self._lock.release()

    def new_phase(self, sizes, is_new):
        """Logs what the batches are from here on.

        Args:
          sizes: dict, see `metrics_log.MetricsLog.phase`.
          is_new: bool, whether they begin here; the loss may then be at another level.
        """
        if is_new:
            self.log.phase(self.step, sizes)
            self._guard.reset()

    def save(self):
        """Saves weights, moments and step; returns the path, or None if the disk refused."""
        if self._strategy.num_replicas_in_sync > 1:
            self._replicas.check(self.step, self._state.last_good())
        notes = {"guard": self._guard.state()}
        return self._state.save(notes, is_good=not self._guard.is_suspicious)

    def run(self, batches, num_steps, meter, after_update=None):
        """Trains from the restored step up to `num_steps`, with batches from the host.

        Args:
          batches: iterable of batches from that step on, each a list with one tuple of pieces
            for each replica of this process; a piece is a dict of arrays and may have
            `ROW_NUMBERS`.
          num_steps: int, updates in all.
          meter: `throughput.Meter`.
          after_update: called with the number of updates done, after each.

        Raises:
          DivergedError: the loss is no longer finite, or has gone up and stays up.
          Interrupted: the process was told to end; the state is saved.
        """
        batches = iter(batches)
        self._run(
            lambda _: (self._update_from_host(next(batches)), 1), num_steps, meter, after_update
        )

    def run_on_devices(self, dataset, specification, num_steps, meter, *, lengths, steps_per_call):
        """The same with batches that `tf.data` feeds to the devices, many updates a call.

        Args:
          dataset: distributed dataset of what `global_batches.Reader.pieces` gives.
          specification: dict of `tf.TensorSpec`, of a replica's element.
          num_steps: int, updates in all.
          meter: `throughput.Meter`.
          lengths: tuple of int, the lengths that pieces may have, see `micro_batches.buckets`.
          steps_per_call: int; fewer where a save or the end is due.

        Raises:
          as `run`.
        """
        updates = self._updates_on_devices(dataset, specification, lengths)

        def advance(most):
            count = min(most, steps_per_call)
            return updates(tf.constant(count, tf.int32)), count

        self._run(advance, num_steps, meter, None)

    def _updates_on_devices(self, dataset, specification, lengths):
        """A graph that takes int32 scalar, how many updates; see `_many_updates`."""
        iterator = iter(dataset)
        update = self._update.with_shapes(specification, lengths)

        # With a name: TPUStrategy makes one of it, which "<lambda>" cannot be part of.
        def updates(count):
            return self._many_updates(lambda: next(iterator), update, count)

        return tf.function(updates)

    def _run(self, advance, num_steps, meter, after_update):
        """`advance` makes updates, so many at the most, and returns (their scalars, how many)."""
        first = done = self.step
        progress = Progress("train", num_steps, "steps", done=done, has_speed=False)
        with Interrupt(self._workers) as interrupt:
            while done < num_steps:
                due = min(num_steps, done + self._save_steps - done % self._save_steps)
                scalars, count = advance(due - done)
                values = {name: float(value) for name, value in scalars.items()}
                num_good = int(values.pop(_NUM_GOOD, count))
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

    def _check(self, step, values):
        """Stops a run that has diverged."""
        scale = self._optimizer.loss_scale
        is_skipped = scale is not None and float(scale.value) > SMALLEST
        self._guard.check(step, values["loss"], 0.0 if is_skipped else values["gradient_norm"])

    def _log(self, values, step, rates):
        """Writes the line of a step; returns what the progress display shows."""
        norm = {"parameter_norm": self._norm()}
        self.log.add(step, values | norm | (rates.values() if rates else {}))
        return {"loss": f"{values['loss']:.4f}"} | (rates.note() if rates else {})

    def _update_from_host(self, batch):
        """One update with a batch from the host; returns dict of float32 scalars.

        A graph is made for each number of pieces, with rows and lengths left open from the
        start. A graph made for the shapes of the first batch would round differently from one
        made after a restart.
        """
        num_pieces = len(batch[0])
        if num_pieces not in self._from_host:
            signature = tf.nest.map_structure(
                lambda x: tf.TensorSpec([None] * x.ndim, tf.as_dtype(x.dtype)), batch
            )
            self._from_host[num_pieces] = tf.function(
                self._counted_update, input_signature=[signature]
            )
        return self._from_host[num_pieces](batch)

    def _counted_update(self, batch):
        update = self._step + 1
        scalars = self._update.from_host(batch, update)
        self._step.assign(update)
        return scalars

    def _many_updates(self, next_batch, update_with, count):
        """`count` updates with batches from `tf.data`; the scalars are those of the last one.

        One more, `_NUM_GOOD`, says how many came before the first that was not finite.

        `update_with` is called in one place, as a TPU compiles it for every place, and the number
        of updates done is read once and written once: it lies on the devices.
        """
        first, names = tf.identity(self._step), []

        def advance(done, _, amounts, num_good):
            scalars = update_with(next_batch(), first + tf.cast(done, tf.int64) + 1)
            names[:] = scalars
            amounts += tf.stack([tf.cast(scalars[name], tf.float64) for name in AMOUNTS])
            is_good = tf.math.is_finite(scalars["loss"])
            if self._optimizer.loss_scale is None:
                is_good &= tf.math.is_finite(scalars["gradient_norm"])
            num_good += tf.cast(is_good & tf.equal(num_good, done), tf.int32)
            return done + 1, tf.stack(list(scalars.values())), amounts, num_good

        zero = tf.constant(0)
        start = (zero, tf.zeros([0]), tf.zeros([len(AMOUNTS)], tf.float64), zero)
        shapes = (zero.shape, tf.TensorShape([None]), start[2].shape, zero.shape)
        _, values, amounts, num_good = tf.while_loop(
            lambda done, *_: done < count, advance, start, shape_invariants=shapes
        )
        self._step.assign(first + tf.cast(count, tf.int64))
        scalars = {name: values[place] for place, name in enumerate(names)}
        counted = (*tf.unstack(amounts), num_good)
        return scalars | dict(zip((*AMOUNTS, _NUM_GOOD), counted, strict=True))


def check_identity(directory, identity):
    """Refuses a directory that holds the state of another run; writes nothing.

    Args:
      directory: str, the model directory.
      identity: dict of what decides the course of the run.

    Raises:
      InputError: it does.
    """
    path = _identity_file(directory)
    if differences := identity_lib.differences(path, identity, ignored=_ONCE_DECIDING):
        raise InputError(
            f"{os.path.dirname(path)} holds the state of another run: {'; '.join(differences)}. "
            "Give a new --output_dir, or the options of that run (its flags.txt) to go on with it."
        )


def _identity_file(directory):
    return os.path.join(directory, "training", "identity.json")
