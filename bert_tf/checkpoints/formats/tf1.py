"""Checkpoints of the released TensorFlow 1 code, and the files that TensorFlow's formats share.

206 names for BERT-Base with both pre-training heads: 5 embedding variables, 16 for each layer, 2 of
the pooler, 5 of masked LM, 2 of next sentence prediction. We join query, key and value, so twelve
variables of ours in each layer stand for those sixteen.
"""

import glob
import os
import re
from typing import Any

import numpy as np

from bert_tf import files
from bert_tf.checkpoints import architectures
from bert_tf.checkpoints.formats.base import (
    Arrays,
    Checkpoint,
    Format,
    describe_directory,
    first_file,
    read_config,
    read_conversion,
)
from bert_tf.checkpoints.formats.rows import NameTable
from bert_tf.checkpoints.model_directory import CONFIG_FILE, VOCAB_FILE, WEIGHTS_PREFIX
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import Shape
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text import vocab

# Endings of the files of a checkpoint, after its prefix.
_ENDING = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")

# Name that an object-based checkpoint of TensorFlow 2 has, and a name-based one lacks.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


class TensorFlowFormat(Format):
    """A format of bert_model.ckpt.*, bert_config.json and vocab.txt."""

    def find(self, path: str) -> str | None:
        """The prefix of the checkpoint that `path` names or holds, see `Format.find`."""
        prefix = find_prefix(path)
        return prefix if prefix and self.has_own_names(open_tensors(prefix)[0]) else None

    def has_own_names(self, shapes: dict[str, Shape]) -> bool:
        """Whether the names in a file, with their shapes, are those of this format."""
        return True

    def open(self, path: str) -> Checkpoint:
        """Opens the checkpoint with the prefix `path`, see `Format.open`."""
        return self.opened(path, open_tensors(path))

    def opened(self, prefix: str, arrays: Arrays, **defaults: Any) -> Checkpoint:
        """A checkpoint of opened arrays and of the files next to them.

        Args:
          defaults: arguments of `Checkpoint`, for what no conversion.json says.
        """
        directory = os.path.dirname(prefix)
        config, vocab_file = read_description(directory)
        return Checkpoint(
            path=prefix,
            format=self,
            shapes=arrays[0],
            read_array=arrays[1],
            config=config,
            vocab_file=vocab_file,
            **(defaults | read_conversion(directory)),
        )


class TensorFlow1(TensorFlowFormat):
    """Checkpoints of google-research/bert (`modeling.py`, run_*.py)."""

    name = "tf1"
    title = "Google TensorFlow 1"
    accepted = (
        "a directory with bert_model.ckpt.index and bert_model.ckpt.data-*, or the path of such "
        "files without their last suffix"
    )
    table = NameTable(
        names={
            "encoder/embeddings/word": "bert/embeddings/word_embeddings",
            "encoder/embeddings/position": "bert/embeddings/position_embeddings",
            "encoder/embeddings/type": "bert/embeddings/token_type_embeddings",
            "encoder/embeddings/layer_norm": "bert/embeddings/LayerNorm",
            "encoder/pooler": "bert/pooler/dense",
            "masked_lm/transform": "cls/predictions/transform/dense",
            "masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
            "masked_lm/output_bias": "cls/predictions/output_bias",
            "next_sentence/kernel": "cls/seq_relationship/output_weights",
            "next_sentence/bias": "cls/seq_relationship/output_bias",
            "classifier/kernel": "output_weights",
            "classifier/bias": "output_bias",
            "span/kernel": "cls/squad/output_weights",
            "span/bias": "cls/squad/output_bias",
        },
        layer="bert/encoder/layer_{n}/",
        in_layer={
            "attention/qkv": "attention/self/{part}",
            "attention/output": "attention/output/dense",
            "attention_layer_norm": "attention/output/LayerNorm",
            "feed_forward/intermediate": "intermediate/dense",
            "feed_forward/output": "output/dense",
            "output_layer_norm": "output/LayerNorm",
        },
        transposed="(next_sentence|classifier|span)/kernel",
    )

    # What training adds to the weights: the step, the slots of Adam and LAMB under either naming,
    # and the state of loss scaling.
    not_weights = (
        r"global_step",
        r".*/(adam|lamb)_[mv]",
        r".*/(Adam|LAMB)(_\d+)?",
        r"(.*/)?(beta[12]_power|loss_scale|current_loss_scale|bad_steps|good_steps)",
    )

    def find(self, path: str) -> str | None:
        """The prefix of any checkpoint: the other formats of TensorFlow are tried before."""
        return find_prefix(path)

    def open(self, path: str) -> Checkpoint:
        """Opens the checkpoint with the prefix `path`, see `Format.open`."""
        arrays = open_tensors(path)
        if OBJECT_GRAPH in arrays[0]:
            raise InputError(
                f"{path} is an object-based TensorFlow 2 checkpoint. Its names are the attributes "
                "of the program that wrote it; only those of TF Model Garden are read."
            )
        architectures.check_names(arrays[0], path)
        return self.opened(path, arrays)

    def write(self, state_dict: StateDict, directory: str) -> None:
        """Writes bert_model.ckpt.*, bert_config.json and vocab.txt."""
        write_tensors(self.arrays(state_dict), os.path.join(directory, WEIGHTS_PREFIX))
        write_description(state_dict, directory)

    def notes(self, state_dict: StateDict) -> list[str]:
        """What the released code computes differently."""
        config, notes = state_dict.config, []
        if config.hidden_act == "gelu_erf":
            notes.append(
                "hidden_act is gelu_erf, the exact form, which the released code refuses; its own "
                "gelu is the tanh form."
            )
        if config.layer_norm_eps != 1e-12:
            notes.append(
                f"layer_norm_eps is {config.layer_norm_eps}; the released code always uses 1e-12."
            )
        if config.is_causal:
            notes.append("The model reads from left to right, which the released code does not.")
        return notes


