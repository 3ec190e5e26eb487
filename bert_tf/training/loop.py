"""The training loop: gradients of the global batch, one update, exact resume.

A batch is, for each replica, a tuple of pieces: dicts of arrays, each piece padded to its own
longest row. Their gradients are summed in the replica, all-reduced, clipped and applied, so one
update is that of the whole batch however it is cut or shared out.

Everything that varies from update to update (data order, dropout masks) is a function of the
seed and the number of the update; a restart needs the weights, the moments and that number.
"""

import json
import math
import os
import time

import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.modeling import dropout
from bert_tf.progress import Progress
from bert_tf.training import loss_scale

_SECONDS_BETWEEN_LOGS = 2.0


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
      identity: dict of what decides the course of the run; a restart must have the same one.

    Raises:
      InputError: `directory` holds the state of a run with another identity.
    """

    def __init__(
        self, *, model, objective, optimizer, strategy, directory, random_seed, save_steps, identity
    ):
        self.model = model
        self._objective = objective
        self._optimizer = optimizer
        self._strategy = strategy
        self._variables = [variable.value for variable in model.trainable_variables]
        self._seed = random_seed
        self._save_steps = save_steps
        with strategy.scope():
            self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
        state_directory = os.path.join(directory, "training")
        _check_identity(os.path.join(state_directory, "identity.json"), identity)
        # Named one by one: tf.train.Checkpoint does not see layers that Keras keeps in a list.
        weights = {variable.path: variable.value for variable in model.variables}
        self._checkpoint = tf.train.Checkpoint(
            weights=weights, optimizer=optimizer, step=self._step
        )
        self._manager = tf.train.CheckpointManager(self._checkpoint, state_directory, max_to_keep=2)
        self._writer = tf.summary.create_file_writer(os.path.join(directory, "tensorboard"))
        self._updates = {}
        # A graph of its own, so that a batch of four pieces does not trace the model four times.
        self._measure = tf.function(self._measure_piece, reduce_retracing=True)

    def restore(self):
        """Goes back to the newest saved state; returns the number of updates it holds, or 0."""
        if self._manager.latest_checkpoint:
            status = self._checkpoint.restore(self._manager.latest_checkpoint)
            status.assert_existing_objects_matched().assert_consumed()
        return int(self._step.numpy())

    def save(self):
        """Saves weights, moments and step."""
        self._manager.save(checkpoint_number=int(self._step.numpy()))

    def run(self, batches, num_steps, examples_per_step, after_update=None):
        """Trains from the restored step up to `num_steps`.

        Args:
          batches: iterable of batches from that step on, each a list with one tuple of pieces
            for each replica.
          num_steps: int, updates in all.
          examples_per_step: int, for the display.
          after_update: called with the number of updates done, after each.

        Returns:
          examples per second of wall-clock time, over this call.

        Raises:
          FloatingPointError: the loss is no longer finite; the last saved state stays.
        """
        first = done = int(self._step.numpy())
        start = last_log = time.monotonic()
        progress = Progress("train", num_steps, "steps", done=done)
        for batch in batches:
            if done == num_steps:
                break
            scalars = self._update(batch)
            done += 1
            now = time.monotonic()
            if done in (first + 1, num_steps) or now - last_log > _SECONDS_BETWEEN_LOGS:
                last_log = now
                rate = (done - first) * examples_per_step / (now - start)
                note = self._log(scalars, done, rate)
                progress.advance(**note)
            else:
                progress.advance()
            if after_update:
                after_update(done)  # before the save: killed in here, a restart calls it again
            if done % self._save_steps == 0 or done == num_steps:
                self.save()
        progress.close()
        self._writer.flush()
        return (done - first) * examples_per_step / max(1e-9, time.monotonic() - start)

    def _log(self, scalars, step, rate):
        """Writes TensorBoard scalars; returns what the progress display shows."""
        values = {name: float(value) for name, value in scalars.items()}
        values["examples_per_second"] = rate
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)
        # A loss scale that can still fall takes care of gradients that overflow.
        can_skip = values.get("loss_scale", loss_scale.SMALLEST) > loss_scale.SMALLEST
        is_good = can_skip or math.isfinite(values["gradient_norm"])
        if not (math.isfinite(values["loss"]) and is_good):
            raise FloatingPointError(
                f"The loss is {values['loss']} and the gradient norm {values['gradient_norm']} at "
                f"step {step}. The last good state is {self._manager.latest_checkpoint}. A lower "
                "--learning_rate or a longer warm-up are the usual ways out."
            )
        return {"loss": f"{values['loss']:.4f}", "examples/s": f"{rate:.1f}"}

    def _update(self, batch):
        """One update; returns dict of float32 scalars over the global batch.

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
                self._distributed_update, input_signature=[signature]
            )
        return self._updates[num_pieces](batch)

    def _distributed_update(self, batch):
        update = self._step + 1

        def replica_update():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            return self._replica_update(batch[int(tf.get_static_value(replica))], update)

        scalars = self._strategy.run(replica_update)
        self._step.assign(update)
        return {
            name: self._strategy.experimental_local_results(value)[0]
            for name, value in scalars.items()
        }

    def _replica_update(self, pieces, update):
        context = tf.distribute.get_replica_context()
        counts = context.all_reduce("SUM", _sum_dicts([self._objective.counts(p) for p in pieces]))
        with tf.GradientTape() as tape:
            measures = [
                self._measure(piece, self._dropout_seed(update, index, len(pieces)))
                for index, piece in enumerate(pieces)
            ]
            # A batch without a single prediction has loss 0, not 0 / 0.
            loss = tf.add_n(
                [
                    measure[name][0] / tf.maximum(counts[name], 1.0)
                    for measure in measures
                    for name in self._objective.losses
                ]
            )
            scaled_loss = self._optimizer.scaled(loss)
        gradients = tape.gradient(scaled_loss, self._variables)
        dense = {i: tf.convert_to_tensor(g) for i, g in enumerate(gradients) if g is not None}
        if context.num_replicas_in_sync > 1:
            dense = context.all_reduce("SUM", dense)
        norm = self._optimizer.apply(
            [dense.get(i) for i in range(len(gradients))], self._variables, update
        )
        totals = context.all_reduce("SUM", _sum_dicts(measures))
        means = {name: total / tf.maximum(count, 1.0) for name, (total, count) in totals.items()}
        scalars = means | {
            "loss": tf.add_n([means[name] for name in self._objective.losses]),
            "gradient_norm": norm,
            "learning_rate": self._optimizer.learning_rate(update),
        }
        if self._optimizer.loss_scale is not None:
            scalars["loss_scale"] = tf.identity(self._optimizer.loss_scale.value)
        return scalars

    def _measure_piece(self, piece, seed):
        with dropout.step_seed(seed):
            outputs = self.model(piece, training=True)
        return self._objective.measure(outputs, piece)

    def _dropout_seed(self, update, piece, num_pieces):
        """int32 [2], its own for every (update, replica, piece)."""
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        seed = tf.random.experimental.stateless_fold_in([self._seed, 0], tf.cast(update, tf.int32))
        return tf.random.experimental.stateless_fold_in(seed, replica * num_pieces + piece)


def _sum_dicts(dicts):
    """Adds dicts of equal structure leaf by leaf."""
    return tf.nest.map_structure(lambda *values: tf.add_n(values), *dicts)


def _check_identity(path, identity):
    """Writes what decides a run's course, or compares it with what is there."""
    if not os.path.exists(path):
        files.write_text(path, json.dumps(identity, indent=2, sort_keys=True) + "\n")
        return
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    differences = [
        f"{name} is {found.get(name)!r} there and {identity.get(name)!r} here"
        for name in sorted(found.keys() | identity.keys())
        if found.get(name) != identity.get(name)
    ]
    if differences:
        raise InputError(
            f"{os.path.dirname(path)} holds the state of another run: {'; '.join(differences)}. "
            "Give a new --output_dir, or the options of that run (its flags.txt) to go on with it."
        )
