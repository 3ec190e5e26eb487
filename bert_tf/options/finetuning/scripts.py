"""Flags of the fine-tuning scripts: run_classifier.py and run_squad.py."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_tf import hub_handles
from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.options.checks import require_or_checkpoint, require_positive
from bert_tf.options.finetuning import (
    distillation,
    feature_based,
    grid,
    long_texts,
    stability,
    streaming,
)
from bert_tf.options.finetuning.distillation import Distillation, Ensembles
from bert_tf.options.finetuning.feature_based import FeatureBased
from bert_tf.options.finetuning.grid import GridSearch
from bert_tf.options.finetuning.long_texts import LongTexts
from bert_tf.options.finetuning.stability import DuringTraining, Stability
from bert_tf.options.finetuning.streaming import ReleasedRecords, Streaming
from bert_tf.options.training import Training

# With four micro-batches little of a batch is padding, and each is large enough to compute well.
_MICRO_BATCHES_FROM_HOST = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuning(Stability, DuringTraining, Training):
    """Flags of both fine-tuning scripts."""

    do_lower_case: bool = option(True, "Lower-case and strip accents; false for cased models.")
    do_predict: bool = option(False, "Write predictions for the test set.")
    predict_batch_size: int = option(8, "Examples per batch in prediction.")
    num_train_epochs: float = option(3.0, "Passes over the training set.")
    warmup_proportion: float = option(0.1, "Share of the updates in which the learning rate rises.")
    num_micro_batches: int | None = option(
        None,
        "(new) Micro-batches of similar length that a replica's share of a batch is cut into: the "
        "same update with less padding. None: 4; where shapes are static, one for each length of "
        "--length_buckets.",
        renamed="batch_pieces",
    )
    max_train_examples: int | None = option(
        None, "(new) Number of examples to train on; none: all."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_or_checkpoint(self, "vocab_file")
        require_positive(self, "predict_batch_size", "num_train_epochs", "num_micro_batches")
        require_positive(self, "max_train_examples")
        if not 0 <= self.warmup_proportion < 1:
            raise InputError(f"--warmup_proportion={self.warmup_proportion} must be in [0, 1).")
        if not (self.do_train or self.do_eval or self.do_predict):
            raise InputError("Nothing to do: give --do_train, --do_eval or --do_predict.")
        stability.check(self)

    @property
    def deciding_extras(self) -> dict[str, Any]:
        """Options of one script alone that decide the result of a run, where they are given."""
        return {}

    @property
    def micro_batches_per_replica(self) -> int:
        """--num_micro_batches, or its default."""
        if self.num_micro_batches:
            return self.num_micro_batches
        if self.has_static_shapes:
            return len(self.lengths(self.max_seq_length))
        return _MICRO_BATCHES_FROM_HOST


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskTraining(Distillation, Ensembles, Streaming, FineTuning):
    """Flags of both scripts on other models and on large data, which any task may have."""

    def __post_init__(self) -> None:
        super().__post_init__()
        distillation.check(self)
        distillation.check_ensemble(self)
        streaming.check(self)

    @property
    def evaluation_batch_size(self) -> int:
        """Rows per batch in evaluation."""
        return self.predict_batch_size

    @property
    def deciding_extras(self) -> dict[str, Any]:
        return {"student_layers": self.student_layers} if self.student_layers else {}

    @property
    def has_casing_of_checkpoint(self) -> bool:
        """Whether the casing is that of the checkpoint, whatever --do_lower_case says."""
        return False

    @classmethod
    def filled_in(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options with those that follow from --recipe, --teacher and --ensemble."""
        return distillation.with_start(super().filled_in(given))


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextClassification(FeatureBased, LongTexts, ReleasedRecords, TaskTraining):
    """Flags of run_classifier.py that do not name the data."""

    eval_batch_size: int = option(8, "Examples per batch in evaluation.")
    class_weights: str | None = option(
        None,
        "(new) Weights of the labels in the training loss. balanced: rare labels count more, by "
        "how often each occurs in the training set. None: 1 each.",
        choices=("balanced",),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "eval_batch_size")
        long_texts.check(self, self.max_seq_length)
        feature_based.check(self)

    @property
    def evaluation_batch_size(self) -> int:
        return self.eval_batch_size