def find_prefix(path: str) -> str | None:
    """The prefix of the TensorFlow checkpoint that `path` names or holds, or None.

    Raises:
      InputError: the directory holds several.
    """
    if not os.path.isdir(path):
        prefix = _ENDING.sub("", path)
        return prefix if os.path.isfile(f"{prefix}.index") else None
    indexes = sorted(glob.glob(os.path.join(glob.escape(path), "*.index")))
    if len(indexes) > 1:
        prefixes = ", ".join(index.removesuffix(".index") for index in indexes)
        raise InputError(f"{path} holds {len(indexes)} checkpoints; give one of: {prefixes}.")
    return indexes[0].removesuffix(".index") if indexes else None


def open_tensors(prefix: str) -> Arrays:
    """Opens a file of TensorFlow's checkpoint format, whatever its names are.

    Raises:
      InputError: its values are missing, or it is damaged.
    """
    import tensorflow as tf

    if not glob.glob(f"{glob.escape(prefix)}.data-*"):
        raise InputError(
            f"{prefix}.index is there, its values ({prefix}.data-*) are not. "
            f"{describe_directory(os.path.dirname(prefix) or '.')} Copy the data file next to it."
        )
    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes = {n: tuple(s) for n, s in reader.get_variable_to_shape_map().items()}
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise InputError(f"{prefix}.index cannot be read: {error}") from None

    def read(name: str) -> np.ndarray:
        try:
            return np.asarray(reader.get_tensor(name))
        except (tf.errors.OpError, RuntimeError, IndexError) as error:
            raise InputError(f"{name} cannot be read from {prefix}: {error}") from None

    return shapes, read


def write_tensors(arrays: dict[str, np.ndarray], prefix: str) -> None:
    """Writes arrays by name in TensorFlow's name-based checkpoint format."""
    import tensorflow as tf

    with tf.device("CPU"):
        tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=list(arrays),
            shape_and_slices=[""] * len(arrays),
            tensors=[tf.constant(array) for array in arrays.values()],
        )


def read_description(directory: str) -> tuple[BertConfig | None, str | None]:
    """Configuration of a checkpoint in `directory`, and path of its vocabulary; None if missing.

    Weights of a training run are in `best` or `last`; what describes them is one level up.
    """
    directories = [directory]
    if os.path.basename(os.path.abspath(directory)) in ("best", "last"):
        directories.append(os.path.dirname(os.path.abspath(directory)))
    config = read_config(directories, (CONFIG_FILE, "config.json"))
    return config, first_file(directories, (VOCAB_FILE,))


def write_description(state_dict: StateDict, directory: str) -> None:
    """Writes bert_config.json and vocab.txt; the reverse of `read_description`."""
    files.write_text(os.path.join(directory, CONFIG_FILE), state_dict.config.to_json())
    if state_dict.vocab_file:
        vocab.copy(state_dict.vocab_file, os.path.join(directory, VOCAB_FILE))
