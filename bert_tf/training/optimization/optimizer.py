"""AdamW and LAMB on dense gradients.

Gradients arrive already summed over all replicas, so clipping and the moments see the
gradient of the global batch whatever the number of replicas.
"""

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf.training.optimization.loss_scale import LossScale
from bert_tf.training.optimization.parameter_groups import ParameterGroup


class _Step(NamedTuple):
    """Float32 scalars of one update. The corrections are 1 without bias correction."""

    rate: tf.Tensor
    beta_1: tf.Tensor
    beta_2: tf.Tensor
    correction_1: tf.Tensor
    correction_2: tf.Tensor

    def with_rate_of(self, factor: float) -> "_Step":
        """The update of variables whose learning rate has a factor."""
        return self if factor == 1 else self._replace(rate=self.rate * factor)


class _AdamScalars(NamedTuple):
    """Float32 scalars of an update by `AdamW`: arguments of the fused kernel, and of the decay.

    Attributes:
      rate, epsilon: with the bias correction in them.
      decay: what a weight that decays loses, as a share of its distance from the anchor.
      zero: what the kernel is given for the powers of the betas.
    """

    rate: tf.Tensor
    epsilon: tf.Tensor
    beta_1: tf.Tensor
    beta_2: tf.Tensor
    decay: tf.Tensor
    zero: tf.Tensor


class _LambScalars(NamedTuple):
    """Float32 scalars of an update by `LAMB`; `new_1` and `new_2` are 1 minus the betas."""

    rate: tf.Tensor
    new_1: tf.Tensor
    new_2: tf.Tensor
    correction_1: tf.Tensor
    correction_2: tf.Tensor


class Optimizer(tf.Module, abc.ABC):
    """Clipping, the loss scale and Adam's moments in float32.

    Create it under the strategy's scope, so that the moments are placed with the weights.

    Args:
      variables: the weights.
      schedule: from update number to learning rate.
      groups: of each variable.
      weight_decay_rate: decay per update and unit learning rate, of the variables that decay, and
        towards the anchors that their groups have.
      bias_correction: whether the moments are corrected for starting at 0.
      max_grad_norm: global norm that gradients are clipped to; 0: they are not clipped.
      loss_scale: for layers that compute in float16, or None.
    """

    def __init__(
        self,
        variables: Sequence[tf.Variable],
        schedule: Callable[[tf.Tensor], tf.Tensor],
        *,
        groups: Sequence[ParameterGroup],
        weight_decay_rate: float,
        bias_correction: bool,
        max_grad_norm: float,
        loss_scale: LossScale | None = None,
    ) -> None:
        super().__init__()
        self.schedule = schedule
        self.max_grad_norm = max_grad_norm
        self.loss_scale = loss_scale
        self._groups = groups
        self._decay_rate = weight_decay_rate
        self._bias_correction = bias_correction
        self._beta_1, self._beta_2 = 0.9, 0.999  # paper appendix A.2
        self._epsilon = 1e-6  # released optimization.py; not in the paper
        self._first = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self._second = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]

    def scaled(self, loss: tf.Tensor) -> tf.Tensor:
        """The loss to differentiate, float32 scalar; `apply` divides by the factor again."""
        return loss if self.loss_scale is None else loss * self.loss_scale.value

    def learning_rate(self, update: tf.Tensor) -> tf.Tensor:
        """Learning rate of update number `update`; a skipped update does not advance it."""
        return self.schedule(self._updates_made(update))

    def apply(
        self,
        gradients: Sequence[tf.Tensor | None],
        variables: Sequence[tf.Variable],
        update: tf.Tensor,
    ) -> tf.Tensor:
        """Clips and updates; call it in the replica context of `strategy.run`.

        With a loss scale, an update whose gradients are not all finite changes nothing but the
        scale; see `loss_scale.LossScale`.

        Args:
          gradients: dense, None where a variable has none; equal on all replicas.
          variables: those that the optimizer was created with.
          update: int64 scalar, 1 for the first update, skipped ones included.

        Returns:
          Global norm of the unscaled gradients before clipping, float32 scalar. If it is not
          finite, an update with a loss scale was skipped.
        """
        used = [index for index, gradient in enumerate(gradients) if gradient is not None]
        gradients = [gradients[index] for index in used]
        norm = tf.linalg.global_norm(gradients)
        if self.loss_scale is not None:
            norm = norm / self.loss_scale.value
        factor = self._clipping_factor(norm)
        is_good = tf.math.is_finite(norm)
        if self.loss_scale is None:
            clipped = [gradient * factor for gradient in gradients]
        else:
            factor = tf.where(is_good, factor / self.loss_scale.value, 0.0)
            clipped = [tf.math.multiply_no_nan(gradient, factor) for gradient in gradients]

        def update_all(
            strategy: tf.distribute.Strategy,
            gradients: Sequence[tf.Tensor],
            scalars: dict[float, tuple[tf.Tensor, ...]],
            is_good: tf.Tensor,
        ) -> None:
            for index, gradient in zip(used, gradients, strict=True):
                group = self._groups[index]
                moments = self._first[index], self._second[index]
                # The anchor on its own: a strategy finds its copy on the device in arguments only.
                strategy.extended.update(
                    variables[index],
                    self._update_one,
                    args=(gradient, *moments, scalars[group.rate_factor], group.anchor),
                    kwargs={"group": group},
                    group=False,
                )
            if self.loss_scale is not None:
                self.loss_scale.record(strategy, is_good)

        # Computed once and not for every variable, which were half of the optimizer's operations.
        step = self._step(update, is_good)
        factors = sorted({self._groups[index].rate_factor for index in used})
        scalars = {factor: self._scalars(step.with_rate_of(factor)) for factor in factors}
        tf.distribute.get_replica_context().merge_call(update_all, args=(clipped, scalars, is_good))
        return norm

    def _clipping_factor(self, norm: tf.Tensor) -> tf.Tensor:
        """What gradients of this global norm are multiplied by."""
        if not self.max_grad_norm:
            return tf.ones_like(norm)
        return self.max_grad_norm / tf.maximum(norm, self.max_grad_norm)

    def _updates_made(self, update: tf.Tensor) -> tf.Tensor:
        """Number of the update without skipped ones."""
        num_skipped = 0 if self.loss_scale is None else self.loss_scale.num_skipped
        return tf.cast(update, tf.int64) - num_skipped

    def _step(self, update: tf.Tensor, is_good: tf.Tensor) -> _Step:
        update = tf.cast(self._updates_made(update), tf.float32)
        rate, beta_1, beta_2 = self.schedule(update), self._beta_1, self._beta_2
        correction_1 = correction_2 = tf.constant(1.0)
        if self._bias_correction:
            correction_1, correction_2 = _correction(beta_1, update), _correction(beta_2, update)
        if self.loss_scale is not None:
            # With these and gradients of 0, weights and moments do not change.
            rate = tf.where(is_good, rate, 0.0)
            beta_1, beta_2 = (tf.where(is_good, beta, 1.0) for beta in (beta_1, beta_2))
        scalars = (rate, beta_1, beta_2, correction_1, correction_2)
        return _Step._make(tf.convert_to_tensor(scalar, tf.float32) for scalar in scalars)

    @abc.abstractmethod
    def _scalars(self, step: _Step) -> tuple[tf.Tensor, ...]:
        """What `_update_one` takes of the step of the variables with one learning rate."""

    @abc.abstractmethod
    def _update_one(
        self,
        variable: tf.Variable,
        gradient: tf.Tensor,
        first: tf.Variable,
        second: tf.Variable,
        scalars: Any,
        anchor: tf.Variable | None,
        group: ParameterGroup,
    ) -> None:
        """Updates a variable and its moments, by a clipped gradient; `scalars`: `_scalars`."""


