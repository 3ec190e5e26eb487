"""What `extract_features.py` reads and checks before TensorFlow loads."""

import dataclasses
import importlib.util
import os
from typing import Any

from bert_tf import files
from bert_tf.checkpoints.coverage import FileNames
from bert_tf.checkpoints.variables import POOLER
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.extraction import lines, unfinished
from bert_tf.extraction.lines import Survey
from bert_tf.options import FeatureExtraction
from bert_tf.text import vocab
from bert_tf.training import inputs as run_inputs
from bert_tf.training.frozen import layers
from bert_tf.training.frozen.layers import Selection
from bert_tf.training.inputs import ModelInputs

_COMPRESSED = ".gz"
_MAY_BE_COMPRESSED = ("jsonl", "tfrecord")
_ENDINGS = {
    ".npz": "npz",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".parquet": "parquet",
}


@dataclasses.dataclass(frozen=True)
class Extraction:
    """What an extraction is made from, checked.

    Attributes:
      format: of the output: "jsonl", "npz", "tfrecord" or "parquet".
      is_compressed: whether the output is compressed by gzip.
    """

    options: FeatureExtraction
    model: ModelInputs
    selection: Selection
    survey: Survey
    format: str
    is_compressed: bool

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the numbers: an unfinished output goes on only with the same."""
        options, model = self.options, self.model
        checkpoint = model.checkpoint
        return {
            "text": self.survey.sha256,
            "weights": os.path.abspath(checkpoint.path) if checkpoint else None,
            "config": dataclasses.asdict(model.config),
            "vocabulary": model.vocabulary.sha256,
            "layers": [layer.depth for layer in self.selection.layers],
            "format": f"{self.format}{_COMPRESSED if self.is_compressed else ''}",
        } | {
            name: getattr(options, name)
            for name in ("max_seq_length", "do_lower_case", "pooling", "combine_layers")
            + ("output_dtype", "dtype", "layers")
        }


def main(options: FeatureExtraction) -> None:
    """Reads and checks everything, and only then loads TensorFlow and starts."""
    work = read(options)

    from bert_tf.extraction import extract  # TensorFlow takes seconds to load

    extract.run(work)


def read(options: FeatureExtraction) -> Extraction:
    """Reads and checks what the options name.

    Raises:
      InputError: a file is missing or not as wanted, or the output cannot be written.
    """
    files.require_file(options.input_file, "--input_file")
    files.require_output_file(
        options.output_file, "--output_file", options.input_file, "--input_file"
    )
    output_format, is_compressed = _format(options)
    survey = lines.survey(options.input_file)
    model = run_inputs.check_model(options)
    vocab.check_casing(model.vocabulary, options.do_lower_case)
    packing.check_length(options.max_seq_length, model.config, 3)
    depth = model.config.num_hidden_layers
    wanted = () if options.pooling == "pooled" else layers.parse(options.layers, depth)
    _check_pooler(options, model)
    work = Extraction(
        options,
        model,
        Selection(wanted, options.pooling, options.combine_layers),
        survey,
        output_format,
        is_compressed,
    )
    unfinished.check(options.output_file, work.identity)
    return work


def _format(options: FeatureExtraction) -> tuple[str, bool]:
    """The format of the output, and whether it is compressed."""
    path = options.output_file
    is_compressed = path.endswith(_COMPRESSED)
    ending = os.path.splitext(path.removesuffix(_COMPRESSED))[1].lower()
    name = options.output_format
    if name == "auto":
        name = _ENDINGS.get(ending, "jsonl")
    elif _ENDINGS.get(ending, name) != name:
        raise InputError(
            f"--output_file={path} ends as {_ENDINGS[ending]}, and --output_format={name}. Give a "
            "name that fits, or leave out --output_format."
        )
    if is_compressed and name not in _MAY_BE_COMPRESSED:
        raise InputError(
            f"--output_file={path}: {name} is not compressed by gzip. Leave out {_COMPRESSED}."
        )
    if name == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(
            f"--output_file={path}: Parquet needs pyarrow, which is not installed. Run "
            "pip install pyarrow, or give a file that ends in .npz or .tfrecord."
        )
    return name, is_compressed


def _check_pooler(options: FeatureExtraction, model: ModelInputs) -> None:
    checkpoint = model.checkpoint
    if options.pooling != "pooled" or checkpoint is None:
        return
    rows = checkpoint.format.rows(model.config)
    names = FileNames(checkpoint, rows, skip=())
    if not any(row.path == POOLER[0] and names.holds(row) for row in rows):
        raise InputError(
            f"{checkpoint.path} has no pooler, which --pooling=pooled reads. Give --pooling=mean "
            "or --pooling=cls."
        )
