"""AdamW and LAMB on dense gradients.

Gradients arrive already summed over all replicas, so clipping and the moments see the
gradient of the global batch whatever the number of replicas.
"""

import abc
import math
import typing

import numpy as np
import tensorflow as tf


class _Step(typing.NamedTuple):
    """Scalars of one update, float32. The corrections are 1 without bias correction."""

    rate: tf.Tensor
    beta_1: tf.Tensor
    beta_2: tf.Tensor
    correction_1: tf.Tensor
    correction_2: tf.Tensor


class Optimizer(tf.Module, abc.ABC):
    """What the two share: clipping, the loss scale, Adam's moments in float32.

    Made under the strategy's scope, so that the moments lie beside the weights.

    Args:
      variables: list of `tf.Variable`, the weights.
      schedule: callable from update number to learning rate.
      roles: list of `roles.Role` of the variables.
      weight_decay_rate: decay per update and unit learning rate, of the variables that decay.
      bias_correction: whether the moments are corrected for their start at 0.
      max_grad_norm: global norm that gradients are clipped to.
      loss_scale: `loss_scale.LossScale` for layers that compute in float16, or None.
    """

    def __init__(
        self,
        variables,
        schedule,
        *,
        roles,
        weight_decay_rate,
        bias_correction,
        max_grad_norm,
        loss_scale=None,
    ):
        super().__init__()
        self.schedule = schedule
        self.max_grad_norm = max_grad_norm
        self.loss_scale = loss_scale
        self._roles = roles
        self._decay_rate = weight_decay_rate
        self._bias_correction = bias_correction
        self._beta_1, self._beta_2 = 0.9, 0.999  # paper appendix A.2
        self._epsilon = 1e-6  # released optimization.py; not in the paper
        self._first = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self._second = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]

    def scaled(self, loss):
        """The loss to differentiate, float32 scalar; `apply` takes the factor out again."""
        return loss if self.loss_scale is None else loss * self.loss_scale.value

    def learning_rate(self, update):
        """Learning rate of update number `update`; behind a skipped one, still the one before."""
        return self.schedule(self._updates_made(update))

    def apply(self, gradients, variables, update):
        """Clips and updates; called in the replica context of `strategy.run`.

        With a loss scale, an update whose gradients are not all finite changes nothing but the
        scale; see `loss_scale.LossScale`.

        Args:
          gradients: list of dense tensors, or None where a variable has none; equal on all
            replicas.
          variables: the list that the optimizer was made with.
          update: int64 scalar, 1 for the first update, skipped ones included.

        Returns:
          global norm of the gradients before clipping, the loss scale taken out, float32
          scalar. Where it is not finite, an update with a loss scale was skipped.
        """
        used = [index for index, gradient in enumerate(gradients) if gradient is not None]
        gradients = [gradients[index] for index in used]
        norm = tf.linalg.global_norm(gradients)
        if self.loss_scale is not None:
            norm = norm / self.loss_scale.value
        factor = self.max_grad_norm / tf.maximum(norm, self.max_grad_norm)
        is_good = tf.math.is_finite(norm)
        if self.loss_scale is None:
            clipped = [gradient * factor for gradient in gradients]
        else:
            factor = tf.where(is_good, factor / self.loss_scale.value, 0.0)
            clipped = [tf.math.multiply_no_nan(gradient, factor) for gradient in gradients]

        def update_all(strategy, gradients, step, is_good):
            for index, gradient in zip(used, gradients, strict=True):
                strategy.extended.update(
                    variables[index],
                    self._update_one,
                    args=(gradient, self._first[index], self._second[index], step),
                    kwargs={"role": self._roles[index]},
                    group=False,
                )
            if self.loss_scale is not None:
                self.loss_scale.record(strategy, is_good)

        tf.distribute.get_replica_context().merge_call(
            update_all, args=(clipped, self._step(update, is_good), is_good)
        )
        return norm

    def _updates_made(self, update):
        """Number of the update, skipped ones left out."""
        num_skipped = 0 if self.loss_scale is None else self.loss_scale.num_skipped
        return tf.cast(update, tf.int64) - num_skipped

    def _step(self, update, is_good):
        update = tf.cast(self._updates_made(update), tf.float32)
        rate, beta_1, beta_2 = self.schedule(update), self._beta_1, self._beta_2
        correction_1 = correction_2 = tf.constant(1.0)
        if self._bias_correction:
            correction_1, correction_2 = _correction(beta_1, update), _correction(beta_2, update)
        if self.loss_scale is not None:
            # With these, and gradients of 0, weights and moments stay what they are.
            rate = tf.where(is_good, rate, 0.0)
            beta_1, beta_2 = (tf.where(is_good, beta, 1.0) for beta in (beta_1, beta_2))
        return _Step(
            *(tf.convert_to_tensor(each, tf.float32) for each in (rate, beta_1, beta_2)),
            correction_1,
            correction_2,
        )

    @abc.abstractmethod
    def _update_one(self, variable, gradient, first, second, step, role):
        """Updates a variable and its moments, by a clipped gradient that is not None."""


