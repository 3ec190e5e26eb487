"""AdamW on dense gradients, and the learning-rate schedule (paper appendix A.2).

Gradients arrive already summed over all replicas, so clipping and the moments see the
gradient of the global batch whatever the number of replicas.
"""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Linear warm-up to `peak`, then linear decay that would reach 0 one update after the last.

    The two lines meet at the end of the warm-up; the released code jumps there, because its
    decay is already under way.

    Attributes:
      peak: learning rate per update.
      num_steps: updates in all.
      num_warmup_steps: updates until the peak.
    """

    peak: float
    num_steps: int
    num_warmup_steps: int

    def __call__(self, update):
        """Learning rate, float32 scalar, of update number `update` (1 is the first)."""
        update = tf.cast(update, tf.float32)
        rise = update / max(1, self.num_warmup_steps)
        fall = (self.num_steps + 1 - update) / (self.num_steps + 1 - self.num_warmup_steps)
        return self.peak * tf.maximum(0.0, tf.minimum(rise, fall))


class AdamW(tf.Module):
    """Adam (Kingma and Ba 2015, algorithm 1) with decoupled weight decay.

    Matrices decay; vectors (biases, LayerNorm's scale and offset) do not. Moments are float32.
    Made under the strategy's scope, so that the moments lie beside the weights.

    Attributes:
      schedule: callable from update number to learning rate.
      max_grad_norm: global norm that gradients are clipped to.
    """

    def __init__(self, variables, schedule, *, weight_decay_rate, bias_correction, max_grad_norm):
        super().__init__()
        self.schedule = schedule
        self.max_grad_norm = max_grad_norm
        self._decay_rate = weight_decay_rate
        self._bias_correction = bias_correction
        self._beta_1, self._beta_2 = 0.9, 0.999  # paper appendix A.2
        self._epsilon = 1e-6  # released optimization.py; not in the paper
        self._first = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self._second = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]

    def apply(self, gradients, variables, update):
        """Clips and updates; called in the replica context of `strategy.run`.

        Args:
          gradients: list of dense tensors, or None where a variable has none; equal on all
            replicas.
          variables: the list that the optimizer was made with.
          update: int64 scalar, 1 for the first update.

        Returns:
          global norm of the gradients before clipping, float32 scalar.
        """
        used = [index for index, gradient in enumerate(gradients) if gradient is not None]
        clipped, norm = tf.clip_by_global_norm([gradients[i] for i in used], self.max_grad_norm)
        rate = self.schedule(update)
        tf.distribute.get_replica_context().merge_call(
            self._update_all,
            args=(
                [variables[i] for i in used],
                clipped,
                [self._first[i] for i in used],
                [self._second[i] for i in used],
                rate,
                tf.cast(update, tf.float32),
            ),
        )
        return norm

    def _update_all(self, strategy, variables, gradients, firsts, seconds, rate, update):
        for variable, gradient, first, second in zip(
            variables, gradients, firsts, seconds, strict=True
        ):
            strategy.extended.update(
                variable,
                self._update_one,
                args=(gradient, first, second, rate, update),
                group=False,
            )

    def _update_one(self, variable, gradient, first, second, rate, update):
        if variable.shape.rank >= 2 and self._decay_rate:
            variable.assign_sub(rate * self._decay_rate * variable)
        # The fused kernel corrects the bias of the moments with the two powers; powers of 0
        # leave it uncorrected. Its epsilon stands beside the uncorrected root, hence the factor.
        power_1 = power_2 = tf.constant(0.0)
        if self._bias_correction:
            power_1, power_2 = self._beta_1**update, self._beta_2**update
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=first.handle,
            v=second.handle,
            beta1_power=power_1,
            beta2_power=power_2,
            lr=rate,
            beta1=self._beta_1,
            beta2=self._beta_2,
            epsilon=self._epsilon * tf.sqrt(1.0 - power_2),
            grad=gradient,
        )
