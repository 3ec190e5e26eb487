"""What `compile()` chooses where nothing is given: the optimizer and schedule of the scripts."""

import keras
import tensorflow as tf

from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.schedules import Schedule

LEARNING_RATE = 5e-5  # run_classifier.py, and the middle of appendix A.3
_WARMUP_PROPORTION = 0.1  # run_classifier.py


def new_optimizer(model: keras.Model, learning_rate: float) -> keras.optimizers.Optimizer:
    """AdamW as in the scripts: the same decay, the same epsilon, clipping to norm 1.

    Keras computes some of it otherwise; docs/library.md says what.

    Args:
      learning_rate: the peak of the schedule.
    """
    optimizer = keras.optimizers.AdamW(
        learning_rate, weight_decay=0.01, epsilon=1e-6, global_clipnorm=1.0
    )
    groups = parameter_groups.of(model)
    pairs = zip(model.trainable_variables, groups, strict=True)
    optimizer.exclude_from_weight_decay([v for v, group in pairs if not group.decays])
    return optimizer


class WarmupAndDecay(keras.callbacks.Callback):
    """Sets the learning rate before every batch: a warm-up to the peak, then linear decay to 0.

    The learning rates are those of the scripts. Where the number of batches is not known
    beforehand, the peak stays.

    Args:
      peak: the highest learning rate.
    """

    def __init__(self, peak: float) -> None:
        super().__init__()
        self._peak = peak
        self._schedule: Schedule | None = None
        self._num_done = 0

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Plans the updates of this `fit`."""
        epochs, steps = self.params.get("epochs"), self.params.get("steps")
        self._num_done = 0
        self._schedule = None
        if epochs and steps:
            num_steps = epochs * steps
            self._schedule = Schedule(self._peak, num_steps, int(num_steps * _WARMUP_PROPORTION))

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """Sets the learning rate of the next update."""
        self._num_done += 1
        if self._schedule:
            rate = self._schedule(tf.constant(self._num_done))
            self.model.optimizer.learning_rate = float(rate)
