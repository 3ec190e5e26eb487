"""Arrays in one safetensors file or several. Nothing in them is ever run."""

import json
import os
import re
from collections.abc import Callable

import numpy as np

from bert_tf import files
from bert_tf.checkpoints.formats.base import Arrays, describe_directory, read_json
from bert_tf.checkpoints.variables import Shape
from bert_tf.errors import InputError

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

# First bytes of what PyTorch pickles: the protocol of a pickle, and the zip archive around one.
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")


def open_file(path: str) -> Arrays:
    """Opens one file.

    Raises:
      InputError: it is a pickle, cut short, or its header contradicts its size.
    """
    import ml_dtypes  # noqa: F401  with it NumPy has a bfloat16
    import safetensors

    _refuse_pickle(path)
    try:
        file = safetensors.safe_open(path, framework="np")
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(
            f"{path} ({os.path.getsize(path)} bytes) cannot be read as safetensors: {error}. "
            "It is damaged or incomplete; fetch it again."
        ) from None

    def read(name: str) -> np.ndarray:
        try:
            return file.get_tensor(name)
        except (safetensors.SafetensorError, AttributeError, TypeError) as error:
            raise InputError(
                f"{name} of {path} is of a type that NumPy does not have: {error!r}. Weights are "
                "floats; save them as float32."
            ) from None

    return shapes, read


def open_index(path: str) -> Arrays:
    """Opens the shards that a model.safetensors.index.json lists.

    Raises:
      InputError: a shard is missing, damaged, in another directory, or holds other names than the
        index says.
    """
    directory = os.path.dirname(path)
    weight_map = read_json(path).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise InputError(f"{path} has no weight_map from names to files.")
    shapes: dict[str, Shape] = {}
    readers: dict[str, Callable[[str], np.ndarray]] = {}
    for shard in sorted(set(map(str, weight_map.values()))):
        shard_shapes, read = open_file(_shard_path(directory, shard, path))
        listed = {name for name, file in weight_map.items() if file == shard}
        if listed != shard_shapes.keys():
            odd = sorted(listed ^ shard_shapes.keys())
            raise InputError(
                f"{path} lists {len(listed)} names in {shard}, which holds {len(shard_shapes)}; "
                f"{len(odd)} are in only one of the two, e.g. {odd[0]}. The files are of different "
                "models, or one is outdated; fetch them again."
            )
        shapes |= shard_shapes
        readers |= dict.fromkeys(shard_shapes, read)
    return shapes, lambda name: readers[name](name)


def _shard_path(directory: str, shard: str, index: str) -> str:
    if shard in (".", "..", "") or re.search(r"[/\\]", shard):
        raise InputError(
            f"{index} names the file {shard!r}, which is not next to it; only plain file names are "
            "followed."
        )
    path = os.path.join(directory, shard)
    if not os.path.isfile(path):
        raise InputError(
            f"{index} names the shard {shard}, which is missing. "
            f"{describe_directory(directory or '.')} Fetch it too."
        )
    return path


def _refuse_pickle(path: str) -> None:
    with open(path, "rb") as file:
        start = file.read(4)
    if start.startswith(_PICKLES):
        raise InputError(
            f"{path} is not a safetensors file but a pickle, as PyTorch saves them. Opening one "
            "can run any program, so it was not opened. If you trust it, save the model as "
            "safetensors."
        )


def write(arrays: dict[str, np.ndarray], directory: str, max_shard_bytes: int) -> None:
    """Writes model.safetensors, or shards of at most `max_shard_bytes` with their index.

    An array larger than that gets a shard of its own.
    """
    shards: list[dict[str, np.ndarray]] = [{}]
    size = 0
    for name, array in arrays.items():
        if shards[-1] and size + array.nbytes > max_shard_bytes:
            shards.append({})
            size = 0
        shards[-1][name] = array
        size += array.nbytes
    if len(shards) == 1:
        names = [SINGLE]
    else:
        names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    for name, shard in zip(names, shards, strict=True):
        save_file(shard, os.path.join(directory, name))
    if len(shards) > 1:
        total = sum(array.nbytes for array in arrays.values())
        weight_map = {n: file for file, shard in zip(names, shards, strict=True) for n in shard}
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        files.write_text(os.path.join(directory, INDEX), json.dumps(index, indent=2) + "\n")


def save_file(arrays: dict[str, np.ndarray], path: str) -> None:
    """Writes one file, with the mark that Hugging Face's libraries look for."""
    import safetensors.numpy

    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    safetensors.numpy.save_file(arrays, path, metadata={"format": "pt"})
