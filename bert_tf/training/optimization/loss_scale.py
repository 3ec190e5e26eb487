"""Dynamic loss scaling for float16 (Micikevicius et al. 2018, sections 3.2 and 5)."""

import tensorflow as tf

SMALLEST = 1.0  # a loss that is too large even unscaled has diverged
_LARGEST = 2.0**40  # keeps a scaled loss far from the end of float32
_FACTOR = 2.0  # a power of two: scaling and unscaling round nothing


class LossScale(tf.Module):
    """The factor that lifts small gradients above float16's underflow, found by trial.

    It doubles after `growth_steps` good updates in a row. An update whose gradients are not all
    finite is skipped and halves it. A skipped update has used up its examples: the next one gets
    the next batch. The optimizer ignores it: learning rate, bias correction and moments do not
    change.

    Create it under the strategy's scope; its variables belong in the checkpoint.

    Attributes:
      value: float32 variable, the factor.
      num_good: int64 variable, good updates since the factor last changed.
      num_skipped: int64 variable, updates skipped so far.
    """

    def __init__(self, initial: float = 2.0**15, growth_steps: int = 2000) -> None:
        super().__init__()
        self._growth_steps = growth_steps
        self.value = tf.Variable(initial, dtype=tf.float32, trainable=False)
        self.num_good = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.num_skipped = tf.Variable(0, dtype=tf.int64, trainable=False)

    def record(self, strategy: tf.distribute.Strategy, is_finite: tf.Tensor) -> None:
        """Records one update; call it in the cross-replica context of a `merge_call`.

        Args:
          is_finite: bool scalar of each replica, the same on all; whether the update was good.
        """
        args = (self.num_good, self.num_skipped, is_finite)
        strategy.extended.update(self.value, self._record_one, args=args, group=False)

    def _record_one(
        self,
        value: tf.Variable,
        num_good: tf.Variable,
        num_skipped: tf.Variable,
        is_finite: tf.Tensor,
    ) -> None:
        grows = tf.logical_and(is_finite, num_good + 1 >= self._growth_steps)
        raised = tf.where(grows, tf.minimum(value * _FACTOR, _LARGEST), value)
        value.assign(tf.where(is_finite, raised, tf.maximum(value / _FACTOR, SMALLEST)))
        counts_on = tf.logical_and(is_finite, tf.logical_not(grows))
        num_good.assign(tf.where(counts_on, num_good + 1, 0))
        num_skipped.assign_add(tf.cast(tf.logical_not(is_finite), tf.int64))
