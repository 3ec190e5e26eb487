"""The objective of a student: the labels, the teacher's answers, the teacher's hidden states.

DistilBERT (Sanh et al. 2019, arXiv 1910.01108, section 3) adds up such losses, each with a weight.
There the labels are masked tokens; here, as in its section 4 and in Hinton et al. 2015, those of a
task.
"""

from typing import Any

import keras
from keras import ops

from bert_tf import features
from bert_tf.modeling import distillation_losses
from bert_tf.options import TaskTraining
from bert_tf.tasks.task import Batch, SumAndCount, Task

_LABELS, _TEACHER, _HIDDEN = "label_loss", "teacher_loss", "hidden_state_loss"


class Distillation:
    """A task that is learned from its labels and from a teacher, in shares.

    Each of the losses is a (sum, count) of its own, times its weight, so that the mean over
    replicas and micro-batches is the global one.

    Args:
      task: its batches have the features that `Task.teacher_features` makes.
      options: the weights and the temperature.
      teacher: gives its hidden states, see `models`; None: the student does not learn them.

    Attributes:
      identity: what of teacher and task decides the result of a run.
    """

    def __init__(
        self,
        task: Task,
        options: TaskTraining,
        identity: dict[str, Any],
        teacher: keras.Model | None = None,
    ) -> None:
        self._task, self._teacher = task, teacher
        self._temperature = options.distillation_temperature
        alpha = options.distillation_alpha
        weights = {_LABELS: 1.0 - alpha, _TEACHER: alpha, _HIDDEN: options.distillation_alpha_cos}
        self._weights = {name: weight for name, weight in weights.items() if weight}
        self.identity = task.identity | identity

    @property
    def reads_hidden_states(self) -> bool:
        """Whether `measure` wants the model's last hidden states among its outputs."""
        return _HIDDEN in self._weights

    @property
    def losses(self) -> tuple[str, ...]:
        """See `Objective`; without those whose weight is 0."""
        return tuple(self._weights)

    def without_effect(self, num_layers: int) -> tuple[str, ...]:
        """See `Objective`."""
        return self._task.without_effect(num_layers)

    def prepare(self, batch: Batch) -> Batch:
        """See `Objective`."""
        return self._task.prepare(batch)

    def counts(self, batch: Batch) -> dict[str, Any]:
        """See `Objective`."""
        (count,) = self._task.counts(batch).values()
        counts = {_LABELS: count, _TEACHER: count, _HIDDEN: ops.sum(_token_weights(batch))}
        return {name: counts[name] for name in self._weights}

    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        """See `Objective`; the losses are those times their weights."""
        measured = self._task.measure(outputs, batch)
        found = {_LABELS: measured.pop("loss")}
        if _TEACHER in self._weights:
            found[_TEACHER] = self._task.distillation_loss(outputs, batch, self._temperature)
        if self.reads_hidden_states:
            found[_HIDDEN] = self._hidden_states(outputs, batch)
        for name, weight in self._weights.items():
            total, count = found[name]
            measured[name] = (total * weight, count)
        return measured

    def _hidden_states(self, outputs: dict[str, Any], batch: Batch) -> SumAndCount:
        assert self._teacher is not None, "a weight of hidden states comes with a teacher"
        theirs = self._teacher(batch, training=False)["sequence_output"]
        return distillation_losses.hidden_states(
            outputs["sequence_output"], ops.stop_gradient(theirs), _token_weights(batch)
        )


def _token_weights(batch: Batch) -> Any:
    """float32 [B T] or [B W T]: the weight of the row, 0 at padding."""
    real = ops.cast(batch[features.MASK.name], "float32")
    if (weights := batch.get(features.EXAMPLE_WEIGHTS.name)) is None:
        return real
    return real * ops.reshape(weights, (-1, *[1] * (len(real.shape) - 1)))
