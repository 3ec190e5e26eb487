"""One update: gradients of the global batch, summed over pieces and replicas, then applied.

Everything here runs on the replicas, in a graph. With batches of static shapes (`with_shapes`)
nothing in it needs the host, and XLA can compile all of it.
"""

import tensorflow as tf

from bert_tf import features
from bert_tf.modeling import dropout
from bert_tf.records.read import micro_batches

# Beside the features of a piece from the host, int32 [b]: the rows' places in the global batch.
ROW_NUMBERS = "row_numbers"
# Scalars of an update beside losses and accuracies: real tokens, and all that were computed.
AMOUNTS = ("num_tokens", "num_positions")


class Update:
    """Makes updates of `model` with `optimizer` for `objective` under `strategy`.

    Args:
      model: a model of `modeling.models`, made under the strategy's scope.
      objective: `objectives.Objective`.
      optimizer: `optimizer.Optimizer`, made under the strategy's scope.
      strategy: `tf.distribute.Strategy`.
      random_seed: int, of the dropout masks.
      jit_compile: bool, whether XLA compiles updates of static shapes. One replica: the whole
        update. Several: each replica's gradients, but neither their sum over the replicas nor the
        optimizer. False on TPUs, where everything is compiled anyway.

    Attributes:
      variables: list of `tf.Variable`, the weights.
    """

    def __init__(self, model, objective, optimizer, strategy, *, random_seed, jit_compile=False):
        self.variables = [variable.value for variable in model.trainable_variables]
        self._model = model
        self._objective = objective
        self._optimizer = optimizer
        self._strategy = strategy
        self._seed = random_seed
        self._compiles_whole = jit_compile and strategy.num_replicas_in_sync == 1
        # A graph of its own, so that a batch of four pieces does not trace the model four times.
        self._measure = tf.function(self._measure_piece, reduce_retracing=True)
        self._static_gradients = self._gradients
        if jit_compile and not self._compiles_whole:
            self._static_gradients = tf.function(self._gradients, jit_compile=True)

    def from_host(self, batch, update):
        """An update of open shapes.

        Args:
          batch: list of one tuple of pieces for each replica of this process; see `loop.Loop.run`.
          update: int64 scalar, its number.

        Returns:
          dict of float32 scalars.
        """

        def gradients_of(*args):
            return self._gradients_of_piece(*args, self._measure)

        def replica_update():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            pieces = batch[int(tf.get_static_value(replica)) % len(batch)]
            rows = [piece.get(ROW_NUMBERS) for piece in pieces]
            return self._on_replica(pieces, rows, update, gradients_of, self._gradients)

        return self._on_first_of_all(replica_update)

    def with_shapes(self, specification, lengths):
        """The update of static shapes.

        Args:
          specification: dict of `tf.TensorSpec`, of a replica's share of a batch.
          lengths: tuple of int, the lengths that pieces may have, see `micro_batches.buckets`.

        Returns:
          callable from (batch as a distributed dataset gives it, number of the update) to dict of
          float32 scalars.
        """

        def gradients_of(piece, seed, rows, counts):
            chosen = piece.pop(micro_batches.BUCKET)
            # The backward pass too stands in each branch: XLA has no gradient of a choice between
            # arrays of different shapes.
            branches = [
                lambda length=length: self._gradients_of_piece(
                    micro_batches.shortened(piece, length), seed, rows, counts, self._measure_piece
                )
                for length in lengths
            ]
            return branches[0]() if len(branches) == 1 else tf.switch_case(chosen, branches)

        def replica_update(share, update):
            # A distributed dataset may have forgotten the shapes. Not by `tf.ensure_shape`, which
            # marks them as dynamic for XLA.
            share = {name: tf.reshape(x, specification[name].shape) for name, x in share.items()}
            num_pieces, num_rows = share[features.WORD_IDS.name].shape[:2]
            replicas = self._strategy.num_replicas_in_sync
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            pieces = [{name: x[k] for name, x in share.items()} for k in range(num_pieces)]
            # The places that `micro_batches.Cut` gives them in the sorted global batch.
            rows = [
                (k * replicas + replica) * num_rows + tf.range(num_rows) for k in range(num_pieces)
            ]
            return self._on_replica(pieces, rows, update, gradients_of, self._static_gradients)

        def apply(batch, update):
            return self._on_first_of_all(replica_update, (batch, update))

        return tf.function(apply, jit_compile=True) if self._compiles_whole else apply

    def parameter_norm(self):
        """float32 scalar, the global norm of the weights."""
        return self._on_first_of_all(lambda: tf.linalg.global_norm(self.variables))

    def _on_first_of_all(self, function, args=()):
        """Calls `function` on every replica; what the first one of this process returns."""
        options = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)
        results = self._strategy.run(function, args=args, options=options)
        return tf.nest.map_structure(
            lambda value: self._strategy.experimental_local_results(value)[0], results
        )

    def _on_replica(self, pieces, rows, update, gradients_of_piece, gradients):
        context = tf.distribute.get_replica_context()
        counts = [self._objective.counts(self._objective.prepare(piece)) for piece in pieces]
        counts = context.all_reduce("SUM", _sum_dicts(counts))
        seeds = [
            self._dropout_seed(update, index, len(pieces), numbers)
            for index, numbers in enumerate(rows)
        ]
        measures, dense = gradients(pieces, rows, seeds, counts, gradients_of_piece)
        if context.num_replicas_in_sync > 1:
            dense = context.all_reduce("SUM", dense)
        rate = self._optimizer.learning_rate(update)
        norm = self._optimizer.apply(
            [dense.get(i) for i in range(len(self.variables))], self.variables, update
        )
        totals = context.all_reduce("SUM", measures)
        amounts = {name: totals.pop(name)[0] for name in AMOUNTS}
        means = {name: total / tf.maximum(count, 1.0) for name, (total, count) in totals.items()}
        return means | {
            "loss": tf.add_n([means[name] for name in self._objective.losses]),
            "gradient_norm": norm,
            "learning_rate": rate,
            **amounts,
        }

    def _gradients(self, pieces, rows, seeds, counts, gradients_of_piece):
        """(sums of what is measured, gradients) of all pieces; see `_gradients_of_piece`."""
        measures, dense = [], {}
        for piece, numbers, seed in zip(pieces, rows, seeds, strict=True):
            # One after the other, so that a piece's memory is free before the next one's is used.
            with tf.control_dependencies(list(dense.values())):
                piece = tf.nest.map_structure(tf.identity, piece)
            found, gradients = gradients_of_piece(piece, seed, numbers, counts)
            measures.append(found)
            dense = {i: dense[i] + g if dense else g for i, g in gradients.items()}
        return _sum_dicts(measures), dense

    def _gradients_of_piece(self, piece, seed, rows, counts, measure):
        """What a piece adds to the gradients of the global batch.

        Returns:
          (dict of `measure`, dict from the place of a variable to its dense gradient); variables
          that no loss depends on are left out.
        """
        with tf.GradientTape() as tape:
            found = measure(piece, seed, rows)
            # A batch without a single prediction has loss 0, not 0 / 0.
            losses = (
                found[name][0] / tf.maximum(counts[name], 1.0) for name in self._objective.losses
            )
            scaled = self._optimizer.scaled(tf.add_n(list(losses)))
        gradients = enumerate(tape.gradient(scaled, self.variables))
        return found, {i: tf.convert_to_tensor(g) for i, g in gradients if g is not None}

    def _measure_piece(self, piece, seed, rows):
        """Dict from name to (sum, count) of a piece: losses, accuracies and amounts."""
        batch = self._objective.prepare(piece)
        with dropout.step_seed(seed, rows=rows):
            outputs = self._model(batch, training=True)
        mask = tf.cast(piece[features.MASK.name], tf.float32)
        one = tf.constant(1.0)
        return self._objective.measure(outputs, batch) | {
            "num_tokens": (tf.reduce_sum(mask), one),
            "num_positions": (tf.cast(tf.size(mask), tf.float32), one),
        }

    def _dropout_seed(self, update, piece, num_pieces, rows):
        """int32 [2], its own for every update; without numbers of rows, for every piece too."""
        seed = _folded([self._seed, 0], tf.cast(update, tf.int32))
        if rows is not None:
            return seed
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        return _folded(seed, replica * num_pieces + piece)


def _folded(seed, number):
    # By name: TensorFlow would choose another algorithm on a TPU, and masks would be others there.
    return tf.random.experimental.stateless_fold_in(seed, number, alg="philox")


def _sum_dicts(dicts):
    """Adds dicts of equal structure leaf by leaf."""
    return tf.nest.map_structure(lambda *values: tf.add_n(values), *dicts)
