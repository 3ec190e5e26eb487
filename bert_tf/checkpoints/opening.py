"""Finds out what a path holds and opens it for reading, name by name."""

import os

from bert_tf.checkpoints.formats import table
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, held
from bert_tf.errors import InputError

__all__ = ["Checkpoint", "open_checkpoint"]

_ADVICE = {
    "pytorch_model.bin": "pytorch_model.bin is a pickle, which can run any program when it is "
    'opened and so is never read; where you trust it, `python -c "import torch, '
    "safetensors.torch as s; s.save_file({k: v.clone() for k, v in torch.load('pytorch_model.bin', "
    "weights_only=True).items()}, 'model.safetensors')\"` makes a file that is."
}


def open_checkpoint(path):
    """Opens a checkpoint of any format of `table.FORMATS`, which is found by itself.

    Args:
      path: a directory, a TF1 prefix such as `.../bert_model.ckpt`, or one of the files.

    Raises:
      InputError: nothing readable is there; the message says what was found.
    """
    path = os.fspath(path)
    for row in table.FORMATS:
        found = row.files.find(path)
        if found:
            return row.files.open(found)
    directory = path if os.path.isdir(path) else os.path.dirname(path) or "."
    there = "in" if os.path.isdir(path) else "at"
    advice = [
        text for name, text in _ADVICE.items() if os.path.isfile(os.path.join(directory, name))
    ]
    raise InputError(
        " ".join([f"No checkpoint {there} {path}.", held(directory), *advice, table.accepted()])
    )
