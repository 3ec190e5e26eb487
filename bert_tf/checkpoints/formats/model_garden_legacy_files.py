"""Files of TF Model Garden with names: what its converter of TensorFlow 1 checkpoints writes."""

import os

from bert_tf.checkpoints.formats import model_garden_files, model_garden_legacy_names, tf1_files
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, described

NEEDS_POOLER = True

_MARK = "transformer/layer_0/self_attention/query/kernel"
_FIRST_MARK = "bert_model/encoder/layer_0/self_attention/query/kernel"

notes = model_garden_files.notes


def find(path):
    """The prefix of the checkpoint that `path` holds or names, or None.

    Raises:
      InputError: the directory holds several checkpoints, or one that is damaged.
    """
    prefix = tf1_files.find(path)
    if prefix:
        shapes, _ = tf1_files.open_tensors(prefix)
        if _MARK in shapes or len(shapes.get(_FIRST_MARK, ())) == 3:  # [H A D]
            return prefix
    return None


def open(prefix):  # noqa: A001  the name of this function in every files module
    """Opens the checkpoint with this prefix.

    Raises:
      InputError: its values are missing, or it is damaged.
    """
    directory = os.path.dirname(prefix)
    return Checkpoint(
        prefix,
        "model_garden_legacy",
        *tf1_files.beside(directory),
        *tf1_files.open_tensors(prefix),
        **described(directory),
    )


def write(contents, directory):
    """Writes bert_model.ckpt.*, bert_config.json and vocab.txt into `directory`.

    `load_weights` of Model Garden's `BertEncoder` and `BertPretrainerV2` reads it.

    Args:
      contents: `Contents`.
      directory: str, there and empty.
    """
    arrays = contents.to_names(model_garden_legacy_names)
    tf1_files.write_tensors(arrays, os.path.join(directory, tf1_files.PREFIX))
    tf1_files.write_beside(contents, directory)
