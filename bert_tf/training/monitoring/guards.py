"""What stops a run that is going wrong: a loss that is lost, replicas that have come apart."""

import collections
import math
import statistics

import tensorflow as tf

from bert_tf.errors import InputError, UnfinishedError

_MOST_NAMES = 8  # in a message


class DivergedError(InputError, FloatingPointError):
    """The loss or the weights are no longer finite, or the loss has gone up and stays up.

    Attributes:
      step: int, updates done when it was seen.
      record_files: list of str, what the update's batch was read from, if that is known.
      last_good: str, the newest state saved before, or None.
    """

    def __init__(self, what, step, last_good, record_files=()):
        self.step, self.last_good, self.record_files = step, last_good, list(record_files)
        records = f" Its batch was read from {_some(self.record_files)}." if record_files else ""
        state = f"The last good state is {last_good}." if last_good else "No good state was saved."
        super().__init__(
            f"Step {step}: {what}{records} {state} The usual ways out are a lower --learning_rate, "
            "a longer warm-up or a smaller --max_grad_norm, in a new --output_dir. If the records "
            "are to blame: mend them, remove the states after the last good one, start again."
        )


class LossGuard:
    """Raises when the loss is not finite, or has diverged.

    The rule. The level of the loss is the median of the last `window` losses. `best` is its lowest
    value so far, `first` its value when the window was first full, and `noise` the spread of the
    single losses (1.4826 times the median absolute deviation) when `best` was reached. The limit is

        best + max((first - best) / 2, 8 noise, best / 4, 0.1)

    and the loss has diverged when the level stays above it for `patience` losses in a row: half of
    all that was learned is lost again, by more than noise explains, and does not come back. A
    median does not see single spikes; a spike of up to about `patience` losses that recovers, noise
    that grows, and slow rises within the limit pass. Before the window is full, only losses that
    are not finite are seen. A new phase brings another level: `reset` then.

    Args:
      last_good: callable giving the path of the last good state, or None.
      record_files: callable from a step to the files its batch was read from, or None.
      window: int, losses in the median.
      patience: int, losses that the level must stay above the limit.
    """

    def __init__(self, last_good, record_files=None, window=100, patience=400):
        self._last_good = last_good
        self._record_files = record_files or (lambda step: [])
        self._window, self._patience = window, patience
        self.reset()

    def reset(self):
        """Forgets what it has seen."""
        self.load({"losses": [], "first": None, "best": None, "noise": None, "num_above": 0})

    def state(self):
        """A dict for `State.save(notes=...)`, so that a restart decides as the whole run would."""
        return {
            "losses": list(self._losses),
            "first": self._first,
            "best": self._best,
            "noise": self._noise,
            "num_above": self._num_above,
        }

    def load(self, state):
        """Takes up a `state()`."""
        self._losses = collections.deque(state["losses"], maxlen=self._window)
        self._first, self._best, self._noise = state["first"], state["best"], state["noise"]
        self._num_above = state["num_above"]

    @property
    def limit(self):
        """The limit of the rule, float; infinite before the window was full."""
        if self._best is None:
            return math.inf
        rise = max((self._first - self._best) / 2, 8 * self._noise, abs(self._best) / 4, 0.1)
        return self._best + rise

    @property
    def is_suspicious(self):
        """Whether the last losses are above the limit: a state saved now may not be a good one."""
        newest = list(self._losses)[-5:]
        return self._num_above > 0 or (bool(newest) and statistics.median(newest) > self.limit)

    def check(self, step, loss, gradient_norm=0.0):
        """Takes the loss of an update.

        Args:
          step: int, updates done.
          loss: float, of the update's batch.
          gradient_norm: float; leave it out under loss scaling, where an infinite norm is part of
            the method and the update is skipped.

        Raises:
          DivergedError: see the class.
        """
        if not (math.isfinite(loss) and math.isfinite(gradient_norm)):
            self._stop(step, f"the loss is {loss}, the gradient norm {gradient_norm}.")
        self._losses.append(loss)
        if len(self._losses) < self._window:
            return
        level = statistics.median(self._losses)
        if self._best is None or level < self._best:
            self._first = level if self._first is None else self._first
            self._best = level
            self._noise = 1.4826 * statistics.median(abs(each - level) for each in self._losses)
        self._num_above = self._num_above + 1 if level > self.limit else 0
        if self._num_above >= self._patience:
            self._stop(
                step,
                f"the loss has diverged: its median over {self._window} updates has been above "
                f"{self.limit:.4g} for {self._patience} updates. It is {level:.4g} now, the best "
                f"was {self._best:.4g}.",
            )

    def _stop(self, step, what):
        raise DivergedError(what, step, self._last_good(), self._record_files(step))


