"""Writes weights as a checkpoint that the released TensorFlow 1 code reads."""

import os
from collections.abc import Mapping

import numpy as np

from bert_tf import files
from bert_tf.checkpoints.formats.bert_tf import BertTF
from bert_tf.checkpoints.formats.tf1 import write_tensors
from bert_tf.checkpoints.model_directory import CONFIG_FILE, WEIGHTS_PREFIX
from bert_tf.checkpoints.variables import Model
from bert_tf.config import BertConfig


def save(model: Model, directory: files.StrPath) -> None:
    """Writes `bert_model.ckpt.*` and bert_config.json into `directory`, completely or not at all.

    The names are those of google-research/bert, from the table that also loads them. What was in
    `directory` before is replaced.
    """
    write(to_arrays(model), model.config, directory)


def write(arrays: Mapping[str, np.ndarray], config: BertConfig, directory: files.StrPath) -> None:
    """`save` of what `to_arrays` gave."""
    with files.replacing_directory(directory) as temporary:
        write_tensors(dict(arrays), os.path.join(temporary, WEIGHTS_PREFIX))
        files.write_text(os.path.join(temporary, CONFIG_FILE), config.to_json())


def to_arrays(model: Model) -> dict[str, np.ndarray]:
    """The weights as float32 under their names in the released code, sorted.

    Raises:
      ValueError: the name table has no row for a variable of the model.
    """
    variables = {variable.path: variable for variable in model.variables}
    arrays: dict[str, np.ndarray] = {}
    for row in BertTF().rows(model.config):
        if row.path in variables:
            array = np.asarray(variables.pop(row.path).value)
            arrays.update(zip(row.names, row.split(array), strict=True))
    if variables:
        raise ValueError(f"The name table of TensorFlow 1 has no row for {sorted(variables)}.")
    return {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
