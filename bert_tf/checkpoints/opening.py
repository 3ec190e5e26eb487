"""Finds out what a path holds and opens it for reading, name by name."""

import dataclasses
import glob
import os
from collections.abc import Callable

import numpy as np

from bert_tf import config as config_lib
from bert_tf.errors import InputError

TF1 = "tf1"  # name-based: google-research/bert, and what `saving.save` writes
HUGGING_FACE = "hugging_face"  # safetensors

_SAFETENSORS = "model.safetensors"
_ACCEPTED = (
    "Accepted: a directory with bert_model.ckpt.index and bert_model.ckpt.data-*, the path of "
    "such files without their last suffix, a directory with model.safetensors and config.json, "
    "or the --output_dir of a training run."
)


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint. Arrays are read one by one, when asked for.

    Attributes:
      path: str, what was found: the prefix of the files, or the file.
      format: `TF1` or `HUGGING_FACE`.
      config: `BertConfig` of the file beside it, or None.
      vocab_file: path of the vocab.txt beside it, or None.
      shapes: dict from name to tuple of int.
    """

    path: str
    format: str
    config: config_lib.BertConfig | None
    vocab_file: str | None
    shapes: dict
    _read: Callable

    @property
    def names(self):
        """All names in the file, sorted."""
        return tuple(sorted(self.shapes))

    def read(self, name):
        """One array; floats of any width come as float32.

        Raises:
          InputError: the file lacks the name, or is damaged.
        """
        if name not in self.shapes:
            raise InputError(f"{self.path} holds no {name!r}.")
        array = self._read(name)
        return array.astype(np.float32) if array.dtype.kind not in "iub" else array


def open_checkpoint(path):
    """Opens a checkpoint of a format listed in `Checkpoint.format`.

    Args:
      path: a directory, a TF1 prefix such as `.../bert_model.ckpt`, or one of the files.

    Raises:
      InputError: nothing readable is there; the message says what was found.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        return _open_directory(path)
    prefix = path.removesuffix(".index")
    if os.path.isfile(f"{prefix}.index"):
        return _open_tf1(prefix)
    if path.endswith(".safetensors") and os.path.isfile(path):
        return _open_safetensors(path)
    raise InputError(f"No checkpoint at {path}. {_held(os.path.dirname(path) or '.')} {_ACCEPTED}")


def _open_directory(path):
    for which in ("best", "last"):
        if os.path.isfile(os.path.join(path, which, "bert_model.ckpt.index")):
            return _open_tf1(os.path.join(path, which, "bert_model.ckpt"))
    if os.path.isfile(os.path.join(path, _SAFETENSORS)):
        return _open_safetensors(os.path.join(path, _SAFETENSORS))
    indexes = sorted(glob.glob(os.path.join(glob.escape(path), "*.index")))
    if len(indexes) > 1:
        named = ", ".join(index.removesuffix(".index") for index in indexes)
        raise InputError(f"{path} holds {len(indexes)} checkpoints; give one of: {named}.")
    if indexes:
        return _open_tf1(indexes[0].removesuffix(".index"))
    advice = ""
    if os.path.isfile(os.path.join(path, "pytorch_model.bin")):
        advice = " pytorch_model.bin is a pickle, which is not read; save it as safetensors."
    raise InputError(f"No checkpoint in {path}. {_held(path)}{advice} {_ACCEPTED}")


def _held(directory):
    if not os.path.isdir(directory):
        return f"There is no directory {directory}."
    names = sorted(os.listdir(directory))
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"{directory} holds: {', '.join(names[:12]) or 'nothing'}{more}."


def _open_tf1(prefix):
    import tensorflow as tf

    if not glob.glob(f"{glob.escape(prefix)}.data-*"):
        directory = os.path.dirname(prefix) or "."
        raise InputError(
            f"{prefix}.index is there, its values ({prefix}.data-*) are not. {_held(directory)} "
            "Copy the data file beside it."
        )
    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes = {n: tuple(s) for n, s in reader.get_variable_to_shape_map().items()}
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise InputError(f"{prefix}.index cannot be read: {error}") from None
    if "_CHECKPOINTABLE_OBJECT_GRAPH" in shapes:
        raise InputError(
            f"{prefix} is an object-based TensorFlow 2 checkpoint, whose names tell only the "
            f"attributes of the program that wrote it. {_ACCEPTED}"
        )

    def read(name):
        try:
            return np.asarray(reader.get_tensor(name))
        except (tf.errors.OpError, RuntimeError, IndexError) as error:
            raise InputError(f"{name} cannot be read from {prefix}: {error}") from None

    return Checkpoint(prefix, TF1, *_beside(os.path.dirname(prefix)), shapes, read)


def _open_safetensors(path):
    import safetensors

    try:
        file = safetensors.safe_open(path, framework="np")
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path} cannot be read as safetensors: {error}") from None
    return Checkpoint(path, HUGGING_FACE, *_beside(os.path.dirname(path)), shapes, file.get_tensor)


def _beside(directory):
    """(config or None, vocabulary file or None) of a checkpoint in `directory`.

    Weights of a training run are in `best` or `last`; what describes them is one level up.
    """
    places = [directory]
    if os.path.basename(os.path.abspath(directory)) in ("best", "last"):
        places.append(os.path.dirname(os.path.abspath(directory)))
    config_file = _first_file(places, ("bert_config.json", "config.json"))
    config = config_lib.from_file(config_file, "config") if config_file else None
    return config, _first_file(places, ("vocab.txt",))


def _first_file(directories, names):
    for directory in directories:
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                return path
    return None
