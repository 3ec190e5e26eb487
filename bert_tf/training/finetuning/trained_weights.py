"""Weights that an earlier training left, to evaluate them and to predict with them."""

import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from keras import Model

from bert_tf.checkpoints.model_directory import MEMBERS, ModelDirectory
from bert_tf.options import FineTuning
from bert_tf.training import setup
from bert_tf.training.devices.strategies import of_this_process
from bert_tf.training.finetuning.predict import Predictor
from bert_tf.training.inputs import Inputs
from bert_tf.training.monitoring import scores as run_scores
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.resume import completion


@dataclasses.dataclass(frozen=True)
class Weights:
    """Weights of a model directory, or of --init_checkpoint.

    Attributes:
      predictor: runs the model that has them.
      step: updates behind them; 0 for those of --init_checkpoint.
      is_last: whether they are those of the end of a training; those of --init_checkpoint count.
      is_best: whether they have the best dev score of a training.
    """

    predictor: Predictor
    step: int
    is_last: bool
    is_best: bool

    def results(self, metrics: dict[str, float], prefix: str = "") -> dict[str, Any]:
        """Their metrics under the names that a training gives them, see `scores.results`."""
        line = {"step": self.step, **metrics}
        last, best = line if self.is_last else None, line if self.is_best else None
        return run_scores.results(last, best, prefix)


def find(
    inputs: Inputs[FineTuning],
    directory: ModelDirectory,
    scores: Scores,
    strategy: tf.distribute.Strategy,
    *,
    with_last: bool,
) -> Iterator[Weights]:
    """Loads weights one after the other, and prints which; those to predict with come at the end.

    These are the best ones, or the last ones of a run without a dev set, those of the members of an
    ensemble, or else those of --init_checkpoint.

    Args:
      scores: of the training in the directory.
      strategy: whose devices the models run on; of several processes only this one's.
      with_last: whether the last weights come before the best ones, to be evaluated too.

    Raises:
      InputError: see `setup.trained_model`.
    """
    if count := len(directory.metadata.settings.get(MEMBERS, {})):
        print(f"Weights: those of the {count} models in {directory.path}", flush=True)
        yield Weights(_on_devices(inputs, strategy, directory.build_model), 0, True, False)
        return
    has_last, has_best = (
        os.path.isdir(os.path.join(directory.path, which)) for which in ("last", "best")
    )
    if not (has_last or has_best):
        made = _on_devices(inputs, strategy, lambda: setup.trained_model(inputs, directory))
        yield Weights(made, 0, True, False)
        return
    last_step = completion.num_updates(directory.path) or 0
    best_step = scores.best["step"] if scores.best else 0
    is_same = last_step == best_step

    def load(which: str, step: int) -> Predictor:
        print(f"Weights: {directory.weights(which)}, those after step {step:,}", flush=True)
        return _on_devices(inputs, strategy, lambda: directory.build_model(which))

    if has_last and (not has_best or (with_last and not is_same)):
        yield Weights(load("last", last_step), last_step, is_last=True, is_best=False)
    if has_best:
        is_last = has_last and is_same
        yield Weights(load("best", best_step), best_step, is_last=is_last, is_best=True)


def _on_devices(
    inputs: Inputs[FineTuning], strategy: tf.distribute.Strategy, new_model: Callable[[], Model]
) -> Predictor:
    """A predictor of a new model on the devices of this process."""
    strategy = of_this_process(strategy)
    with strategy.scope():
        model = new_model()
    return Predictor.of_run(model, inputs.options, strategy)
