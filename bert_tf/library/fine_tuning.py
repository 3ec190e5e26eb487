"""`fine_tune`: the training of run_classifier.py on texts and labels in memory."""

import dataclasses
import difflib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import keras
import numpy as np

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample
from bert_tf.library import presets, texts
from bert_tf.options import TextClassification
from bert_tf.tasks import registry
from bert_tf.tasks.registry import Task
from bert_tf.training.finetuning import classifier_data, run

if TYPE_CHECKING:
    from bert_tf.library.loading import Loaded

# Texts, and the label of each: a string or an integer to classify, a float to regress.
Labels: TypeAlias = Sequence[str] | Sequence[int] | Sequence[float] | np.ndarray
Labelled: TypeAlias = tuple[texts.Texts, Labels]

# Options that follow from the arguments of `fine_tune`.
_ARGUMENTS = ("output_dir", "init_checkpoint", "do_train", "do_eval", "do_predict", "train_records")
# Flags of run_classifier.py that say where the data is, which is given as it is here.
_OF_FILES = ("data_dir", "train_file", "dev_file", "test_file", "task_name", "text_column")


def fine_tune(
    train: Labelled,
    dev: Labelled | None = None,
    *,
    output_dir: str | os.PathLike[str],
    init_checkpoint: str | os.PathLike[str] | None,
    **options: Any,
) -> "Loaded":
    """Trains as run_classifier.py does: the same weights, bit for bit on CPUs.

    The same call goes on with a training that was killed; other data or options need another
    directory. It seeds Python, NumPy and TensorFlow, and on CPUs makes TensorFlow deterministic
    for the rest of the process.

    Args:
      train: (texts, labels). Texts are a list of strings or, for pairs, a tuple (first texts,
        second texts). Labels are strings or integers to classify, or floats to regress.
      dev: as `train`: what every epoch is scored on, and which weights are the best. None: the
        last weights are the best.
      output_dir: the model directory to write, as that of run_classifier.py.
      init_checkpoint: a name such as "bert-base-uncased", or a checkpoint of any format; None: the
        weights start random, and `bert_config_file` and `vocab_file` are needed.
      **options: flags of run_classifier.py, such as `learning_rate=3e-5`; also `task_type`,
        "classify" or "regress". Without `do_lower_case` the casing is that of the checkpoint.

    Returns:
      what `bert_tf.load(output_dir)` gives: a `TextClassifier` or a `TextRegressor` with the best
      weights. Its labels are strings.

    Raises:
      InputError: wrong data, checkpoint or values of options; or `output_dir` is another run's.
      TypeError: an option is unknown, or a text is not a string.
      ValueError: there is no text, or not one label for each.
    """
    task_type = options.pop("task_type", None)
    given = _options(options, output_dir, init_checkpoint, is_scored=dev is not None)
    kind = task_type or _kind(train[1])
    sets = {"train": train} if dev is None else {"train": train, "dev": dev}
    splits = {name: _examples(name, labelled, kind) for name, labelled in sets.items()}
    data = classifier_data.from_memory(given, _task(kind, splits), splits)
    policy = keras.config.dtype_policy()
    try:
        run.run_on(data)
    finally:
        keras.config.set_dtype_policy(policy)

    from bert_tf.library.loading import load  # not before: it is only for the result

    return load(given.output_dir)


def _options(
    options: dict[str, Any],
    output_dir: str | os.PathLike[str],
    init_checkpoint: str | os.PathLike[str] | None,
    *,
    is_scored: bool,
) -> TextClassification:
    """The options of the training; paths are checked as those of the command line."""
    names = {field.name for field in dataclasses.fields(TextClassification)} - set(_ARGUMENTS)
    for name in options.keys() - names:
        raise TypeError(_unknown(name, names))
    if init_checkpoint is not None:
        init_checkpoint = os.fspath(init_checkpoint)
        if not options.keys() & {"do_lower_case", "vocab_file"}:
            source = presets.open_preset(init_checkpoint)
            options["do_lower_case"] = source.do_lower_case(source.vocabulary)
    values = options | {"output_dir": os.fspath(output_dir), "init_checkpoint": init_checkpoint}
    return flagging.make(TextClassification, values | {"do_train": True, "do_eval": is_scored})


def _unknown(name: str, names: set[str]) -> str:
    if name in _OF_FILES:
        return f"fine_tune() takes texts and labels, and no {name}; run_classifier.py reads files."
    nearest = difflib.get_close_matches(name, [*names, "task_type"], n=1)
    hint = f" Did you mean {nearest[0]}?" if nearest else ""
    return f"fine_tune() has no option {name}.{hint} It takes the flags of run_classifier.py."


def _kind(labels: Labels) -> str:
    """What the types of labels ask for."""
    values = list(labels)
    is_number = any(isinstance(value, float | np.floating) for value in values)
    return "regress" if is_number else "classify"


def _task(kind: str, splits: dict[str, list[TextExample]]) -> Task:
    """The task of such examples."""
    if kind not in registry.TEXT_KINDS:
        raise InputError(f"task_type={kind!r} is unknown; known: {', '.join(registry.TEXT_KINDS)}.")
    numbers = {name: 1 if each[0].text_b is None else 2 for name, each in splits.items()}
    if len(set(numbers.values())) > 1:
        raise InputError(
            f"train has {numbers['train']} text(s) per example and dev {numbers['dev']}; the same "
            "number was wanted."
        )
    return registry.own_data(kind).with_num_texts(numbers["train"])


def _examples(name: str, labelled: Labelled, kind: str) -> list[TextExample]:
    if not isinstance(labelled, tuple | list) or len(labelled) != 2:
        raise TypeError(f"{name} must be a tuple (texts, labels).")
    given = texts.read(labelled[0])
    labels = list(np.asarray(labelled[1], dtype=object))
    if len(labels) != len(given):
        raise ValueError(f"{name} has {len(given)} texts and {len(labels)} labels.")
    seconds: Sequence[texts.Text | None] = given.second or [None] * len(given)
    return [
        TextExample(str(index), _decoded(first), _decoded(second), _label(name, index, label, kind))
        for index, (first, second, label) in enumerate(
            zip(given.first, seconds, labels, strict=True)
        )
    ]


def _decoded(text: Any) -> Any:
    return text.decode() if isinstance(text, bytes) else text


def _label(name: str, index: int, label: Any, kind: str) -> str | float:
    """A label as the reader of a file gives it."""
    if kind != "regress":
        if label is None or not str(label).strip():
            raise InputError(f"{name}: the label of example {index} is empty.")
        return str(_decoded(label))
    try:
        value = float(label)
    except (TypeError, ValueError):
        raise InputError(f"{name}: label {label!r} of example {index} is not a number.") from None
    if not np.isfinite(value):
        raise InputError(f"{name}: label {label!r} of example {index} is not finite.")
    return value
