"""What `python -m export.savedmodel` can be told."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export:
    """Flags of the export."""

    model_dir: str = option(REQUIRED, "Model directory: the --output_dir of a training run.")
    export_dir: str = option(
        REQUIRED, "Base path of the served model, e.g. models/NAME; the next version goes into it."
    )
    weights: str = option("best", "Weights to export.", choices=("best", "last"))
    max_seq_length: int | None = option(
        None, "Tokens per example, special tokens included; none: that of the training."
    )
    piece_rows: int = option(
        8,
        "Rows that are computed together. A batch is sorted by length and cut into such pieces, "
        "each padded to its own longest row.",
    )

    def __post_init__(self):
        if self.piece_rows < 1:
            raise InputError(f"--piece_rows={self.piece_rows} must be at least 1.")