class AdamW(Optimizer):
    """Adam (Kingma and Ba 2015, algorithm 1) with decoupled weight decay.

    Without bias correction it is the released optimization.py.
    """

    def _scalars(self, step):
        root = tf.sqrt(step.correction_2)
        return _AdamScalars(
            rate=step.rate * root / step.correction_1,
            epsilon=self._epsilon * root,
            beta_1=step.beta_1,
            beta_2=step.beta_2,
            decay=step.rate * self._decay_rate,
            zero=tf.constant(0.0),
        )

    def _update_one(self, variable, gradient, first, second, scalars, anchor, group):
        if group.decays and self._decay_rate:
            change = scalars.decay * _away_from(anchor, variable)
            variable.assign_sub(change, read_value=False)
        # The fused kernel could correct the bias too, but from the powers of the betas, which
        # lose digits when subtracted from 1; with powers of 0 it does not.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=first.handle,
            v=second.handle,
            beta1_power=scalars.zero,
            beta2_power=scalars.zero,
            lr=scalars.rate,
            beta1=scalars.beta_1,
            beta2=scalars.beta_2,
            epsilon=scalars.epsilon,
            grad=gradient,
        )


class LAMB(Optimizer):
    """AdamW whose change of each matrix is scaled to the norm of that matrix.

    You et al. 2020 (arXiv 1904.00962), algorithm 2, with the norm itself as its function phi.
    What does not decay has no trust ratio, as in google-research/albert, which has no bias
    correction. NVIDIA's DeepLearningExamples correct the bias and give biases and LayerNorm a
    trust ratio too. Both keep the same two moments per weight.
    """

    def _scalars(self, step):
        return _LambScalars(
            rate=step.rate,
            new_1=1.0 - step.beta_1,
            new_2=1.0 - step.beta_2,
            correction_1=step.correction_1,
            correction_2=step.correction_2,
        )

    def _update_one(self, variable, gradient, first, second, scalars, anchor, group):
        first.assign_add(scalars.new_1 * (gradient - first))
        second.assign_add(scalars.new_2 * (tf.square(gradient) - second))
        root = tf.sqrt(second / scalars.correction_2)
        change = first / scalars.correction_1 / (root + self._epsilon)
        if group.decays:
            change += self._decay_rate * _away_from(anchor, variable)
            change *= _trust_ratio(variable, change, group.num_blocks)
        variable.assign_sub(scalars.rate * change)


def _away_from(anchor: tf.Variable | None, variable: tf.Variable) -> tf.Variable | tf.Tensor:
    """How far a variable is from what it decays towards."""
    return variable if anchor is None else variable - anchor


def _correction(beta: float, update: tf.Tensor) -> tf.Tensor:
    """1 - beta**update without loss of digits, for the nearest beta in float32."""
    return -tf.math.expm1(update * math.log(np.float32(beta)))


def _trust_ratio(variable: tf.Variable, change: tf.Tensor, num_blocks: int) -> tf.Tensor:
    """||variable|| / ||change|| of each block of columns, or 1 where either is 0: [columns]."""
    rows, columns = variable.shape

    def norms(matrix: tf.Tensor) -> tf.Tensor:
        blocks = tf.reshape(matrix, (rows, num_blocks, columns // num_blocks))
        return tf.sqrt(tf.reduce_sum(tf.square(blocks), axis=(0, 2)))

    of_weights, of_change = norms(variable), norms(change)
    is_defined = tf.logical_and(of_weights > 0.0, of_change > 0.0)
    ratios = tf.where(is_defined, tf.math.divide_no_nan(of_weights, of_change), 1.0)
    return tf.repeat(ratios, columns // num_blocks)
