"""Presets of keras-hub: HDF5 weights, JSON descriptions, a vocabulary among the assets.

A name is the path of an HDF5 dataset in one of two files: `model/` for model.weights.h5 or its
shards, `task/` for task.weights.h5. Keras names an object after its class, numbered where there are
several, and its weights in the order in which they were made.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from bert_tf import files
from bert_tf.checkpoints.formats import keras_hub_json
from bert_tf.checkpoints.formats.base import (
    Checkpoint,
    Format,
    describe_directory,
    first_file,
    read_conversion,
    read_json,
)
from bert_tf.checkpoints.formats.rows import NameTable, Row
from bert_tf.checkpoints.kinds import heads_of
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import Shape
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text import vocab

_MODEL = "model.weights.h5"
_SHARDS = "model.weights.json"
_TASK = "task.weights.h5"
_WEIGHTS = re.compile(r"(model(_\d{5})?|task)\.weights\.h5|model\.weights\.json")
_VOCABULARY = "assets/tokenizer/vocabulary.txt"

# keras-hub has no head for the other kinds.
_KINDS = ("encoder", "pretrain", "classify", "multi_label", "regress", "choice")

# A dataset may declare more bytes than it stores. Beyond this factor it cannot be compression.
_MAX_EXPANSION = 1000

_KERAS_2 = re.compile(r"/_(query|key|value|output)_dense/")


class KerasHub(Format):
    """Presets of keras-hub's BERT, which have no place for a next sentence or a span head."""

    name = "keras_hub"
    title = "keras-hub preset"
    accepted = "a directory that save_to_preset of keras-hub wrote"
    needs_pooler = True  # every encoder there has one, whether anything reads it or not
    table = NameTable(
        names={
            "encoder/embeddings/word": "model/layers/reversible_embedding/vars/0",
            "encoder/embeddings/position": "model/layers/position_embedding/vars/0",
            "encoder/embeddings/type": "model/layers/embedding/vars/0",
            "encoder/embeddings/layer_norm": "model/layers/layer_normalization",
            "encoder/pooler": "model/layers/dense",
            "masked_lm/transform": "task/layers/masked_lm_head/_intermediate_dense",
            "masked_lm/layer_norm": "task/layers/masked_lm_head/_intermediate_layer_norm",
            "masked_lm/output_bias": "task/layers/masked_lm_head/vars/0",
            "classifier": "task/layers/dense",
        },
        layer="model/layers/transformer_encoder_{n}/",
        in_layer={
            "attention/qkv": "_self_attention_layer/{part}_dense",
            "attention/output": "_self_attention_layer/output_dense",
            "attention_layer_norm": "_self_attention_layer_norm",
            "feed_forward/intermediate": "_feedforward_intermediate_dense",
            "feed_forward/output": "_feedforward_output_dense",
            "output_layer_norm": "_feedforward_layer_norm",
        },
        endings={"kernel": "/vars/0", "bias": "/vars/1", "gamma": "/vars/0", "beta": "/vars/1"},
        has_head_axis=True,
    )

    # What training adds to the weights: the states of the optimizer and of random numbers.
    not_weights = (r"(model|task)/optimizer/.*", r".*/(seed|_?random)_generator/.*")

    def rows(self, config: BertConfig) -> list[Row]:
        """The name table. Keras does not number the first object of a class."""
        return [
            dataclasses.replace(
                row, names=tuple(name.replace("_encoder_0/", "_encoder/") for name in row.names)
            )
            for row in super().rows(config)
        ]

    def canonical_name(self, name: str) -> str:
        """The name as Keras 3 spells it; Keras 2 kept layers under the attribute of the model."""
        name = name.replace("/_layer_checkpoint_dependencies/", "/layers/")
        return _KERAS_2.sub(r"/\1_dense/", name)

    def find(self, path: str) -> str | None:
        """The directory of the preset that `path` is or is a weights file of, or None."""
        if _WEIGHTS.fullmatch(os.path.basename(path)) and os.path.isfile(path):
            return os.path.dirname(path) or "."
        config_file = os.path.join(path, keras_hub_json.CONFIG_FILE)
        if first_file([path], (_MODEL, _SHARDS)) or _is_description(config_file):
            return path
        return None

    def open(self, path: str) -> Checkpoint:
        """Opens the preset in the directory `path`, see `Format.open`."""
        config_file = os.path.join(path, keras_hub_json.CONFIG_FILE)
        if not os.path.isfile(config_file):
            raise InputError(
                f"{path} holds weights of Keras and no {keras_hub_json.CONFIG_FILE} to say which "
                f"model they are of. {describe_directory(path)} Give the directory that "
                "save_to_preset wrote."
            )
        config = keras_hub_json.read_config(path)
        kind, task_notes = keras_hub_json.read_task(path, config)
        do_lower_case, tokenizer_notes = keras_hub_json.read_tokenizer(path)
        stated: dict[str, Any] = {"kind": kind, "do_lower_case": do_lower_case}
        stated |= {key: value for key, value in read_conversion(path).items() if value is not None}
        datasets = _datasets(path)
        return Checkpoint(
            path=path,
            format=self,
            shapes={name: shape for name, (_, _, shape) in datasets.items()},
            read_array=lambda name: _read(*datasets[name][:2]),
            config=config,
            vocab_file=first_file([path], (_VOCABULARY,)),
            notes=(*task_notes, *tokenizer_notes),
            **stated,
        )

    def write(self, state_dict: StateDict, directory: str) -> None:
        """Writes a preset that keras-hub's `from_preset` loads.

        Raises:
          InputError: keras-hub has no place for a part of it or cannot compute it.
        """
        if problems := keras_hub_json.unsupported(state_dict.config):
            raise InputError(f"{state_dict.source} does not fit keras-hub: {' '.join(problems)}")
        if state_dict.kind not in _KINDS:
            heads = ", ".join(f"{head}/.*" for head in heads_of(state_dict.arrays))
            raise InputError(
                f"{state_dict.source} is a model of kind {state_dict.kind!r}, for which "
                f"keras-hub's BERT has no task; its kinds: {', '.join(_KINDS)}. To write the "
                f"encoder alone: --skip='{heads}'."
            )
        arrays = self.arrays(state_dict)
        for prefix, file_name in (("model/", _MODEL), ("task/", _TASK)):
            chosen = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            if chosen:
                _write_h5(os.path.join(directory, file_name), chosen)
        for file_name, text in keras_hub_json.objects(state_dict).items():
            files.write_text(os.path.join(directory, file_name), text)
        if state_dict.vocab_file:
            target = os.path.join(directory, _VOCABULARY)
            os.makedirs(os.path.dirname(target))
            vocab.copy(state_dict.vocab_file, target)

    def notes(self, state_dict: StateDict) -> list[str]:
        """What keras-hub computes differently."""
        return keras_hub_json.notes(state_dict)


