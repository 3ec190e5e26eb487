"""Files of a keras-hub preset: HDF5 weights, JSON descriptions, a vocabulary among the assets."""

import contextlib
import os
import pathlib
import re

import numpy as np

from bert_tf import files
from bert_tf.checkpoints import variables
from bert_tf.checkpoints.formats import keras_hub_json, keras_hub_names
from bert_tf.checkpoints.formats.checkpoint import (
    Checkpoint,
    described,
    first_file,
    held,
    read_json,
)
from bert_tf.errors import InputError
from bert_tf.text import vocab

_MODEL = "model.weights.h5"
_SHARDS = "model.weights.json"
_TASK = "task.weights.h5"
_WEIGHTS = re.compile(r"(model(_\d{5})?|task)\.weights\.h5|model\.weights\.json")
_VOCABULARY = "assets/tokenizer/vocabulary.txt"
_KINDS = ("encoder", "pretrain", "classify", "regress", "choice")

# Every encoder there has a pooler, whether anything reads it or not.
NEEDS_POOLER = True

notes = keras_hub_json.notes

# A dataset may declare more than it stores; beyond this it is no compression.
_MOST_EXPANSION = 1000


def find(path):
    """The directory of the preset that `path` is or is a weights file of, or None."""
    if _WEIGHTS.fullmatch(os.path.basename(path)) and os.path.isfile(path):
        return os.path.dirname(path) or "."
    config_file = os.path.join(path, keras_hub_json.CONFIG_FILE)
    if first_file([path], (_MODEL, _SHARDS)) or _is_description(config_file):
        return path
    return None


def _is_description(path):
    """Whether a config.json has the key that marks keras-hub's."""
    try:
        return '"registered_name"' in pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def open(directory):  # noqa: A001  the name of this function in every files module
    """Opens a preset.

    Raises:
      InputError: it is of another architecture or damaged, or a file of it is missing.
    """
    config_file = os.path.join(directory, keras_hub_json.CONFIG_FILE)
    if not os.path.isfile(config_file):
        raise InputError(
            f"{directory} holds weights of Keras and no {keras_hub_json.CONFIG_FILE} to say what "
            f"they are of. {held(directory)} Give the directory that save_to_preset wrote."
        )
    config = keras_hub_json.read_config(directory)
    kind, task_notes = keras_hub_json.read_task(directory, config)
    do_lower_case, tokenizer_notes = keras_hub_json.read_tokenizer(directory)
    told = {name: value for name, value in described(directory).items() if value is not None}
    places = _datasets(directory)
    return Checkpoint(
        path=directory,
        format="keras_hub",
        config=config,
        vocab_file=first_file([directory], (_VOCABULARY,)),
        shapes={name: shape for name, (_, _, shape) in places.items()},
        _read=lambda name: _read(*places[name][:2]),
        notes=(*task_notes, *tokenizer_notes),
        **({"kind": kind, "do_lower_case": do_lower_case} | told),
    )


def _datasets(directory):
    """Dict from our name of a dataset to (file, path in it, shape), over all weights files."""
    import h5py

    found = {}
    for prefix, path in _weights_files(directory):

        def visit(name, item, prefix=prefix, path=path):
            if isinstance(item, h5py.Dataset):
                _check_storage(path, name, item)
                if f"{prefix}/{name}" in found:
                    raise InputError(f"{name} is in {found[f'{prefix}/{name}'][0]} and in {path}.")
                found[f"{prefix}/{name}"] = (path, name, tuple(item.shape))

        with _reading(path), h5py.File(path, "r") as file:
            file.visititems(visit)
    return found


def _weights_files(directory):
    """Pairs of the prefix of our names and the path of an HDF5 file."""
    if model := first_file([directory], (_MODEL,)):
        found = [("model", model)]
    elif index := first_file([directory], (_SHARDS,)):
        found = [("model", path) for path in _shards(index)]
    else:
        raise InputError(f"{directory} has neither {_MODEL} nor {_SHARDS}. {held(directory)}")
    task = first_file([directory], (_TASK,))
    return [*found, ("task", task)] if task else found


def _shards(index):
    """Paths of the files that model.weights.json names.

    Raises:
      InputError: it is damaged, or one of them is missing.
    """
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict):
        raise InputError(f"{index} has no weight_map, which says what is in which shard.")
    values = [[value] if isinstance(value, str) else value for value in weight_map.values()]
    names = {str(name) for value in values for name in value}
    if wrong := [name for name in sorted(names) if os.path.basename(name) != name]:
        raise InputError(f"{index} names files in other directories: {', '.join(wrong[:3])}.")
    directory = os.path.dirname(index)
    missing = [name for name in sorted(names) if not os.path.isfile(os.path.join(directory, name))]
    if missing:
        raise InputError(
            f"{index} names {len(names)} files, of which are missing: {', '.join(missing)}. "
            f"{held(directory)}"
        )
    return [os.path.join(directory, name) for name in sorted(names)]


def _check_storage(path, name, dataset):
    """Refuses a dataset whose values are in another file, or nowhere."""
    if dataset.external or dataset.is_virtual:
        raise InputError(f"{name} of {path} points to values in another file, which is not read.")
    if dataset.nbytes > _MOST_EXPANSION * dataset.id.get_storage_size():
        raise InputError(
            f"{name} of {path} declares {dataset.nbytes} bytes and stores "
            f"{dataset.id.get_storage_size()}; the file is damaged."
        )


def _read(path, name):
    import h5py

    with _reading(path), h5py.File(path, "r") as file:
        dataset = file[name]
        array = dataset[()]
        if dataset.attrs.get("dtype") == "bfloat16":  # the upper half of a float32
            array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return array


@contextlib.contextmanager
def _reading(path):
    try:
        yield
    except (OSError, RuntimeError, KeyError) as error:
        raise InputError(f"{path} cannot be read as HDF5: {error}") from None


def write(contents, directory):
    """Writes a preset that keras-hub's `from_preset` loads.

    Args:
      contents: `Contents`.
      directory: str, there and empty.

    Raises:
      InputError: keras-hub has no place for a part of it or cannot compute it.
    """
    if problems := keras_hub_json.unsupported(contents.config):
        raise InputError(f"{contents.source} does not fit keras-hub: {' '.join(problems)}")
    if contents.kind not in _KINDS:
        heads = ", ".join(f"{head}/.*" for head in variables.heads(contents.arrays))
        raise InputError(
            f"{contents.source} is a model of kind {contents.kind!r}, for which keras-hub's BERT "
            f"has no task; its kinds: {', '.join(_KINDS)}. The encoder alone can be written: "
            f"--skip='{heads}'."
        )
    arrays = contents.to_names(keras_hub_names)
    for prefix, name in (("model", _MODEL), ("task", _TASK)):
        chosen = {key: array for key, array in arrays.items() if key.startswith(f"{prefix}/")}
        if chosen:
            _write_h5(os.path.join(directory, name), chosen)
    for name, text in keras_hub_json.objects(contents).items():
        files.write_text(os.path.join(directory, name), text)
    if contents.vocab_file:
        target = os.path.join(directory, _VOCABULARY)
        os.makedirs(os.path.dirname(target))
        vocab.copy(contents.vocab_file, target)


def _write_h5(path, arrays):
    import h5py

    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name.split("/", 1)[1], data=array)
