"""Files of the released TensorFlow 1 code: bert_model.ckpt.*, bert_config.json, vocab.txt."""

import glob
import os
import re

import numpy as np

from bert_tf import config as config_lib
from bert_tf import files
from bert_tf.checkpoints import architectures
from bert_tf.checkpoints.formats import tf1_names
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, described, first_file, held
from bert_tf.errors import InputError
from bert_tf.text import vocab

PREFIX = "bert_model.ckpt"
CONFIG_FILE = "bert_config.json"
VOCAB_FILE = "vocab.txt"

# Endings of the files of a checkpoint, behind its prefix.
_ENDING = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")

# What an object-based checkpoint of TensorFlow 2 has and a name-based one has not.
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def find(path):
    """The prefix of the checkpoint that `path` holds or names, or None.

    Raises:
      InputError: the directory holds several.
    """
    if not os.path.isdir(path):
        prefix = _ENDING.sub("", path)
        return prefix if os.path.isfile(f"{prefix}.index") else None
    indexes = sorted(glob.glob(os.path.join(glob.escape(path), "*.index")))
    if len(indexes) > 1:
        named = ", ".join(index.removesuffix(".index") for index in indexes)
        raise InputError(f"{path} holds {len(indexes)} checkpoints; give one of: {named}.")
    return indexes[0].removesuffix(".index") if indexes else None


def open(prefix):  # noqa: A001  the name of this function in every files module
    """Opens the checkpoint with this prefix.

    Raises:
      InputError: its values are missing, or it is damaged.
    """
    shapes, read = open_tensors(prefix)
    if _OBJECT_GRAPH in shapes:
        raise InputError(
            f"{prefix} is an object-based TensorFlow 2 checkpoint, whose names tell only the "
            "attributes of the program that wrote it; those of TF Model Garden are read."
        )
    architectures.check_names(shapes, prefix)
    directory = os.path.dirname(prefix)
    return Checkpoint(prefix, "tf1", *beside(directory), shapes, read, **described(directory))


def open_tensors(prefix):
    """Opens a file of TensorFlow's checkpoint format, whatever its names are.

    Returns:
      (dict from name to shape, function from name to array).

    Raises:
      InputError: its values are missing, or it is damaged.
    """
    import tensorflow as tf

    if not glob.glob(f"{glob.escape(prefix)}.data-*"):
        raise InputError(
            f"{prefix}.index is there, its values ({prefix}.data-*) are not. "
            f"{held(os.path.dirname(prefix) or '.')} Copy the data file beside it."
        )
    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes = {n: tuple(s) for n, s in reader.get_variable_to_shape_map().items()}
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise InputError(f"{prefix}.index cannot be read: {error}") from None

    def read(name):
        try:
            return np.asarray(reader.get_tensor(name))
        except (tf.errors.OpError, RuntimeError, IndexError) as error:
            raise InputError(f"{name} cannot be read from {prefix}: {error}") from None

    return shapes, read


def beside(directory):
    """(`BertConfig` or None, path of vocab.txt or None) of a checkpoint in `directory`.

    Weights of a training run are in `best` or `last`; what describes them is one level up.
    """
    places = [directory]
    if os.path.basename(os.path.abspath(directory)) in ("best", "last"):
        places.append(os.path.dirname(os.path.abspath(directory)))
    config_file = first_file(places, (CONFIG_FILE, "config.json"))
    config = config_lib.from_file(config_file, "config") if config_file else None
    return config, first_file(places, (VOCAB_FILE,))


def write(contents, directory):
    """Writes bert_model.ckpt.*, bert_config.json and vocab.txt into `directory`.

    Args:
      contents: `Contents`.
      directory: str, there and empty.
    """
    write_tensors(contents.to_names(tf1_names), os.path.join(directory, PREFIX))
    write_beside(contents, directory)


def write_beside(contents, directory):
    """Writes bert_config.json and vocab.txt; the reverse of `beside`."""
    files.write_text(os.path.join(directory, CONFIG_FILE), contents.config.to_json())
    if contents.vocab_file:
        vocab.copy(contents.vocab_file, os.path.join(directory, VOCAB_FILE))


def notes(contents):
    """What the released code computes otherwise than this package: list of sentences."""
    config, found = contents.config, []
    if config.hidden_act == "gelu_erf":
        found.append(
            "hidden_act is gelu_erf, the exact form, which the released code refuses; its own gelu "
            "is the tanh form."
        )
    if config.layer_norm_eps != 1e-12:
        found.append(
            f"layer_norm_eps is {config.layer_norm_eps}; the released code always takes 1e-12."
        )
    if config.is_causal:
        found.append("The model reads from left to right, which the released code does not.")
    return found


def write_tensors(arrays, prefix):
    """Writes a dict from name to array in TensorFlow's name-based checkpoint format."""
    import tensorflow as tf

    with tf.device("CPU"):
        tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=list(arrays),
            shape_and_slices=[""] * len(arrays),
            tensors=[tf.constant(array) for array in arrays.values()],
        )
