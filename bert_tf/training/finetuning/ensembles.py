"""What --ensemble asks for: models, checked against the run, in its model directory.

A directory without weights takes part with its prediction files. Then only predictions are made: a
model directory cannot hold what is no model.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bert_tf.checkpoints import ensembles, model_directory
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.model_directory import MEMBERS, ModelDirectory, ModelMetadata
from bert_tf.errors import InputError
from bert_tf.options import TaskTraining
from bert_tf.tasks.task import Task, log_softmax


def trained_metadata(options: TaskTraining) -> ModelMetadata | None:
    """What the model answers that a run without training uses.

    Returns:
      that of the first member of --ensemble, or else of --output_dir; None if there is no model.

    Raises:
      InputError: a member is not a model directory, or the model in --output_dir is damaged.
    """
    if options.ensemble_members:
        return ModelDirectory.open(options.ensemble_members[0], "--ensemble").metadata
    if os.path.exists(os.path.join(options.output_dir, "model.json")):
        return ModelDirectory.open(options.output_dir, "--output_dir").metadata
    return None


def with_members(metadata: ModelMetadata, options: TaskTraining) -> ModelMetadata:
    """The metadata with the members of --ensemble, or those of the ensemble in --output_dir.

    Raises:
      InputError: the members do not fit each other, or the flags of the run.
    """
    if options.ensemble_members:
        members = ensembles.open_members(_models(options))
        _check_flags(metadata, members[0])
        settings = {} if has_predictions(options) else ensembles.settings(members)
    else:
        there = None if options.do_train else model_directory.read_metadata(options.output_dir)
        found = there.settings.get(MEMBERS) if there else None
        settings = {MEMBERS: found} if found else {}
    return dataclasses.replace(metadata, settings={**metadata.settings, **settings})


def _check_flags(metadata: ModelMetadata, member: ModelDirectory) -> None:
    names = ("kind", "labels", "num_texts", "do_lower_case", "max_seq_length", "fixed_settings")
    pairs = ((name, getattr(member.metadata, name), getattr(metadata, name)) for name in names)
    differences = [
        f"{name.removeprefix('fixed_')} is {theirs!r} there and {ours!r} here"
        for name, theirs, ours in pairs
        if theirs != ours
    ]
    if differences:
        raise InputError(
            f"--ensemble: {member.path} was trained otherwise than this run asks: "
            f"{'; '.join(differences)}. Give the flags of its training (its flags.txt)."
        )


def write(options: TaskTraining, directory: ModelDirectory) -> None:
    """Makes --output_dir the ensemble of --ensemble, unless it is that already."""
    is_there = model_directory.read_metadata(directory.path)
    if not options.ensemble_members or has_predictions(options) or is_there:
        return
    members = ensembles.open_members(options.ensemble_members)
    ensembles.write(directory, members)
    paths = ", ".join(member.path for member in members)
    print(f"Ensemble of {len(members)} models in {directory.path}: {paths}", flush=True)


def has_predictions(options: TaskTraining) -> bool:
    """Whether a directory of --ensemble takes part with its prediction files."""
    return len(_models(options)) < len(options.ensemble_members)


def _models(options: TaskTraining) -> list[str]:
    """The directories of --ensemble that take part with their models.

    Raises:
      InputError: none does, or another one has no prediction files; or files would have to answer
        the dev set.
    """
    models = [path for path in options.ensemble_members if not _has_predictions_alone(path)]
    if models[:1] != list(options.ensemble_members[:1]):
        raise InputError(
            f"--ensemble={options.ensemble}: the first directory must hold a model, which says "
            "how the test set is read."
        )
    if len(models) < len(options.ensemble_members) and options.do_eval:
        raise InputError(
            "--ensemble names directories with prediction files and no model. These are of the "
            "test set: leave out --do_eval."
        )
    return models


def _has_predictions_alone(path: str) -> bool:
    has_weights = any(os.path.isdir(os.path.join(path, name)) for name in ("best", "last", MEMBERS))
    return not has_weights and os.path.isfile(os.path.join(path, "test_results.tsv"))


def new_model(options: TaskTraining) -> Any:
    """The models of --ensemble as one, in memory."""
    from bert_tf.modeling.ensemble import EnsembleModel  # TensorFlow takes seconds to load

    members = ensembles.open_members(_models(options))
    activation = KINDS[members[0].metadata.kind].activation
    return EnsembleModel([member.build_model() for member in members], activation)


def with_predictions(
    options: TaskTraining, task: Task, suffix: str, logits: Sequence[np.ndarray]
) -> Sequence[np.ndarray]:
    """Logits of the mean of the models and of the prediction files of --ensemble.

    Args:
      suffix: of the names of the set's prediction files.
      logits: of the models, of each row.

    Raises:
      InputError: a file does not have as many rows and columns.
    """
    models = _models(options)
    files = [
        os.path.join(path, f"test_results{suffix}.tsv")
        for path in options.ensemble_members
        if path not in models
    ]
    if not files:
        return logits
    activation = KINDS[task.kind].activation
    answers = [_ANSWERS[activation](row) for row in logits]
    width = max(map(len, answers))  # choices are fewer in some rows: the others have probability 0
    total = len(models) * np.array([np.pad(row, (0, width - len(row))) for row in answers])
    for path in files:
        total = total + _read(path, total.shape)
    return list(_LOGITS[activation](total / (len(models) + len(files))))


def _read(path: str, shape: tuple[int, ...]) -> np.ndarray:
    """The probabilities or numbers in a test_results.tsv, float64 [N C]."""
    try:
        found = np.loadtxt(path, np.float64, delimiter="\t", ndmin=2, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as predictions: {error}.") from None
    if found.shape != shape:
        raise InputError(
            f"{path} has {found.shape[0]:,} rows of {found.shape[1]} numbers; {shape[0]:,} rows of "
            f"{shape[1]} were wanted, as the models answer. Give predictions for the same test set."
        )
    return found


def _logarithms(values: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(values, np.finfo(np.float64).tiny))


# By what makes answers of logits, see `Kind.activation`: from logits to answers, and back.
_ANSWERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softmax": lambda logits: np.exp(log_softmax(logits)),
    "sigmoid": lambda logits: np.exp(-np.logaddexp(0.0, -logits.astype(np.float64))),
    "linear": lambda logits: logits.astype(np.float64),
}
_LOGITS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softmax": _logarithms,
    "sigmoid": lambda values: _logarithms(values) - _logarithms(1.0 - values),
    "linear": lambda values: values,
}
