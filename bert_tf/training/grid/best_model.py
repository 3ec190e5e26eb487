"""The model of the best run as that of the grid; the weights of the other runs are removed.

The weights are hard links: they take no room of their own, and the run keeps them. Files of weights
are replaced as a whole and never changed in place, so a link is as safe as a copy. Where the file
system has no links, they are copied.
"""

import os
import shutil

from bert_tf import files
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.training.grid.plan import RUNS
from bert_tf.training.grid.results import JSON_NAME, Results

_BEST, _LAST = "best", "last"
# What a run says of its model and of its scores.
_DESCRIPTION = (
    model_directory.CONFIG_FILE,
    model_directory.VOCAB_FILE,
    *("model.json", "eval_results.txt", "scores.jsonl", "evaluation.json"),
    os.path.join("training", "identity.json"),
)


def place(directory: str, name: str) -> None:
    """Makes the model of a run that of the grid.

    Args:
      directory: of the grid.
      name: of the run.

    Raises:
      InputError: its weights are gone, and the grid has none.
    """
    run = os.path.join(directory, RUNS, name)
    source, target = os.path.join(run, _BEST), os.path.join(directory, _BEST)
    if not os.path.isdir(source):
        if os.path.isdir(target):
            return
        raise InputError(
            f"{source} is gone, the weights of the best run. Remove {JSON_NAME} from {directory}, "
            "and the same command makes again the runs whose weights are gone."
        )
    if not _is_same(source, target):
        with files.replacing_directory(target) as temporary:
            for file in sorted(os.listdir(source)):
                _link(os.path.join(source, file), os.path.join(temporary, file))
    for file in _DESCRIPTION:
        if os.path.exists(os.path.join(run, file)):
            with files.replacing(os.path.join(directory, file)) as temporary:
                shutil.copyfile(os.path.join(run, file), temporary)


def _is_same(source: str, target: str) -> bool:
    """Whether a directory holds links to the files of another, and nothing else."""
    if not os.path.isdir(target) or sorted(os.listdir(source)) != sorted(os.listdir(target)):
        return False
    return all(
        os.path.samefile(os.path.join(source, file), os.path.join(target, file))
        for file in os.listdir(source)
    )


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def remove_others(directory: str, results: Results) -> None:
    """Removes the weights of complete runs that are not the best; their scores and reports stay."""
    for run in results.complete:
        if run is not results.best:
            for which in (_BEST, _LAST):
                path = os.path.join(directory, RUNS, run.name, which)
                shutil.rmtree(path, ignore_errors=True)
