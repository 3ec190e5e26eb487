"""Flags of the scripts that train: run_pretraining.py, run_classifier.py and run_squad.py."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import (
    require_not_negative,
    require_or_checkpoint,
    require_positive,
    require_seed,
)
from bert_tf.options.devices import Devices
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
from bert_tf.options.finetuning.streaming import Streaming
from bert_tf.options.objectives import DEFAULT_OBJECTIVE, PRETRAINING_OBJECTIVES

_VOCAB_FILE_HELP = (
    "vocab.txt that the checkpoint or the records were made with; none: the one next to "
    "--bert_config_file or --init_checkpoint."
)
# With four micro-batches little of a batch is padding, and each is large enough to compute well.
_MICRO_BATCHES_FROM_HOST = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(Devices):
    """Flags of all three training scripts."""

    bert_config_file: str | None = option(
        None,
        "bert_config.json (or Hugging Face config.json); none: that of --init_checkpoint.",
        is_path=True,
    )
    vocab_file: str | None = option(None, _VOCAB_FILE_HELP, is_path=True)
    output_dir: str = option(REQUIRED, "Model directory to write, or to resume.", is_path=True)
    init_checkpoint: str | None = option(
        None,
        "Weights to start from: a checkpoint of any format in docs/checkpoints.md, or the name of "
        "a released model, such as bert-base-uncased, which is then downloaded.",
        is_path=True,
    )
    do_train: bool = option(False, "Train.")
    do_eval: bool = option(False, "Evaluate on the dev set.")
    max_seq_length: int = option(128, "Tokens per example, special tokens included.")
    train_batch_size: int = option(32, "Examples per update over all replicas.")
    learning_rate: float = option(5e-5, "Peak of the schedule, reached after the warm-up.")
    save_checkpoints_steps: int = option(1000, "Updates between two saves of the training state.")
    iterations_per_loop: int = option(
        1000, "Maximum updates that a device makes in one call; used with --length_buckets."
    )
    length_buckets: str | None = option(
        None,
        "(new) Lengths that micro-batches are padded to, as in 64,128: shapes are static, and a "
        "device makes --iterations_per_loop updates per call. None: that of the longest row.",
    )
    jit_compile: bool = option(
        False,
        "(new) Compile the update with XLA. Shapes are then static as with --length_buckets, by "
        "default of the full length. On TPUs the update is always compiled.",
    )
    keep_training_state: bool = option(
        False,
        "(new) Keep the training state (weights, moments of the optimizer and step: three times "
        "the size of the weights) when the training is complete; false: only until then.",
    )
    log_steps: int = option(10, "(new) Updates between two lines of metrics.jsonl.")
    lr_schedule: str = option(
        "linear",
        "(new) How the learning rate decays after the warm-up.",
        choices=("linear", "polynomial", "cosine", "constant"),
    )
    lr_power: float = option(
        1.0, "(new) Power of --lr_schedule=polynomial; published LAMB runs: 0.5."
    )
    lr_end_ratio: float = option(0.0, "(new) Final learning rate, as a share of its peak.")
    optimizer: str = option(
        "adamw", "(new) adamw, or lamb for batches of thousands.", choices=("adamw", "lamb")
    )
    weight_decay_rate: float = option(0.01, "(new) Weight decay per unit of learning rate.")
    adam_bias_correction: bool = option(
        True, "(new) Adam as published; false: without bias correction, as released."
    )
    max_grad_norm: float = option(
        1.0, "(new) Global norm to which gradients are clipped; 0: no clipping."
    )
    dtype: str = option(
        "float32",
        "(new) Compute dtype of the layers; weights stay float32. float16 scales the loss.",
        choices=("float32", "bfloat16", "float16"),
    )
    random_seed: int = option(12345, "(new) Seed of initial weights, data order and dropout.")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_or_checkpoint(self, "bert_config_file")
        require_positive(self, "train_batch_size", "learning_rate", "save_checkpoints_steps")
        require_positive(self, "iterations_per_loop", "log_steps")
        require_positive(self, "max_seq_length")
        require_not_negative(self, "weight_decay_rate", "max_grad_norm")
        require_seed(self)
        _check_schedule(self)
        if self.use_tpu and self.dtype == "float16":
            raise InputError("--dtype=float16 is for GPUs; TPUs multiply in bfloat16: give that.")
        self.lengths(self.max_seq_length)  # refuses what is not a list of lengths

    @property
    def has_static_shapes(self) -> bool:
        """Whether shapes of batches are known before the run, so that devices fetch them."""
        return bool(self.length_buckets or self.jit_compile or self.use_tpu)

    def lengths(self, max_seq_length: int) -> tuple[int, ...]:
        """The lengths that micro-batches may have, ascending; the last one is `max_seq_length`.

        Raises:
          InputError: --length_buckets is not a list of whole numbers above 0.
        """
        parts = [part.strip() for part in (self.length_buckets or "").split(",") if part.strip()]
        if not all(part.isdigit() and int(part) for part in parts):
            raise InputError(
                f"--length_buckets={self.length_buckets} must be lengths separated by commas, "
                "e.g. 64,128."
            )
        shorter = {int(part) for part in parts if int(part) < max_seq_length}
        return (*sorted(shorter), max_seq_length)


def _check_schedule(options: Training) -> None:
    require_positive(options, "lr_power")
    if not 0 <= options.lr_end_ratio < 1:
        raise InputError(f"--lr_end_ratio={options.lr_end_ratio} must be in [0, 1).")
    if options.lr_power != 1 and options.lr_schedule != "polynomial":
        raise InputError(f"--lr_power={options.lr_power} needs --lr_schedule=polynomial.")
    if options.lr_end_ratio and options.lr_schedule == "constant":
        raise InputError("--lr_schedule=constant never decays; leave out --lr_end_ratio.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreTraining(Training):
    """Flags of run_pretraining.py."""

    input_file: str = option(
        REQUIRED, "Records to train on: comma-separated files or globs.", is_path=True
    )
    eval_input_file: str | None = option(
        None, "(new) Held-out records for --do_eval; none: --input_file, as released.", is_path=True
    )
    vocab_file: str | None = option(None, f"(new) {_VOCAB_FILE_HELP}", is_path=True)
    max_predictions_per_seq: int | None = option(
        None,
        "Masked tokens per example: as in the records, or the maximum of --dynamic_masking; none: "
        "as in the records or their manifest.",
    )
    max_seq_length: int = option(
        128, "Tokens per example, special tokens included, as in the records."
    )
    num_train_steps: int = option(100_000, "Number of updates.")
    num_warmup_steps: int = option(10_000, "Updates over which the learning rate rises.")
    eval_batch_size: int = option(8, "Examples per batch in evaluation.")
    max_eval_steps: int = option(100, "Maximum batches in evaluation; 0: every record.")
    objective: str = option(
        DEFAULT_OBJECTIVE,
        "(new) What is learned. "
        + " ".join(f"{name}: {each.help}." for name, each in PRETRAINING_OBJECTIVES.items()),
        choices=tuple(PRETRAINING_OBJECTIVES),
    )
    phases: str | None = option(
        None,
        "(new) Lengths to train at, one after the other, LENGTH:STEPS[:BATCH[:RATE]], as in "
        "128:900000,512:100000; each takes the records of its length. Replaces --max_seq_length "
        "and --num_train_steps.",
    )
    dynamic_masking: bool = option(
        False,
        "(new) Draw new masks every time an example is read (RoBERTa); the records may have masks "
        "or none.",
    )
    gradient_accumulation_steps: int = option(
        1, "(new) Minimum micro-batches per replica, so that a large batch fits into memory."
    )
    recompute: bool = option(
        False, "(new) Recompute the layers' activations in the backward pass, to save memory."
    )
    dry_run: bool = option(
        False, "(new) Check everything that the run needs, print what it would take, and end."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(
            self, "max_predictions_per_seq", "num_train_steps", "gradient_accumulation_steps"
        )
        require_positive(self, "eval_batch_size")
        require_not_negative(self, "num_warmup_steps", "max_eval_steps")
        if not (self.do_train or self.do_eval or self.dry_run):
            raise InputError("Nothing to do: give --do_train, --do_eval or both.")
        if not self.phases and self.num_warmup_steps >= self.num_train_steps:
            raise InputError(
                f"--num_warmup_steps={self.num_warmup_steps} must be below "
                f"--num_train_steps={self.num_train_steps}."
            )


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
    def micro_batches_per_replica(self) -> int:
        """--num_micro_batches, or its default."""
        if self.num_micro_batches:
            return self.num_micro_batches
        if self.has_static_shapes:
            return len(self.lengths(self.max_seq_length))
        return _MICRO_BATCHES_FROM_HOST


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextClassification(Distillation, Ensembles, FeatureBased, LongTexts, Streaming, FineTuning):
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
        distillation.check(self)
        distillation.check_ensemble(self)
        streaming.check(self)

    @classmethod
    def filled_in(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options with those that follow from --recipe, --teacher and --ensemble."""
        return distillation.with_start(super().filled_in(given))


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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task_file:
            self._check_task_file()
        else:
            self._check_files()
        grid.check(self)

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionAnswering(FineTuning, GridSearch):
    """Flags of run_squad.py."""

    train_file: str | None = option(None, "SQuAD JSON to train on.", is_path=True)
    predict_file: str | None = option(None, "SQuAD JSON to answer.", is_path=True)
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
    null_score_diff_threshold: float = option(
        0.0, "No answer where the null score exceeds the best answer's score by more than this."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "doc_stride", "max_query_length", "n_best_size")
        require_positive(self, "max_answer_length", "max_predict_examples")
        if self.do_train and not self.train_file:
            raise InputError("--do_train needs --train_file.")
        if (self.do_predict or self.do_eval) and not self.predict_file:
            raise InputError("--do_predict and --do_eval need --predict_file.")
        grid.check(self)
