"""What `python -m export.savedmodel` and `python -m export.checkpoint` can be told."""

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


# Names of rows of `bert_tf.checkpoints.formats.table.FORMATS`, and of `variables.KINDS`.
TARGETS = ("tf1", "huggingface", "model_garden", "model_garden_legacy", "keras_hub", "bert_tf")
_KINDS = ("encoder", "pretrain", "classify", "regress", "span", "tag", "choice")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conversion:
    """Flags of the conversion of checkpoints."""

    source: str = option(
        REQUIRED,
        "Checkpoint of any format, which is found by itself, or the name of a released model.",
        flag="from",
    )
    target: str = option(REQUIRED, "Format to write.", choices=TARGETS, flag="to")
    output: str = option(REQUIRED, "Directory to write, new or of an earlier conversion.")
    skip: str | None = option(
        None,
        "What to leave out: regular expressions of names in the file or of our paths, matched in "
        "full, divided by commas, e.g. 'next_sentence/.*'.",
    )
    extend_positions: int | None = option(
        None, "Length that the position table shall have: longer repeats it, shorter cuts it."
    )
    vocab_subset: str | None = option(
        None, "A smaller vocab.txt; only the embeddings of its tokens are kept, in its order."
    )
    bert_config_file: str | None = option(
        None, "Configuration of the source, where none is beside it."
    )
    vocab_file: str | None = option(None, "Vocabulary of the source, where none is beside it.")
    do_lower_case: bool | None = option(
        None, "Casing, where nothing beside the source tells it; none: that of the vocabulary."
    )
    kind: str | None = option(
        None, "What the source's last layer answers, where it does not tell.", choices=_KINDS
    )
    labels: str | None = option(
        None, "Label of each output of a classifier, where the source has none, divided by commas."
    )
    num_texts: int | None = option(
        None, "Texts per example, 1 or 2, where the source does not tell; none: 1."
    )
    verify: bool = option(
        False, "Run source and result on texts; refuse a result that differs by more than 1e-5."
    )
    verify_file: str | None = option(
        None, "Texts for --verify, which it switches on, one a line; none: some built in."
    )

    def __post_init__(self):
        if self.num_texts not in (None, 1, 2):
            raise InputError(f"--num_texts={self.num_texts} must be 1 or 2.")
