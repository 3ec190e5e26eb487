"""The processes of one run, and what they decide together: which state, whether to stop."""

from collections.abc import Sequence

import tensorflow as tf


class Workers:
    """The processes that a strategy runs in; one, unless it is MultiWorkerMirroredStrategy.

    One process exchanges nothing. With several, `from_chief` and `any` are collective: every
    process calls them, in the same order.

    Attributes:
      is_chief: whether this process writes what the run keeps.
      are_several: whether there is more than one process.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        self.is_chief, self.are_several = True, False
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            resolver = strategy.cluster_resolver
            tasks = resolver.cluster_spec().as_dict()
            self.are_several = sum(map(len, tasks.values())) > 1
            first = "chief" if "chief" in tasks else "worker"
            here = (resolver.task_type or first, resolver.task_id or 0)
            self.is_chief = here == (first, 0)
        self._first = tf.function(self._sum_of_first, autograph=False)
        self._all = tf.function(self._sum_of_all, autograph=False)

    def from_chief(self, numbers: Sequence[int]) -> list[int]:
        """The chief's numbers, in every process; the others' only need the same length."""
        if not self.are_several:
            return list(numbers)
        return [int(n) for n in self._first(tf.constant(numbers, tf.int64)).numpy()]

    def any(self, flag: bool) -> bool:
        """Whether a flag is set in any of the processes."""
        if not self.are_several:
            return bool(flag)
        return int(self._all(tf.constant(int(flag), tf.int64)).numpy()) > 0

    def _sum_of_first(self, values: tf.Tensor) -> tf.Tensor:
        """The values of replica 0, which is the chief's: the other replicas add zeros."""

        def share() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            is_first = tf.equal(context.replica_id_in_sync_group, 0)
            return context.all_reduce("SUM", tf.where(is_first, values, tf.zeros_like(values)))

        return self._strategy.experimental_local_results(self._strategy.run(share))[0]

    def _sum_of_all(self, value: tf.Tensor) -> tf.Tensor:
        def share() -> tf.Tensor:
            mine = tf.identity(value)  # on the replica's device, where it is summed
            return tf.distribute.get_replica_context().all_reduce("SUM", mine)

        return self._strategy.experimental_local_results(self._strategy.run(share))[0]
