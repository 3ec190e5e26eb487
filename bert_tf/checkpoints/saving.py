"""Writes weights as a checkpoint that the released TensorFlow 1 code reads."""

import os

import numpy as np

from bert_tf import files
from bert_tf.checkpoints.formats import tf1_files, tf1_names

PREFIX = tf1_files.PREFIX


def save(model, directory):
    """Writes `bert_model.ckpt.*` and bert_config.json into `directory`, whole or not at all.

    The names are those of google-research/bert, through the table that also loads them. What
    was in `directory` before is replaced.

    Args:
      model: an `Encoder` or a model of `modeling.models`.
      directory: str.
    """
    arrays = to_arrays(model)
    with files.replacing_directory(directory) as temporary:
        tf1_files.write_tensors(arrays, os.path.join(temporary, PREFIX))
        files.write_text(os.path.join(temporary, tf1_files.CONFIG_FILE), model.config.to_json())


def to_arrays(model):
    """The weights under their names in the released code: dict of float32 arrays, sorted.

    Raises:
      ValueError: the table has no row for a variable of the model.
    """
    variables = {variable.path: variable for variable in model.variables}
    arrays = {}
    for row in tf1_names.table(model.config):
        if row.path in variables:
            array = np.asarray(variables.pop(row.path).value)
            arrays.update(zip(row.names, row.split(array), strict=True))
    if variables:
        raise ValueError(f"No row of tf1_names for {sorted(variables)}.")
    return {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
