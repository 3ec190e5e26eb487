"""Flags of `bert_tf.training.plan`."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

OBJECTIVES = ("mlm_nsp", "mlm", "mlm_sop", "ltr", "ltr_nsp")
_POSITIVE = ("max_seq_length", "num_train_steps", "train_batch_size", "max_predictions_per_seq")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Flags of bert_tf.training.plan.planner; all but two are those of run_pretraining.py."""

    hardware: str = option(
        REQUIRED,
        "A TPU slice (v5e-256, v5p-128, v6e-8, v3-32), GPUs (h100x8, a100x8, t4), or cpu: this "
        "machine.",
    )
    bert_config_file: str = option(REQUIRED, "bert_config.json (or Hugging Face config.json).")
    phases: str | None = option(
        None, "LENGTH:STEPS[:BATCH[:RATE]] of each phase, as in 128:900000,512:100000."
    )
    max_seq_length: int = option(128, "Tokens per example, without --phases.")
    num_train_steps: int = option(100_000, "Updates in all, without --phases.")
    train_batch_size: int = option(32, "Examples per update over all replicas.")
    max_predictions_per_seq: int | None = option(
        None, "Masked tokens per example in the only phase; none: 15 % of the tokens."
    )
    learning_rate: float = option(5e-5, "Peak of the schedule.")
    objective: str = option("mlm_nsp", "What is learned.", choices=OBJECTIVES)
    dtype: str | None = option(
        None,
        "Type that layers compute in; none: the first of these that the hardware has units for, "
        "float32 on a CPU.",
        choices=("bfloat16", "float16", "float32"),
    )
    recompute: bool = option(False, "Compute the layers' insides anew in the backward pass.")
    jit_compile: bool = option(True, "Compile the step with XLA; on TPUs it always is.")
    assumed_mfu: float | None = option(
        None, "Share of the peak that computing reaches; none: 0.35, on a CPU 0.6."
    )

    def __post_init__(self):
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"--{name}={value} must be above 0.")
        if self.assumed_mfu is not None and not 0 < self.assumed_mfu <= 1:
            raise InputError(f"--assumed_mfu={self.assumed_mfu} must be in (0, 1].")
