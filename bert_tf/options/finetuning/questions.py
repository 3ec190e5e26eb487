"""Flags of run_squad.py."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.options.checks import require_positive
from bert_tf.options.finetuning import grid
from bert_tf.options.finetuning.distillation import metadata_of
from bert_tf.options.finetuning.grid import GridSearch
from bert_tf.options.finetuning.scripts import TaskTraining

# What model.json remembers of a training, as settings of a model of kind "span".
_SETTINGS = (
    "doc_stride",
    "max_query_length",
    "n_best_size",
    "max_answer_length",
    "null_score_diff_threshold",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionAnswering(TaskTraining, GridSearch):
    """Flags of run_squad.py."""

    train_file: str | None = option(
        None, "SQuAD JSON to train on, also gzipped (.gz), or a pattern.", is_path=True
    )
    predict_file: str | None = option(
        None, "SQuAD JSON to answer, also gzipped (.gz), or a pattern.", is_path=True
    )
    max_predict_examples: int | None = option(
        None, "(new) Number of questions to answer; none: all."
    )
    max_seq_length: int = option(384, "Tokens per window, question and special tokens included.")
    doc_stride: int = option(128, "Tokens from the start of one window to the start of the next.")
    max_query_length: int = option(64, "Maximum tokens of a question; the rest is cut off.")
    n_best_size: int = option(20, "Answers per question in nbest_predictions.json.")
    max_answer_length: int = option(30, "Maximum tokens of an answer.")
    verbose_logging: bool = option(False, "Print every question with a problem.")
    version_2_with_negative: bool = option(False, "Questions may have no answer (SQuAD 2.0).")
    null_score_diff_threshold: float | None = option(
        None,
        "No answer where the null score exceeds the best answer's score by more than this. None: "
        "the threshold with the best F1 on --predict_file, which --do_train --do_eval finds and "
        "the model remembers; 0 in a model without one.",
    )
    unanswerable_window_rate: float | None = option(
        None,
        "(new) Share of the training windows without an answer that are kept, from 0 to 1. None: 1 "
        "with --version_2_with_negative, else 0: there it is never right to give no answer.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "doc_stride", "max_query_length", "n_best_size")
        require_positive(self, "max_answer_length", "max_predict_examples")
        rate = self.unanswerable_window_rate
        if rate is not None and not 0 <= rate <= 1:
            raise InputError(f"--unanswerable_window_rate={rate} must be between 0 and 1.")
        if self.do_train and not self.train_file:
            raise InputError("--do_train needs --train_file.")
        if (self.do_predict or self.do_eval) and not self.predict_file:
            raise InputError("--do_predict and --do_eval need --predict_file.")
        grid.check(self)

    @property
    def task_settings(self) -> dict[str, Any]:
        """The flags that are not at their defaults, for `Task.with_settings`."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        found = {name: getattr(self, name) for name in _SETTINGS}
        return {name: value for name, value in found.items() if value != defaults[name]}

    @classmethod
    def filled_in(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options with those that the model remembers, where nothing is trained."""
        values = super().filled_in(given)
        if values.get("do_train"):
            return values
        if found := _remembered(values.get("output_dir") or ""):
            return found | values
        found = _remembered((values.get("ensemble") or "").split(",")[0])
        found.pop("null_score_diff_threshold", None)  # each member has its own
        return found | values


def _remembered(directory: str) -> dict[str, Any]:
    """The flags that the model.json of a directory remembers; {} without one."""
    metadata = metadata_of(directory)
    if metadata.get("kind") != "span":
        return {}
    settings = metadata.get("settings", {})
    found = {name: settings[name] for name in _SETTINGS if name in settings}
    return found | {"version_2_with_negative": metadata.get("task") == "squad-2.0"}
