"""Checks that stop a failing run: the loss diverges, or the replicas differ."""

import collections
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import tensorflow as tf

from bert_tf.errors import InputError, UnfinishedError
from bert_tf.formatting import number

_MAX_NAMES = 8  # in a message


class DivergedError(InputError, FloatingPointError):
    """The loss or the weights are no longer finite, or the loss has risen and stays high.

    Attributes:
      step: updates done when it was detected.
      record_files: what the update's batch was read from, if that is known.
      last_good: the newest state saved before, or None.
    """

    def __init__(
        self, what: str, step: int, last_good: str | None, record_files: Iterable[str] = ()
    ) -> None:
        self.step, self.last_good, self.record_files = step, last_good, list(record_files)
        files = _some(self.record_files)
        records = f" Its batch was read from {files}." if files else ""
        state = sentence_on_last_good(last_good)
        super().__init__(
            f"Step {step}: {what}{records} {state} What usually helps is a lower --learning_rate, "
            "a longer warm-up or a smaller --max_grad_norm, in a new --output_dir. If the records "
            "are faulty, repair them, remove the states after the last good one and start again."
        )


def sentence_on_last_good(path: str | None) -> str:
    """Tells a user where the newest state saved before is, or that there is none (None)."""
    return f"The last good state is {path}." if path else "No good state was saved."


class LossGuard:
    """Raises when the loss is not finite, or has diverged.

    The level of the loss is the median of the last `window` losses. `best` is its lowest value so
    far, `first` its value when the window was first full, and `noise` the spread of the losses
    (1.4826 times the median absolute deviation) when `best` was reached. The limit is

        best + max((first - best) / 2, 8 noise, best / 4, 0.1)

    and the loss has diverged when the level stays above it for `patience` losses in a row: half of
    what was learned is lost, by more than noise explains, and does not come back. Single spikes do
    not change a median; a spike of up to about `patience` losses that recovers, growing noise, and
    slow rises within the limit pass. Before the window is full, only losses that are not finite
    are detected. A new phase has another level: call `reset` then.

    Args:
      last_good: gives the path of the last good state, or None.
      record_files: from a step to the files that its batch was read from; None: not known.
      window: losses in the median.
      patience: losses for which the level must stay above the limit.
    """

    _losses: collections.deque[float]

    def __init__(
        self,
        last_good: Callable[[], str | None],
        record_files: Callable[[int], Sequence[str]] | None = None,
        window: int = 100,
        patience: int = 400,
    ) -> None:
        self._last_good = last_good
        self._record_files = record_files or (lambda step: [])
        self._window, self._patience = window, patience
        self.reset()

    def reset(self) -> None:
        """Forgets all losses."""
        self.load({"losses": [], "first": None, "best": None, "noise": None, "num_above": 0})

    def state(self) -> dict[str, Any]:
        """For `State.save(notes=...)`, so that a resumed run decides as an uninterrupted one."""
        return {
            "losses": list(self._losses),
            "first": self._first,
            "best": self._best,
            "noise": self._noise,
            "num_above": self._num_above,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restores a `state()`."""
        self._losses = collections.deque(state["losses"], maxlen=self._window)
        self._first, self._best, self._noise = state["first"], state["best"], state["noise"]
        self._num_above = state["num_above"]

    @property
    def limit(self) -> float:
        """The limit for the level; infinite before the window is full."""
        if self._best is None:
            return math.inf
        rise = max((self._first - self._best) / 2, 8 * self._noise, abs(self._best) / 4, 0.1)
        return self._best + rise

    @property
    def is_suspicious(self) -> bool:
        """Whether the last losses are above the limit: a state saved now may not be good."""
        newest = list(self._losses)[-5:]
        return self._num_above > 0 or (bool(newest) and statistics.median(newest) > self.limit)

    def check(self, step: int, loss: float, gradient_norm: float = 0.0) -> None:
        """Adds the loss of an update.

        Args:
          step: updates done.
          gradient_norm: leave it out under loss scaling, where an infinite norm is expected and
            the update is skipped.

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
                f"{number(self.limit)} for {self._patience} updates. It is {number(level)} now; "
                f"its lowest value was {number(self._best)}.",
            )

    def _stop(self, step: int, what: str) -> NoReturn:
        raise DivergedError(what, step, self._last_good(), self._record_files(step))


