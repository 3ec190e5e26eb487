"""Flags of run_classifier.py on other trained models: a teacher to learn from, or an ensemble."""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.options.checks import require_not_negative, require_positive

_TEXT_SIDE = ("max_seq_length", "do_lower_case")
_MODEL_FILES = {"bert_config_file": "bert_config.json", "vocab_file": "vocab.txt"}
# What decides the weights, in addition to what every fine-tuning has; only with a teacher.
OF_TEACHER = ("distillation_temperature", "distillation_alpha", "distillation_alpha_cos")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Distillation:
    """A student learns the answers of a teacher (Hinton et al. 2015; Sanh et al. 2019)."""

    teacher: str | None = option(
        None,
        "(new) Train a student towards the answers of this model of the same task, which is "
        "larger, say: the --output_dir of a training, an ensemble, or an exported SavedModel.",
        is_path=True,
    )
    student_layers: str | None = option(
        None,
        "(new) Start from some layers of --init_checkpoint, or without one of --teacher: a number, "
        "evenly spread from the lowest on (of 6, 3 are 0,2,4), or a list of them, from 0, such as "
        "0,2,5. The model has no others.",
    )
    distillation_temperature: float = option(
        2.0,
        "(new) What the logits of student and teacher are divided by; above 1, unlikely labels "
        "count more. Means nothing for numbers.",
    )
    distillation_alpha: float = option(
        0.5,
        "(new) Weight of the loss against the teacher's answers, from 0 to 1; that against the "
        "labels has the rest.",
    )
    distillation_alpha_cos: float = option(
        0.0,
        "(new) Weight of the loss against the teacher's last hidden states, 1 - cosine (DistilBERT "
        "uses 1). The teacher is then a model directory of the same width and runs in every "
        "update.",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ensembles:
    """Several models that answer as one."""

    ensemble: str | None = option(
        None,
        "(new) The --output_dir of several trainings on a task, separated by commas. Their "
        "probabilities are averaged for --do_eval and --do_predict, and --output_dir becomes a "
        "model directory of all of them.",
        is_path=True,
    )

    @property
    def ensemble_members(self) -> tuple[str, ...]:
        """The directories of --ensemble; () without it."""
        return tuple(part.strip() for part in (self.ensemble or "").split(",") if part.strip())


def metadata_of(directory: str) -> dict[str, Any]:
    """What the model.json of a directory says; {} without one."""
    try:
        with open(os.path.join(directory.strip(), "model.json"), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):  # opening the model directory says what is wrong with it
        return {}
    return found if isinstance(found, dict) else {}


def with_start(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the model that the run starts from, where other flags name it.

    Without --init_checkpoint and --bert_config_file it is the teacher of --student_layers, the
    first member of --ensemble, or, where nothing is trained, the model in --output_dir. Where
    nothing is trained, the text side is that of the model.

    Args:
      given: by option.
    """
    values = dict(given)
    if not values.get("do_train"):
        path = (values.get("ensemble") or values.get("output_dir") or "").split(",")[0]
        metadata = metadata_of(path)
        values = {name: metadata[name] for name in _TEXT_SIDE if name in metadata} | values
    if values.get("init_checkpoint"):
        return values
    if values.get("student_layers") and values.get("teacher"):
        values["init_checkpoint"] = values["teacher"]
    elif values.get("bert_config_file"):
        return values
    elif values.get("ensemble"):
        values["init_checkpoint"] = values["ensemble"].split(",")[0].strip()
    elif not values.get("do_train"):
        found = {
            name: os.path.join(values.get("output_dir", ""), file)
            for name, file in _MODEL_FILES.items()
        }
        if all(map(os.path.isfile, found.values())):
            values = found | values
    return values


def check(options: Any) -> None:
    """Checks the flags of `Distillation`.

    Args:
      options: of a class that is a `Distillation` and a `Training`.

    Raises:
      InputError: a value is refused, or a flag is given without the one that it is about.
    """
    require_positive(options, "distillation_temperature")
    require_not_negative(options, "distillation_alpha_cos")
    if not 0 <= options.distillation_alpha <= 1:
        raise InputError(
            f"--distillation_alpha={options.distillation_alpha} must be between 0 and 1."
        )
    defaults = {field.name: field.default for field in dataclasses.fields(Distillation)}
    for name in OF_TEACHER if not options.teacher else ():
        if getattr(options, name) != defaults[name]:
            raise InputError(
                f"--{name}={getattr(options, name)} needs --teacher, the model to learn from."
            )
    if options.teacher and not (options.distillation_alpha or options.distillation_alpha_cos):
        raise InputError(
            "--distillation_alpha=0 leaves --teacher without effect. Give a weight above 0, or "
            "leave --teacher out."
        )
    if options.student_layers and not options.init_checkpoint:
        raise InputError(
            f"--student_layers={options.student_layers} needs the model whose layers they are: "
            "--init_checkpoint or --teacher."
        )


def check_ensemble(options: Any) -> None:
    """Checks --ensemble against the other flags.

    Args:
      options: of a class that is an `Ensembles` and a `Training`.

    Raises:
      InputError: there are fewer than two directories, or the run trains.
    """
    if options.ensemble is None:
        return
    if len(options.ensemble_members) < 2:
        raise InputError(
            f"--ensemble={options.ensemble} must name at least two directories, separated by "
            "commas."
        )
    if options.do_train:
        raise InputError(
            "--ensemble is of trained models, and --do_train is given. Train each of them in a run "
            "of its own, and leave out one of the two flags here."
        )
