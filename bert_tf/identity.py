"""What decides the result of a run, kept with its state: a restart must have the same identity."""

import json
import os
from collections.abc import Mapping
from typing import Any

from bert_tf import files
from bert_tf.errors import InputError

# What version 0.1.0 wrote, and its name now.
_RENAMED_KEYS = {"unit": "granularity"}
_RENAMED_VALUES = {("unit", "piece"): "token"}
# What decided a result in version 0.1.0, and no longer does.
_DROPPED_KEYS = ("batch_pieces",)
# What a run of version 0.1.0 lacks, in words.
_ADDED_KEYS = {
    "dropout_masks": "version 0.1.0 began it, which drew other dropout masks in fine-tuning, so "
    "only that version can go on with it"
}
# What earlier runs lack, with the value that they were made with.
_ADDED_VALUES: dict[str, Any] = {
    "layer_lr_decay": 1.0,
    "reinit_layers": None,
    "freeze_layers": None,
    "weight_decay_to_start": False,
    "label_weights": [],
    "best_metric": None,
    "early_stopping": None,
}
# Differences in other words than the values.
_EXPLAINED_KEYS = {
    "anchors_sha256": "the weights of --init_checkpoint are others now, and "
    "--weight_decay_to_start needs them in every start"
}


def differences(path: str, identity: Mapping[str, Any], *, is_part: bool = False) -> list[str]:
    """Compares an identity with the one in a file.

    Args:
      path: a JSON file, or none yet.
      identity: values that JSON can hold.
      is_part: whether the file may have entries that `identity` lacks.

    Returns:
      A phrase for each entry that differs, such as "seed is 3 there and 5 here"; empty if there
      is no file.

    Raises:
      InputError: the file is empty or damaged.
    """
    if not os.path.exists(path):
        return []
    here = json.loads(json.dumps(identity))  # with lists for tuples, as in the file
    there = {name: _ADDED_VALUES[name] for name in _ADDED_VALUES.keys() & here.keys()} | _read(path)
    return [
        _difference(name, there, here)
        for name in sorted(here.keys() if is_part else there.keys() | here.keys())
        if there.get(name) != here.get(name)
    ]


def value(path: str, name: str) -> Any:
    """An entry of the identity in a file; None without the file or the entry.

    Raises:
      InputError: the file is empty or damaged.
    """
    return _read(path).get(name) if os.path.exists(path) else None


def _difference(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    if name in _ADDED_KEYS and name not in there:
        return _ADDED_KEYS[name]
    if name in _EXPLAINED_KEYS and name in there and name in here:
        return _EXPLAINED_KEYS[name]
    return f"{name} is {there.get(name)!r} there and {here.get(name)!r} here"


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            identity = json.load(file, object_pairs_hook=_renamed)
        if not isinstance(identity, dict):
            raise ValueError("it is no JSON object")
    except ValueError as error:
        what = "is empty" if not os.path.getsize(path) else f"is damaged ({error})"
        raise InputError(
            f"{path} {what}; it should hold the options that decide the result of the work in "
            f"{os.path.dirname(path)}. If this is the command that began that work, remove the "
            "file and run the command again: it goes on. Otherwise give a new output directory."
        ) from None
    return identity


def _renamed(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        _RENAMED_KEYS.get(key, key): _RENAMED_VALUES.get((key, str(value)), value)
        for key, value in entries
        if key not in _DROPPED_KEYS
    }


def keep(path: str, identity: Mapping[str, Any]) -> None:
    """Writes an identity to a file, unless the file exists."""
    if not os.path.exists(path):
        files.write_text(path, json.dumps(identity, indent=2, sort_keys=True) + "\n")
