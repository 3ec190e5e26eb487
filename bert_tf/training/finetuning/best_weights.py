"""Dev-set scores and best weights of a run: on the disk or, while that is full, in memory."""

import functools
import os
import sys
from collections.abc import Callable

import keras
import numpy as np

from bert_tf import files
from bert_tf.checkpoints import saving
from bert_tf.config import BertConfig
from bert_tf.formatting import size
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.training.monitoring import evaluation_file
from bert_tf.training.monitoring.scores import Scores

Write = Callable[[], None]


def _once(write: Write) -> None:
    write()


class BestWeights:
    """Keeps scores.jsonl, evaluation.json and `best/` of a run.

    A full disk does not end the run. What it refuses stays in memory and is tried again at the next
    evaluation, before the next training state (`write` is made for `Loop.before_save`) and in
    `finish`. Until then no training state is saved: a restart from it would not make these weights
    again.

    Args:
      directory: the model directory.
      scores: what earlier starts of the run left.
      make_room: calls what writes, see `loop.Loop.write`; by default once.
    """

    def __init__(
        self, directory: str, scores: Scores, make_room: Callable[[Write], None] = _once
    ) -> None:
        self._directory, self._path = directory, os.path.join(directory, "best")
        self._scores, self._make_room = scores, make_room
        # The best weights while they are not written, and their configuration.
        self._unwritten: tuple[dict[str, np.ndarray], BertConfig] | None = None
        self._unwritten_evaluation: tuple[int, Evaluation] | None = None
        self._has_unwritten_scores = False

    def add(self, step: int, found: Evaluation, model: keras.Model) -> bool:
        """Keeps the scores of a model after `step` updates, and its weights if they are the best.

        Returns:
          Whether they are the best so far.
        """
        is_best = self._scores.add(step, found.metrics)
        self._has_unwritten_scores = True
        if is_best:
            self._unwritten = saving.to_arrays(model), model.config
            self._unwritten_evaluation = step, found
        if not self.write() and self._unwritten:
            arrays, config = self._unwritten
            # Copies: the next update changes the variables.
            self._unwritten = {name: array.copy() for name, array in arrays.items()}, config
        return is_best

    def write(self) -> bool:
        """Writes what is not on the disk; warns and returns False if it is full."""
        try:
            self.finish()
        except Exception as error:
            if not files.is_disk_full(error):
                raise
            self._warn()
            return False
        return True

    def finish(self) -> None:
        """Writes what is not on the disk.

        Raises:
          OSError, tf.errors.OpError: the disk is full.
        """
        if self._unwritten:
            self._make_room(functools.partial(saving.write, *self._unwritten, self._path))
            self._unwritten = None
        if self._unwritten_evaluation:
            write = functools.partial(evaluation_file.write, self._directory)
            self._make_room(functools.partial(write, *self._unwritten_evaluation))
            self._unwritten_evaluation = None
        if self._has_unwritten_scores:
            self._make_room(self._scores.write)
            self._has_unwritten_scores = False

    def _warn(self) -> None:
        arrays = self._unwritten[0] if self._unwritten else {}
        needed = sum(array.nbytes for array in arrays.values())
        free = size(files.free_bytes(self._path))
        print(
            f"WARNING: the disk is full; {self._path} or scores.jsonl next to it could not be "
            f"written ({size(needed)} are needed, {free} are free). The run continues. It keeps "
            "them in memory, and saves no training state until they are on the disk. Make room.",
            file=sys.stderr,
            flush=True,
        )
