"""When a fine-tuning is evaluated, which metric decides, and whether the training ends early."""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bert_tf import identity
from bert_tf.errors import InputError
from bert_tf.formatting import number
from bert_tf.options import FineTuning
from bert_tf.tasks import metrics
from bert_tf.training.inputs import identity_file


@dataclasses.dataclass(frozen=True)
class EvaluationSchedule:
    """The updates after which the dev set is evaluated.

    Attributes:
      interval: updates between two evaluations.
      num_steps: updates of the training, whose end has an evaluation in any case.
    """

    interval: int
    num_steps: int

    def is_due(self, step: int) -> bool:
        """Whether the weights after `step` updates are evaluated."""
        return step % self.interval == 0 or step == self.num_steps

    def next_after(self, step: int) -> int:
        """The first update after `step` with an evaluation."""
        return min(self.num_steps, step - step % self.interval + self.interval)


@dataclasses.dataclass(frozen=True)
class EarlyStopping:
    """Decides from the scores alone, so that a restart decides the same.

    The rule of `keras.callbacks.EarlyStopping`: a score counts as better if it improves the last
    one that counted by more than `min_delta`.

    Attributes:
      metric: name of the metric that decides.
      patience: evaluations in a row without a better score that end the training; None: it never
        ends early.
      min_delta: see above, at least 0.
    """

    metric: str
    patience: int | None
    min_delta: float = 0.0

    def reason(self, scores: Sequence[Mapping[str, Any]]) -> str:
        """Why the training ends after these scores; "" if it goes on.

        Args:
          scores: `step` and metrics of every evaluation so far, in order.
        """
        best: Mapping[str, Any] = {}
        num_waited = 0
        for line in scores:
            is_better = not best or is_improvement(
                self.metric, line[self.metric], best[self.metric], self.min_delta
            )
            best, num_waited = (line, 0) if is_better else (best, num_waited + 1)
        if self.patience is None or num_waited < self.patience:
            return ""
        return self._text(best, num_waited)

    def _text(self, best: Mapping[str, Any], num_waited: int) -> str:
        move = "rise above" if metrics.more_is_better(self.metric) else "fall below"
        by = f" by more than {number(self.min_delta)}" if self.min_delta else ""
        times = "the last evaluation" if num_waited == 1 else f"{num_waited} evaluations in a row"
        return (
            f"{self.metric} did not {move} {number(best[self.metric])}{by}, the score after step "
            f"{best['step']:,}, in {times}"
        )


def is_improvement(metric: str, new: float, old: float, by_more_than: float = 0.0) -> bool:
    """Whether a score is better than another one; one that is not a number never is."""
    gain = new - old if metrics.more_is_better(metric) else old - new
    return gain > by_more_than or (math.isnan(old) and not math.isnan(new))


def deciding_metric(
    options: FineTuning, directory: str, main_metric: str, known: Collection[str]
) -> str:
    """The metric that decides which weights are the best.

    After a training it is the one that decided then, whatever the flags of the evaluation are.

    Args:
      directory: the model directory.
      main_metric: that of the task.
      known: metrics of the task.

    Raises:
      InputError: --best_metric is none of them.
    """
    if options.best_metric and options.best_metric not in known:
        raise InputError(
            f"--best_metric={options.best_metric} is not among the metrics of this data set: "
            f"{', '.join(known)}."
        )
    if options.do_train:
        return options.best_metric or main_metric
    return identity.value(identity_file(directory), "best_metric") or main_metric


def deciding_options(options: FineTuning) -> dict[str, Any]:
    """The flags of evaluations that decide the result of a run, as part of its identity."""
    early_stopping = None
    if options.early_stopping_patience is not None:
        early_stopping = {
            "patience": options.early_stopping_patience,
            "min_delta": options.early_stopping_min_delta,
            "eval_steps": options.eval_steps,
        }
    return {"best_metric": options.best_metric, "early_stopping": early_stopping}
