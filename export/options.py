"""Options of the commands of `export`."""

import dataclasses

from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.opening import FORMATS
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from export.images import table

# Of all kinds of models; the class of each kind in `export.kinds` says which ones it has.
SIGNATURES = ("serving_default", "ids", "words", "classify", "regress", "embed", "encode")

# How the weights of an export can be stored, see `served.weights`.
DTYPES = ("float32", "bfloat16", "float16", "int8")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export:
    """Flags of the export of a SavedModel."""

    model_dir: str = option(
        REQUIRED, "Model directory: the --output_dir of a training run.", is_path=True
    )
    export_dir: str = option(
        REQUIRED,
        "Base path of the served model, e.g. models/NAME; the next version goes into it.",
        is_path=True,
    )
    weights: str = option("best", "Weights to export.", choices=("best", "last"))
    max_seq_length: int | None = option(
        None,
        "Tokens per example or window, special tokens included; none: as in training.",
    )
    chunk_rows: int = option(
        8,
        "Maximum rows that are computed together. A batch is sorted by length and cut into chunks, "
        "each padded to its own longest row.",
        renamed="piece_rows",
    )
    signatures: str | None = option(
        None,
        f"Signatures of the SavedModel, separated by commas, of {', '.join(SIGNATURES)}. The first "
        "one is the default if serving_default is not named. None: those that fit the kind of "
        "model.",
    )
    pooling: str = option(
        "mean",
        "How token vectors make that of a text: their 'mean' or 'max', that of [CLS] ('cls'), "
        "or 'pooled', what classifiers read.",
        choices=("mean", "cls", "max", "pooled"),
    )
    normalize: bool = option(
        False, "Give vectors of texts the length 1, so that dot products are cosines."
    )
    top_k: int = option(5, "Tokens to give for each [MASK].")
    freeze_weights: bool = option(
        False,
        "Write the weights into the graph as constants, which TensorFlow prepares for its products "
        "once: single texts take a quarter less time, loading more memory and time. "
        "Weights above 1.9 GB stay variables.",
    )
    dtype: str = option(
        "float32",
        "How matrices and tables are stored. With bfloat16 products are computed in it, too, which "
        "is for CPUs that have them (AMX, AVX512-BF16); float16 and int8 are made float32 for "
        "each answer, and save disk only.",
        choices=DTYPES,
    )
    measure: bool = option(
        False,
        "Print what the export costs and how many labels it keeps; always on with another --dtype "
        "than float32.",
    )
    measure_file: str | None = option(
        None,
        "Texts to measure on, such as those of a dev set: one per line, a tab between the texts of "
        "a row; switches --measure on. None: built-in texts.",
        is_path=True,
    )
    license: str | None = option(
        None, "Licence of the model for its model card: an SPDX identifier, e.g. Apache-2.0."
    )

    def __post_init__(self) -> None:
        if self.chunk_rows < 1:
            raise InputError(f"--chunk_rows={self.chunk_rows} must be at least 1.")
        if unknown := set(self.signature_names) - set(SIGNATURES):
            raise InputError(
                f"--signatures={self.signatures}: {', '.join(sorted(unknown))} is unknown; known: "
                f"{', '.join(SIGNATURES)}."
            )
        if self.top_k < 1:
            raise InputError(f"--top_k={self.top_k} must be at least 1.")

    @property
    def is_measured(self) -> bool:
        return self.measure or bool(self.measure_file) or self.dtype != DTYPES[0]

    @property
    def signature_names(self) -> tuple[str, ...]:
        """The names of `signatures`; () for none."""
        names = (self.signatures or "").split(",")
        return tuple(name.strip() for name in names if name.strip())


