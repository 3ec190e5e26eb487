"""Flags of extract_features.py."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import require_positive

OUTPUT_FORMATS = ("jsonl", "npz", "tfrecord", "parquet")
POOLINGS = ("none", "cls", "mean", "max", "pooled")
LAYER_COMBINATIONS = ("none", "mean", "sum", "concat")
_LAYERS = "-1,-2,-3,-4"


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureExtraction:
    """Flags of extract_features.py: the 13 released ones, then ours."""

    input_file: str = option(
        REQUIRED,
        "UTF-8 text, one text per line, or a pair as in 'first text ||| second text'; plain or "
        "compressed (.gz, .bz2, .zst).",
        is_path=True,
    )
    output_file: str = option(
        REQUIRED, "File to write, in the order of the input; see --output_format.", is_path=True
    )
    layers: str = option(
        _LAYERS,
        "Layers, separated by commas: 0 is the first one, -1 the last one. (new) embeddings: what "
        "the first one reads; all: embeddings and every layer.",
    )
    bert_config_file: str | None = option(
        None,
        "bert_config.json (or Hugging Face config.json); none: that of --init_checkpoint.",
        is_path=True,
    )
    max_seq_length: int = option(
        128, "Tokens per text, special tokens included; longer texts are cut."
    )
    init_checkpoint: str = option(
        REQUIRED,
        "A checkpoint of any format in docs/checkpoints.md, the --output_dir of a training run, "
        "or the name of a released model, such as bert-base-uncased, which is then downloaded.",
        is_path=True,
    )
    vocab_file: str | None = option(
        None,
        "vocab.txt of the model; none: the one next to --bert_config_file or --init_checkpoint.",
        is_path=True,
    )
    do_lower_case: bool = option(True, "Lower-case and strip accents; false for cased models.")
    batch_size: int = option(32, "Texts per batch; texts of similar length share one.")
    use_tpu: bool = option(False, "Released; this script runs on CPUs and GPUs.")
    master: str | None = option(None, "Released; the address of a TPU, not used.")
    num_tpu_cores: int = option(8, "Released; cores of a TPU, not used.")
    use_one_hot_embeddings: bool = option(
        False, "Released, for TPUs; the vectors are the same either way, so it changes nothing."
    )
    output_format: str = option(
        "auto",
        "(new) jsonl: the released JSON lines; npz: NumPy arrays; tfrecord; parquet (needs "
        "pyarrow); auto: by the ending of --output_file, jsonl for any other. .jsonl.gz and "
        ".tfrecord.gz are compressed.",
        choices=("auto", *OUTPUT_FORMATS),
    )
    pooling: str = option(
        "none",
        "(new) none: a vector for each token; else one for each text: cls: that of [CLS]; mean or "
        "max: over its tokens, special tokens included; pooled: what classifiers read, the pooler "
        "on the last layer.",
        choices=POOLINGS,
    )
    combine_layers: str = option(
        "none",
        "(new) none: a vector for each layer; else one in their place: their mean, their sum, or "
        "all of them one after the other.",
        choices=LAYER_COMBINATIONS,
    )
    output_dtype: str = option(
        "float32",
        "(new) Type of the numbers in the file; float16 takes half the room.",
        choices=("float32", "float16"),
    )
    dtype: str = option(
        "float32",
        "(new) Compute dtype of the layers; bfloat16 and float16 are for GPUs.",
        choices=("float32", "bfloat16", "float16"),
    )

    def __post_init__(self) -> None:
        require_positive(self, "max_seq_length", "batch_size")
        if self.use_tpu:
            raise InputError(
                "--use_tpu=true: this script runs on CPUs and GPUs. Every batch is padded to its "
                "longest text only, and a TPU would compile the model for each such length. Leave "
                "it out."
            )
        if self.pooling != "pooled":
            return
        for name, default in (("layers", _LAYERS), ("combine_layers", "none")):
            if (value := getattr(self, name)) != default:
                raise InputError(
                    f"--pooling=pooled is one vector, made from the last layer, so it takes no "
                    f"--{name}={value}. Leave out one of the two."
                )