class AdamW(Optimizer):
    """Adam (Kingma and Ba 2015, algorithm 1) with decoupled weight decay.

    Without bias correction it is the released optimization.py.
    """

    def _update_one(self, variable, gradient, first, second, step, role):
        if role.decays and self._decay_rate:
            variable.assign_sub(step.rate * self._decay_rate * variable)
        # The fused kernel would correct the bias too, but from the powers of the betas, which
        # lose digits when taken from 1; powers of 0 leave it to us.
        root = tf.sqrt(step.correction_2)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=first.handle,
            v=second.handle,
            beta1_power=0.0,
            beta2_power=0.0,
            lr=step.rate * root / step.correction_1,
            beta1=step.beta_1,
            beta2=step.beta_2,
            epsilon=self._epsilon * root,
            grad=gradient,
        )


class LAMB(Optimizer):
    """AdamW whose change of each matrix is scaled to the norm of that matrix.

    You et al. 2020 (arXiv 1904.00962), algorithm 2, with the norm itself as its function phi.
    What does not decay has no trust ratio, as in the implementation in google-research/albert;
    that one has no bias correction. The one in NVIDIA's DeepLearningExamples corrects the bias
    and gives biases and LayerNorm a trust ratio too. Both keep the same two moments a weight.
    """

    def _update_one(self, variable, gradient, first, second, step, role):
        first.assign_add((1.0 - step.beta_1) * (gradient - first))
        second.assign_add((1.0 - step.beta_2) * (tf.square(gradient) - second))
        root = tf.sqrt(second / step.correction_2)
        change = first / step.correction_1 / (root + self._epsilon)
        if role.decays:
            change += self._decay_rate * variable
            change *= _trust_ratio(variable, change, role.num_blocks)
        variable.assign_sub(step.rate * change)


def _correction(beta, update):
    """1 - beta**update without loss of digits, for the beta that float32 holds."""
    return -tf.math.expm1(update * math.log(np.float32(beta)))


def _trust_ratio(variable, change, num_blocks):
    """||variable|| / ||change|| of each block of columns, or 1 where either is 0: [columns]."""
    rows, columns = variable.shape

    def norms(matrix):
        blocks = tf.reshape(matrix, (rows, num_blocks, columns // num_blocks))
        return tf.sqrt(tf.reduce_sum(tf.square(blocks), axis=(0, 2)))

    of_weights, of_change = norms(variable), norms(change)
    is_defined = tf.logical_and(of_weights > 0.0, of_change > 0.0)
    ratios = tf.where(is_defined, tf.math.divide_no_nan(of_weights, of_change), 1.0)
    return tf.repeat(ratios, columns // num_blocks)