@dataclasses.dataclass(frozen=True, kw_only=True)
class HubExport:
    """Flags of the export of a SavedModel to the contract of TensorFlow Hub."""

    model_dir: str = option(
        REQUIRED,
        "Model directory, a checkpoint in any format, or the name of a released model.",
        is_path=True,
    )
    export_dir: str = option(
        REQUIRED, "Base path, e.g. hub/NAME; the next version goes into it.", is_path=True
    )
    export_type: str = option(
        "model",
        "model: the encoder; model_with_mlm: with its masked LM; preprocessing: texts to the "
        "encoder's inputs.",
        choices=("model", "model_with_mlm", "preprocessing"),
    )
    vocab_file: str | None = option(
        None, "Vocabulary of the model, if there is none next to it.", is_path=True
    )
    do_lower_case: bool | None = option(
        None, "Casing, if no file next to the model says it; none: that of the vocabulary."
    )
    default_seq_length: int = option(
        128, "Tokens of a row of the preprocessing model where a call does not say it."
    )
    tokenize_with_offsets: bool = option(
        False, "Give the preprocessing model tokenize_with_offsets: ids and the bytes of each."
    )

    def __post_init__(self) -> None:
        if self.tokenize_with_offsets and self.export_type != "preprocessing":
            raise InputError(
                f"--tokenize_with_offsets is for --export_type=preprocessing, not "
                f"{self.export_type}, which takes ids."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compatibility:
    """Flags of the check of a SavedModel."""

    image: str | None = option(
        None, "Image to check for, such as 2.15 or 2.15.1; none: every one that is known."
    )

    def __post_init__(self) -> None:
        if self.image:
            table.named(self.image)


RUNTIME_FORMATS = ("onnx", "tflite")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Runtimes:
    """Flags of the export to other runtimes."""

    model_dir: str = option(
        REQUIRED, "Model directory: the --output_dir of a training run.", is_path=True
    )
    output_dir: str = option(REQUIRED, "Directory to write the files into.", is_path=True)
    weights: str = option("best", "Weights to export.", choices=("best", "last"))
    runtime_format: str = option(
        RUNTIME_FORMATS[0], "Format to write.", flag="to", choices=RUNTIME_FORMATS
    )
    dtype: str = option(
        "float32",
        "How matrices and tables are stored. With int8 products are computed in it, too; with "
        "float16 they are float32.",
        choices=("float32", "float16", "int8"),
    )
    measure_file: str | None = option(
        None,
        "Texts to compare the file with the model on, such as those of a dev set: one per line, a "
        "tab between the texts of a row. None: built-in texts.",
        is_path=True,
    )


TARGETS = tuple(each.name for each in FORMATS if each.is_written)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conversion:
    """Flags of the conversion of checkpoints."""

    source: str = option(
        REQUIRED,
        "Checkpoint in any format, which is detected, or the name of a released model.",
        flag="from",
        is_path=True,
    )
    target: str = option(REQUIRED, "Format to write.", choices=TARGETS, flag="to")
    output: str = option(
        REQUIRED, "Directory to write: a new one, or one from an earlier conversion.", is_path=True
    )
    skip: str | None = option(
        None,
        "Variables to leave out: comma-separated regular expressions that match all of a name, in "
        "the file or of ours, e.g. 'next_sentence/.*'.",
    )
    extend_positions: int | None = option(
        None, "New length of the position table: a longer one repeats it, a shorter one cuts it."
    )
    vocab_subset: str | None = option(
        None,
        "A smaller vocab.txt; only the embeddings of its tokens are kept, in its order.",
        is_path=True,
    )
    bert_config_file: str | None = option(
        None, "Configuration of the source, if there is none next to it.", is_path=True
    )
    vocab_file: str | None = option(
        None, "Vocabulary of the source, if there is none next to it.", is_path=True
    )
    do_lower_case: bool | None = option(
        None, "Casing, if no file next to the source says it; none: that of the vocabulary."
    )
    kind: str | None = option(
        None, "Kind of the source's head, if the source does not say it.", choices=tuple(KINDS)
    )
    labels: str | None = option(
        None, "Comma-separated labels of a classifier's outputs, if the source has none."
    )
    num_texts: int | None = option(
        None, "Texts per example, 1 or 2, if the source does not say it; none: 1."
    )
    verify: bool = option(
        False, "Run source and result on texts; refuse a difference of more than 1e-5."
    )
    verify_file: str | None = option(
        None,
        "Texts for --verify, one per line; switches --verify on. None: built-in texts.",
        is_path=True,
    )

    def __post_init__(self) -> None:
        if self.num_texts not in (None, 1, 2):
            raise InputError(f"--num_texts={self.num_texts} must be 1 or 2.")
