"""Files of TF Model Garden of 2019, read and not written: see `model_garden_2019_names`."""

import os

from bert_tf.checkpoints.formats import tf1_files
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, described

_MARKS = ("bert_model/word_embeddings/embeddings", "embedding_postprocessor/type_embeddings/.ATTR")


def find(path):
    """The prefix of the checkpoint that `path` holds or names, or None.

    Raises:
      InputError: the directory holds several checkpoints, or one that is damaged.
    """
    prefix = tf1_files.find(path)
    if prefix:
        names = tf1_files.open_tensors(prefix)[0]
        if any(mark in name for mark in _MARKS for name in names):
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
        "model_garden_2019",
        *tf1_files.beside(directory),
        *tf1_files.open_tensors(prefix),
        **described(directory),
    )