class ReplicaCheck:
    """Compares the replicas' copies of variables bit for bit.

    Every replica sums hashes of its values and their positions, modulo 2^32: a change of one value
    is always detected, a change of several with a probability of 1 - 2^-32. Under
    MultiWorkerMirroredStrategy every process must make the call.

    Args:
      variables: created under the strategy's scope.
    """

    def __init__(self, strategy: tf.distribute.Strategy, variables: Iterable[tf.Variable]) -> None:
        self._strategy = strategy
        self._variables = list(variables)
        self._checksums = tf.function(self._of_all_replicas, autograph=False)
        # A function of its own: 20 operations are traced once, not for every variable.
        self._hash = tf.function(
            _hash, input_signature=[tf.TensorSpec([None], tf.uint32)], autograph=False
        )

    def differing(self) -> list[str]:
        """Names of the variables whose copies differ."""
        checksums = self._checksums().numpy()  # [replicas, variables]
        differ = (checksums != checksums[:1]).any(axis=0)
        return [v.name for v, is_off in zip(self._variables, differ, strict=True) if is_off]

    def check(self, step: int, last_good: str | None) -> None:
        """Call it before a save, so that saved values were the same on all replicas.

        Args:
          step: updates done.
          last_good: path of the last good state, or None.

        Raises:
          UnfinishedError: some copies differ.
        """
        if names := self.differing():
            raise UnfinishedError(
                f"Step {step}: the replicas' copies of {_some(names)} differ, although the same "
                "updates made them, so a device or the link between devices is faulty. The last "
                f"good state is {last_good}; the same command resumes from it. If this happens "
                "again, test the devices one by one."
            )

    def _of_all_replicas(self) -> tf.Tensor:
        """int32 [replicas, variables], the same on every replica."""
        num_replicas = self._strategy.num_replicas_in_sync

        def gather() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            values = map(tf.convert_to_tensor, self._variables)
            mine = tf.stack([self._hash(_bits(value)) for value in values])
            is_mine = tf.range(num_replicas) == context.replica_id_in_sync_group
            rows = tf.where(is_mine[:, None], mine[None, :], tf.zeros_like(mine)[None, :])
            return context.all_reduce("SUM", rows)

        return self._strategy.experimental_local_results(self._strategy.run(gather))[0]


def _bits(value: tf.Tensor) -> tf.Tensor:
    """uint32 [N] of a tensor's bits."""
    if value.dtype == tf.bool:
        value = tf.cast(value, tf.int32)
    if value.dtype.size == 2:
        bits = tf.cast(tf.bitcast(value, tf.uint16), tf.uint32)
    else:
        bits = tf.bitcast(value, tf.uint32)  # two for each of 8 bytes
    return tf.reshape(bits, [-1])


def _hash(bits: tf.Tensor) -> tf.Tensor:
    """The checksum of a variable, int32 scalar, from its bits."""
    positions = tf.cast(tf.range(tf.size(bits)), tf.uint32)
    hashes = _mixed(bits + _mixed(positions))
    return tf.bitcast(tf.reduce_sum(hashes), tf.int32)


def _mixed(x: tf.Tensor) -> tf.Tensor:
    """MurmurHash3's finaliser, a bijection of uint32 in which every bit affects every bit."""
    shift = tf.bitwise.right_shift
    for bits, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = tf.bitwise.bitwise_xor(x, shift(x, tf.constant(bits, tf.uint32)))
        x *= tf.constant(factor, tf.uint32)
    return tf.bitwise.bitwise_xor(x, shift(x, tf.constant(16, tf.uint32)))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more