class ReplicaCheck:
    """Compares the replicas' copies of variables bit for bit.

    Every replica adds up hashes of its values and their places, modulo 2^32: a change of one value
    always shows, one of several with a probability of 1 - 2^-32. Under
    MultiWorkerMirroredStrategy every process makes the call.

    Args:
      strategy: `tf.distribute.Strategy`.
      variables: list of `tf.Variable` made under its scope.
    """

    def __init__(self, strategy, variables):
        self._strategy = strategy
        self._variables = list(variables)
        self._checksums = tf.function(self._of_all_replicas)

    def differing(self):
        """Names of the variables whose copies differ, in the order they were given."""
        checksums = self._checksums().numpy()  # [replicas, variables]
        differ = (checksums != checksums[:1]).any(axis=0)
        return [v.name for v, is_off in zip(self._variables, differ, strict=True) if is_off]

    def check(self, step, last_good):
        """Call it before a save, so that what is saved was the same on all replicas.

        Args:
          step: int, updates done.
          last_good: str, path of the last good state, or None.

        Raises:
          UnfinishedError: some copies differ.
        """
        if names := self.differing():
            raise UnfinishedError(
                f"Step {step}: the replicas' copies of {_some(names)} are no longer the same; they "
                "were made by the same updates, so a device or the link between devices has erred. "
                f"The last good state is {last_good}; the same command goes on from it. If this "
                "comes again, try the devices one by one."
            )

    def _of_all_replicas(self):
        """int32 [replicas, variables], on every replica the same."""
        num_replicas = self._strategy.num_replicas_in_sync

        def gather():
            context = tf.distribute.get_replica_context()
            mine = tf.stack([_checksum(tf.convert_to_tensor(v)) for v in self._variables])
            is_mine = tf.range(num_replicas) == context.replica_id_in_sync_group
            rows = tf.where(is_mine[:, None], mine[None, :], tf.zeros_like(mine)[None, :])
            return context.all_reduce("SUM", rows)

        return self._strategy.experimental_local_results(self._strategy.run(gather))[0]


def _checksum(value):
    """int32 scalar of a tensor's bits."""
    if value.dtype == tf.bool:
        value = tf.cast(value, tf.int32)
    if value.dtype.size == 2:
        bits = tf.cast(tf.bitcast(value, tf.uint16), tf.uint32)
    else:
        bits = tf.bitcast(value, tf.uint32)  # two for each of 8 bytes
    bits = tf.reshape(bits, [-1])
    places = tf.cast(tf.range(tf.size(bits)), tf.uint32)
    hashes = _mixed(bits + _mixed(places))
    return tf.bitcast(tf.reduce_sum(hashes), tf.int32)


def _mixed(x):
    """MurmurHash3's finaliser, uint32 to uint32: one to one, and every bit counts for every bit."""
    shift = tf.bitwise.right_shift
    for bits, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = tf.bitwise.bitwise_xor(x, shift(x, tf.constant(bits, tf.uint32)))
        x *= tf.constant(factor, tf.uint32)
    return tf.bitwise.bitwise_xor(x, shift(x, tf.constant(16, tf.uint32)))


def _some(names):
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
