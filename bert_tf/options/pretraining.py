"""Flags of run_pretraining.py."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import require_not_negative, require_positive
from bert_tf.options.objectives import DEFAULT_OBJECTIVE, PRETRAINING_OBJECTIVES
from bert_tf.options.training import VOCAB_FILE_HELP, Training


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreTraining(Training):
    """Flags of run_pretraining.py."""

    input_file: str = option(
        REQUIRED, "Records to train on: comma-separated files or globs.", is_path=True
    )
    eval_input_file: str | None = option(
        None, "(new) Held-out records for --do_eval; none: --input_file, as released.", is_path=True
    )
    vocab_file: str | None = option(None, f"(new) {VOCAB_FILE_HELP}", is_path=True)
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
