"""Weights that an earlier training left, to evaluate them and to predict with them."""

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.training import setup
from bert_tf.training.inputs import Inputs
from bert_tf.training.monitoring import scores as run_scores
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.predict import Predictor
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
    inputs: Inputs, directory: ModelDirectory, scores: Scores, *, with_last: bool
) -> Iterator[Weights]:
    """Loads weights one after the other, and prints which; those to predict with come at the end.

    These are the best ones, or the last ones of a run without a dev set, or else those of
    --init_checkpoint.

    Args:
      scores: of the training in the directory.
      with_last: whether the last weights come before the best ones, to be evaluated too.

    Raises:
      InputError: see `setup.trained_model`.
    """
    has_last, has_best = (
        os.path.isdir(os.path.join(directory.path, which)) for which in ("last", "best")
    )
    if not (has_last or has_best):
        yield Weights(Predictor(setup.trained_model(inputs, directory)), 0, True, False)
        return
    last_step = completion.num_updates(directory.path) or 0
    best_step = scores.best["step"] if scores.best else 0
    is_same = last_step == best_step
    if has_last and (not has_best or (with_last and not is_same)):
        yield _load(directory, "last", last_step, is_last=True, is_best=False)
    if has_best:
        yield _load(directory, "best", best_step, is_last=has_last and is_same, is_best=True)


def _load(
    directory: ModelDirectory, which: str, step: int, *, is_last: bool, is_best: bool
) -> Weights:
    """Prints which weights these are, and loads them."""
    print(f"Weights: {directory.weights(which)}, those after step {step:,}", flush=True)
    return Weights(Predictor(directory.build_model(which)), step, is_last, is_best)
