"""The training loop: gradients of the global batch, one update, exact resume.

A replica's share of a batch is a number of pieces. Their gradients are summed in the replica,
all-reduced, clipped and applied, so one update is that of the whole batch however it is cut or
shared out. Batches come in one of two ways:

- from the host (`run`): dicts of arrays, each piece padded to its own longest row. This is what a
  CPU is fastest with.
- from `tf.data` on the devices (`run_on_devices`): pieces of few known shapes, many updates a call.

Everything that varies from update to update (data order, dropout masks) is a function of the
seed and the number of the update; a restart needs the weights, the moments and that number.
"""

import os

import tensorflow as tf

from bert_tf import features
from bert_tf import identity as identity_lib
from bert_tf.errors import InputError
from bert_tf.modeling import dropout
from bert_tf.progress import Progress
from bert_tf.records import static_pieces
from bert_tf.training import environment
from bert_tf.training.guards import LossGuard, ReplicaCheck
from bert_tf.training.interrupt import Interrupt
from bert_tf.training.loss_scale import SMALLEST
from bert_tf.training.metrics_log import MetricsLog
from bert_tf.training.state import State
from bert_tf.training.workers import Workers

# Beside the features of a piece from the host, int32 [b]: the rows' places in the global batch.
ROW_NUMBERS = "row_numbers"
_AMOUNTS = ("num_tokens", "num_positions")  # of an update: real ones, and all that were computed


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

    Attributes:
      log: `metrics_log.MetricsLog`, once `restore` was called.

    Raises:
      InputError: `directory` holds the state of a run with another identity.
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
    ):
        self.model = model
        self.log = None
        self._objective = objective
        self._optimizer = optimizer
        self._strategy = strategy
        self._variables = [variable.value for variable in model.trainable_variables]
        self._seed = random_seed
        self._save_steps, self._log_steps = save_steps, log_steps
        self._directory = directory
        with strategy.scope():
            self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._workers = Workers(strategy)
        state_directory = os.path.join(directory, "training")
        if self._workers.is_chief:
            _check_identity(state_directory, identity)
        # Named one by one: tf.train.Checkpoint does not see layers that Keras keeps in a list.
        weights = {variable.path: variable.value for variable in model.variables}
        parts = {"weights": weights, "optimizer": optimizer}
        self._state = State(state_directory, parts, self._step, strategy)
        self._guard = LossGuard(self._state.last_good, record_files)
        self._replicas = ReplicaCheck(strategy, self._variables)
        self._updates = {}
        # A graph of its own, so that a batch of four pieces does not trace the model four times.
        self._measure = tf.function(self._measure_piece, reduce_retracing=True)
        self._norm = tf.function(lambda: tf.linalg.global_norm(self._variables))

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
        self._run(lambda _: (self._update(next(batches)), 1), num_steps, meter, after_update)

    def run_on_devices(self, dataset, specification, num_steps, meter, *, lengths, steps_per_call):
        """The same with batches that `tf.data` feeds to the devices, many updates a call.

        Args:
          dataset: distributed dataset of what `global_batches.Reader.pieces` gives.
          specification: dict of `tf.TensorSpec`, of a replica's element.
          num_steps: int, updates in all.
          meter: `throughput.Meter`.
          lengths: tuple of int, the lengths that pieces may have, see `static_pieces.buckets`.
          steps_per_call: int; fewer where a save or the end is due.

        Raises:
          as `run`.
        """
        iterator = iter(dataset)

        def next_batch():
            return next(iterator)

        call = tf.function(
            lambda count: self._many_updates(next_batch, specification, count, lengths)
        )

        def advance(most):
            count = min(most, steps_per_call)
            return call(tf.constant(count, tf.int32)), count

        self._run(advance, num_steps, meter, None)

    def _run(self, advance, num_steps, meter, after_update):
        """`advance` makes updates, so many at the most, and returns (their scalars, how many)."""
        first = done = self.step
        progress = Progress("train", num_steps, "steps", done=done)
        with Interrupt(self._workers) as interrupt:
            while done < num_steps:
                due = min(num_steps, done + self._save_steps - done % self._save_steps)
                scalars, count = advance(due - done)
                values = {name: float(value) for name, value in scalars.items()}
                amounts = [values.pop(name) for name in _AMOUNTS]
                meter.advance(count, *map(int, amounts))
                is_logged = done // self._log_steps < (done + count) // self._log_steps
                done += count
                self._check(done, values)
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
        self.log.add(step, values | norm | rates.values())
        return {"loss": f"{values['loss']:.4f}"} | rates.note()

    def _update(self, batch):
        """One update with a batch from the host; returns dict of float32 scalars.

        A graph is made for each number of pieces, with rows and lengths left open from the
        start. A graph made for the shapes of the first batch would round differently from one
        made after a restart.
        """
        num_pieces = len(batch[0])
        if num_pieces not in self._updates:
            signature = tf.nest.map_structure(
                lambda x: tf.TensorSpec([None] * x.ndim, tf.as_dtype(x.dtype)), batch
            )
            self._updates[num_pieces] = tf.function(
                self._update_from_host, input_signature=[signature]
            )
        return self._updates[num_pieces](batch)

    def _update_from_host(self, batch):
        update = self._step + 1

        def replica_update():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            pieces = batch[int(tf.get_static_value(replica)) % len(batch)]
            rows = [piece.get(ROW_NUMBERS) for piece in pieces]
            return self._replica_update(pieces, rows, update, self._measure)

        return self._apply_on_replicas(replica_update, update)

    def _many_updates(self, next_batch, specification, count, lengths):
        """`count` updates with batches from `tf.data`; the scalars are those of the last one."""
        scalars = self._update_on_devices(next_batch(), specification, lengths)
        amounts = {name: scalars[name] for name in _AMOUNTS}
        for _ in tf.range(count - 1):
            scalars = self._update_on_devices(next_batch(), specification, lengths)
            amounts = {name: amounts[name] + scalars[name] for name in _AMOUNTS}
        return scalars | amounts

    def _update_on_devices(self, batch, specification, lengths):
        update = self._step + 1

        def measure(piece, seed, rows):
            chosen = piece.pop(static_pieces.BUCKET)
            branches = [
                lambda length=length: self._measure_piece(
                    static_pieces.shortened(piece, length), seed, rows
                )
                for length in lengths
            ]
            return branches[0]() if len(branches) == 1 else tf.switch_case(chosen, branches)

        def replica_update(share):
            # A distributed dataset may have forgotten the shapes.
            share = {
                name: tf.ensure_shape(x, specification[name].shape) for name, x in share.items()
            }
            num_pieces, num_rows = share[features.WORD_IDS.name].shape[:2]
            replicas = self._strategy.num_replicas_in_sync
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            pieces = [{name: x[k] for name, x in share.items()} for k in range(num_pieces)]
            # The places that `static_pieces.Cut` gives them in the sorted global batch.
            rows = [
                (k * replicas + replica) * num_rows + tf.range(num_rows) for k in range(num_pieces)
            ]
            return self._replica_update(pieces, rows, update, measure)

        return self._apply_on_replicas(replica_update, update, args=(batch,))

    def _apply_on_replicas(self, replica_update, update, args=()):
        scalars = self._strategy.run(replica_update, args=args)
        self._step.assign(update)
        return {
            name: self._strategy.experimental_local_results(value)[0]
            for name, value in scalars.items()
        }

    def _replica_update(self, pieces, rows, update, measure):
        context = tf.distribute.get_replica_context()
        counts = [self._objective.counts(self._objective.prepare(piece)) for piece in pieces]
        counts = context.all_reduce("SUM", _sum_dicts(counts))
        measures, dense = [], {}
        for index, (piece, numbers) in enumerate(zip(pieces, rows, strict=True)):
            # One after the other, so that a piece's memory is free before the next one's is used.
            with tf.control_dependencies(list(dense.values())):
                piece = tf.nest.map_structure(tf.identity, piece)
            seed = self._dropout_seed(update, index, len(pieces), numbers)
            found, gradients = self._gradients_of_piece(piece, seed, numbers, counts, measure)
            measures.append(found)
            dense = {i: dense[i] + gradient if dense else gradient for i, gradient in gradients}
        if context.num_replicas_in_sync > 1:
            dense = context.all_reduce("SUM", dense)
        rate = self._optimizer.learning_rate(update)
        norm = self._optimizer.apply(
            [dense.get(i) for i in range(len(self._variables))], self._variables, update
        )
        totals = context.all_reduce("SUM", _sum_dicts(measures))
        amounts = {name: totals.pop(name)[0] for name in _AMOUNTS}
        means = {name: total / tf.maximum(count, 1.0) for name, (total, count) in totals.items()}
        return means | {
            "loss": tf.add_n([means[name] for name in self._objective.losses]),
            "gradient_norm": norm,
            "learning_rate": rate,
            **amounts,
        }

    def _gradients_of_piece(self, piece, seed, rows, counts, measure):
        """What a piece adds to the gradients of the global batch.

        Returns:
          (dict of `measure`, list of (index of the variable, dense gradient)); variables that no
          loss depends on are left out.
        """
        with tf.GradientTape() as tape:
            found = measure(piece, seed, rows)
            # A batch without a single prediction has loss 0, not 0 / 0.
            losses = (
                found[name][0] / tf.maximum(counts[name], 1.0) for name in self._objective.losses
            )
            scaled = self._optimizer.scaled(tf.add_n(list(losses)))
        gradients = enumerate(tape.gradient(scaled, self._variables))
        return found, [(i, tf.convert_to_tensor(g)) for i, g in gradients if g is not None]

    def _measure_piece(self, piece, seed, rows):
        """Dict from name to (sum, count) of a piece: losses, accuracies and amounts."""
        batch = self._objective.prepare(piece)
        with dropout.step_seed(seed, rows=rows):
            outputs = self.model(batch, training=True)
        mask = tf.cast(piece[features.MASK.name], tf.float32)
        one = tf.constant(1.0)
        return self._objective.measure(outputs, batch) | {
            "num_tokens": (tf.reduce_sum(mask), one),
            "num_positions": (tf.cast(tf.size(mask), tf.float32), one),
        }

    def _dropout_seed(self, update, piece, num_pieces, rows):
        """int32 [2], its own for every update; without numbers of rows, for every piece too."""
        seed = tf.random.experimental.stateless_fold_in([self._seed, 0], tf.cast(update, tf.int32))
        if rows is not None:
            return seed
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.random.experimental.stateless_fold_in(seed, replica * num_pieces + piece)


def _sum_dicts(dicts):
    """Adds dicts of equal structure leaf by leaf."""
    return tf.nest.map_structure(lambda *values: tf.add_n(values), *dicts)


def _check_identity(state_directory, identity):
    path = os.path.join(state_directory, "identity.json")
    if differences := identity_lib.differences(path, identity):
        raise InputError(
            f"{state_directory} holds the state of another run: {'; '.join(differences)}. "
            "Give a new --output_dir, or the options of that run (its flags.txt) to go on with it."
        )
