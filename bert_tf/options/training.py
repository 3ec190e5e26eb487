"""Flags of all scripts that train: run_pretraining.py, run_classifier.py and run_squad.py."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import (
    require_not_negative,
    require_or_checkpoint,
    require_positive,
    require_seed,
)
from bert_tf.options.devices import Devices

VOCAB_FILE_HELP = (
    "vocab.txt that the checkpoint or the records were made with; none: the one next to "
    "--bert_config_file or --init_checkpoint."
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(Devices):
    """Flags of all three training scripts."""

    bert_config_file: str | None = option(
        None,
        "bert_config.json (or Hugging Face config.json); none: that of --init_checkpoint.",
        is_path=True,
    )
    vocab_file: str | None = option(None, VOCAB_FILE_HELP, is_path=True)
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
