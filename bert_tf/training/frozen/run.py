"""The vectors of a training run's rows, there while it goes on."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence

from bert_tf.examples.rows import Rows
from bert_tf.options import TaskTraining
from bert_tf.training import setup
from bert_tf.training.finetuning.task_data import Labelled
from bert_tf.training.frozen.cached_rows import VectorCache
from bert_tf.training.resume import completion

_DIRECTORY = "layer_vectors"


@contextlib.contextmanager
def with_vectors(
    run: setup.Run[TaskTraining], rows: Rows, dev: Sequence[Labelled]
) -> Iterator[tuple[Rows, Sequence[Labelled]]]:
    """Yields the rows of a run as its model reads them, in training and in evaluation.

    Of a model on frozen layers: with the vectors of these, which are computed before the first
    update, kept in the run's directory for a restart, and deleted when the training is complete.
    Every other model, and the evaluation of a complete run, takes the rows as they are.

    Raises:
      InputError: the disk has no room for the vectors.
    """
    directory, checkpoint = run.directory, run.inputs.checkpoint
    is_complete = completion.num_updates(directory.path) is not None
    if not directory.metadata.feature_based or is_complete or checkpoint is None:
        yield rows, dev
        return
    cache = VectorCache(
        os.path.join(directory.path, "training", _DIRECTORY),
        run.inputs.config,
        checkpoint,
        directory.metadata.feature_based,
    )
    with_theirs = [
        dataclasses.replace(each, rows=cache.of(each.rows, f"dev{number}"))
        for number, each in enumerate(dev)
    ]
    yield cache.of(rows, "train"), with_theirs
    cache.remove()