def _is_description(path: str) -> bool:
    """Whether a config.json has the key that marks keras-hub's."""
    try:
        return '"registered_name"' in pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _datasets(directory: str) -> dict[str, tuple[str, str, Shape]]:
    """File, path in it and shape of each dataset of all weights files, by our name of it."""
    import h5py

    datasets: dict[str, tuple[str, str, Shape]] = {}
    for prefix, path in _weights_files(directory):

        def visit(name: str, item: Any, prefix: str = prefix, path: str = path) -> None:
            if isinstance(item, h5py.Dataset):
                _check_storage(path, name, item)
                key = f"{prefix}/{name}"
                if key in datasets:
                    raise InputError(f"{name} is in {datasets[key][0]} and in {path}.")
                datasets[key] = (path, name, tuple(item.shape))

        with _reading(path), h5py.File(path, "r") as file:
            file.visititems(visit)
    return datasets


def _weights_files(directory: str) -> list[tuple[str, str]]:
    """Pairs of the prefix of our names and the path of an HDF5 file.

    Raises:
      InputError: the file of the model is missing.
    """
    if model := first_file([directory], (_MODEL,)):
        paths = [("model", model)]
    elif index := first_file([directory], (_SHARDS,)):
        paths = [("model", path) for path in _shards(index)]
    else:
        raise InputError(
            f"{directory} has neither {_MODEL} nor {_SHARDS}. {describe_directory(directory)}"
        )
    task = first_file([directory], (_TASK,))
    return [*paths, ("task", task)] if task else paths


def _shards(index: str) -> list[str]:
    """Paths of the files that model.weights.json names.

    Raises:
      InputError: it is damaged, or one of them is missing.
    """
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict):
        raise InputError(f"{index} has no weight_map, which says what is in which shard.")
    values = [[value] if isinstance(value, str) else value for value in weight_map.values()]
    names = sorted({str(name) for value in values for name in value})
    if wrong := [name for name in names if os.path.basename(name) != name]:
        raise InputError(f"{index} names files in other directories: {', '.join(wrong[:3])}.")
    directory = os.path.dirname(index)
    paths = [os.path.join(directory, name) for name in names]
    if missing := [os.path.basename(path) for path in paths if not os.path.isfile(path)]:
        raise InputError(
            f"{index} names {len(names)} files; missing: {', '.join(missing)}. "
            f"{describe_directory(directory)}"
        )
    return paths


def _check_storage(path: str, name: str, dataset: Any) -> None:
    """Refuses an `h5py.Dataset` whose values are in another file, or nowhere."""
    if dataset.external or dataset.is_virtual:
        raise InputError(f"{name} of {path} points to values in another file, which is not read.")
    if dataset.nbytes > _MAX_EXPANSION * dataset.id.get_storage_size():
        raise InputError(
            f"{name} of {path} declares {dataset.nbytes} bytes and stores "
            f"{dataset.id.get_storage_size()}; the file is damaged."
        )


def _read(path: str, name: str) -> np.ndarray:
    import h5py

    with _reading(path), h5py.File(path, "r") as file:
        dataset = file[name]
        array = dataset[()]
        if dataset.attrs.get("dtype") == "bfloat16":  # the upper half of a float32
            array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return array


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turns what h5py raises into an `InputError`."""
    try:
        yield
    except (OSError, RuntimeError, KeyError) as error:
        raise InputError(f"{path} cannot be read as HDF5: {error}") from None


def _write_h5(path: str, arrays: dict[str, np.ndarray]) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
