"""Flags of `bert_tf.training.plan`."""

import dataclasses
from typing import Any

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import require_positive
from bert_tf.options.pretraining import PreTraining


def _of_pretraining(name: str) -> Any:
    """An option of run_pretraining.py, for the same one here."""
    (field,) = (each for each in dataclasses.fields(PreTraining) if each.name == name)
    help_text = field.metadata["help"].removeprefix("(new) ")
    return option(field.default, help_text, choices=field.metadata["choices"])


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Flags of bert_tf.training.plan; those of run_pretraining.py mean the same here."""

    hardware: str = option(
        REQUIRED,
        "A TPU slice (v5e-256, v5p-128, v6e-8, v3-32), GPUs (h100x8, a100x8, t4), or cpu: this "
        "machine.",
    )
    bert_config_file: str = option(
        REQUIRED, "bert_config.json (or Hugging Face config.json).", is_path=True
    )
    phases: str | None = _of_pretraining("phases")
    max_seq_length: int = _of_pretraining("max_seq_length")
    num_train_steps: int = _of_pretraining("num_train_steps")
    train_batch_size: int = _of_pretraining("train_batch_size")
    max_predictions_per_seq: int | None = option(
        None, "Masked tokens per example of a single phase; none: 15 % of the tokens."
    )
    learning_rate: float = _of_pretraining("learning_rate")
    objective: str = _of_pretraining("objective")
    dtype: str | None = option(
        None,
        "Compute dtype of the layers; none: the first of these that the hardware supports, "
        "float32 on a CPU.",
        choices=("bfloat16", "float16", "float32"),
    )
    recompute: bool = _of_pretraining("recompute")
    jit_compile: bool = option(True, "Compile the update with XLA; on TPUs it always is.")
    assumed_mfu: float | None = option(
        None, "Share of the peak that computing reaches; none: 0.35, on a CPU 0.6."
    )

    def __post_init__(self) -> None:
        require_positive(self, "max_seq_length", "num_train_steps", "train_batch_size")
        require_positive(self, "max_predictions_per_seq")
        if self.assumed_mfu is not None and not 0 < self.assumed_mfu <= 1:
            raise InputError(f"--assumed_mfu={self.assumed_mfu} must be in (0, 1].")
