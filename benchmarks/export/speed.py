"""Speed of exported models on one thread, in turns with other libraries; texts in, logits out.

    python -m benchmarks.export.speed --vocab_file=vocab.txt --peer_python=PYTHON \
        [--model_dir=DIR | --hidden_size=768 --num_hidden_layers=12] [--keras_hub_python=PYTHON]

PYTHON has torch, transformers, tokenizers, onnx, onnxscript, onnxruntime and ai-edge-litert. Without
a trained classifier a model with random weights is measured. Texts have 5 to 50 tokens with the
special ones. A figure is the median of the rounds, in CPU seconds of the process: milliseconds
for a text alone, and texts per second in batches of 32. Differences and labels are those of
transformers, on the same texts.
"""

import dataclasses
import json
import os
import pathlib
import statistics
import sys
import tempfile

import numpy as np

from benchmarks import child_process, turns
from benchmarks.tasks import serving_latency
from bert_tf import files, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab

ROOT = pathlib.Path(__file__).parents[2]
CHILD = ROOT / "benchmarks" / "export" / "speed_child.py"
PEER_FILES = ROOT / "benchmarks" / "export" / "speed_peer_files.py"
NUM_CLASSES = 12
MAX_SEQ_LENGTH = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    vocab_file: str = option(REQUIRED, "Uncased vocab.txt; its plain words make the texts.")
    peer_python: str = option(REQUIRED, "Interpreter with the peers.")
    keras_hub_python: str | None = option(None, "Interpreter with keras-hub, if it is measured.")
    model_dir: str | None = option(None, "A trained classifier of single texts.")
    texts_file: str | None = option(None, "Texts, one per line; none: random words.")
    hidden_size: int = option(384, "H")
    num_hidden_layers: int = option(6, "L")
    num_attention_heads: int = option(12, "A")
    num_texts: int = option(320, "Texts in batches; a quarter of them is also given alone.")
    rounds: int = option(5, "Times everything is measured, in turn.")
    output: str = option("export_speed.json", "Name of the file in benchmarks/results.")


def open_model(options, folder):
    """The directory of the model and the model."""
    if options.model_dir:
        directory = model_directory.ModelDirectory.open(options.model_dir)
        return directory, directory.build_model()
    import keras

    keras.utils.set_random_seed(1)
    config = BertConfig(
        vocab_size=len(vocab.from_file(options.vocab_file)),
        hidden_size=options.hidden_size,
        num_hidden_layers=options.num_hidden_layers,
        num_attention_heads=options.num_attention_heads,
        intermediate_size=4 * options.hidden_size,
        hidden_act="gelu_erf",
    )
    metadata = model_directory.ModelMetadata(
        kind="classify",
        task="any",
        labels=tuple(map(str, range(NUM_CLASSES))),
        do_lower_case=True,
        max_seq_length=MAX_SEQ_LENGTH,
    )
    directory = model_directory.create(f"{folder}/run", config, options.vocab_file, metadata)
    return directory, model_directory.new_model(config, metadata)