_FILE_HELP = (
    "(new) {}: with a header in CSV (.csv) or TSV, or JSON Lines (.jsonl), JSON or Parquet; also a "
    "pattern."
)
_OF_OWN_TEXTS = ("text_column", "text_b_column", "label_column", "id_column", "task_type")
_FILES = {"do_train": "train_file", "do_eval": "dev_file", "do_predict": "test_file"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classifier(TextClassification, GridSearch):
    """Flags of run_classifier.py."""

    task_name: str | None = option(
        None, "The data set: a task of the list below. None: your own data in CSV or TSV."
    )
    task_file: str | None = option(
        None,
        "(new) Your own data set of any kind, described in TOML or JSON: docs/tasks.md.",
        is_path=True,
    )
    data_dir: str | None = option(
        None,
        "Directory with the task's original files; of your own data with train.csv, train.tsv, "
        "train.jsonl or the like, and dev and test likewise.",
        is_path=True,
    )
    train_file: str | None = option(
        None, _FILE_HELP.format("Your own data to train on, in place of --data_dir"), is_path=True
    )
    dev_file: str | None = option(None, _FILE_HELP.format("Data to evaluate on"), is_path=True)
    test_file: str | None = option(None, _FILE_HELP.format("Data to predict"), is_path=True)
    text_column: str | None = option(
        None, "(new) Column of the text in your own data; none: text_a, or text."
    )
    text_b_column: str | None = option(
        None, "(new) Column of the second text; none: text_b, if there is one."
    )
    label_column: str | None = option(None, "(new) Column of the label; none: label.")
    id_column: str | None = option(
        None, "(new) Column of the ids that predictions carry; none: numbers of the rows, from 0."
    )
    task_type: str | None = option(
        None,
        "(new) What your own data asks for: classify, a label, or regress, a number. None: "
        "classify, or what the model in --output_dir was trained for.",
        choices=("classify", "regress"),
    )
    bert_hub_module_handle: str | None = option(
        None,
        "Encoder of TensorFlow Hub to start from, in place of --init_checkpoint: its weights, "
        "vocabulary and casing. The path of a SavedModel, or the address of one that "
        "tensorflow_hub has downloaded.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task_file:
            self._check_task_file()
        else:
            self._check_files()
        grid.check(self)

    @classmethod
    def filled_in(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options with those that follow from other flags, such as --bert_hub_module_handle."""
        return super().filled_in(_with_hub_module(given))

    @property
    def has_casing_of_checkpoint(self) -> bool:
        return self.bert_hub_module_handle is not None

    def _check_task_file(self) -> None:
        for name in ("task_name", *_OF_OWN_TEXTS):
            if value := getattr(self, name):
                raise InputError(
                    f"--{name}={value} and --task_file={self.task_file} both say what the data "
                    "is; leave one out."
                )

    def _check_files(self) -> None:
        files = {name: getattr(self, name) for name in _FILES.values() if getattr(self, name)}
        if not (files or self.data_dir or self.train_records):
            raise InputError(
                "There is no data. Give --task_name and --data_dir for a task of the list in "
                "--help, --train_file (and --dev_file, --test_file) for your own CSV or TSV, or "
                "--task_file for your own data of any kind."
            )
        if files and (self.data_dir or self.task_name):
            other = "data_dir" if self.data_dir else "task_name"
            name, path = next(iter(files.items()))
            raise InputError(
                f"--{name}={path} and --{other}={getattr(self, other)} both say what the data is; "
                "leave one out."
            )
        for switch, name in _FILES.items():
            has_records = switch == "do_train" and self.train_records
            if files and getattr(self, switch) and name not in files and not has_records:
                raise InputError(f"--{switch} needs --{name}.")


def _with_hub_module(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options with --init_checkpoint, if --bert_hub_module_handle is given.

    Raises:
      InputError: another flag names another model.
    """
    if not (handle := given.get("bert_hub_module_handle")):
        return given
    path = hub_handles.location(handle)
    # A flags.txt that repeats a run has --init_checkpoint as well.
    for name, allowed in (
        ("init_checkpoint", path),
        ("bert_config_file", None),
        ("vocab_file", None),
    ):
        if (value := given.get(name)) not in (None, allowed):
            raise InputError(
                f"--bert_hub_module_handle={handle} and --{name}={value} both say what the model "
                "is; leave one out."
            )
    return {**given, "init_checkpoint": path}
