"""Ensembles: model directories that hold several models and answer with their mean.

    bert_config.json  vocab.txt  model.json     as of one model; model.json names the members
    members/1/  members/2/ ...                  model directories, without what training needs

The files of the members are hard links where the file system allows it, or else copies.
"""

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from bert_tf import files
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.model_directory import MEMBERS, ModelDirectory, ModelMetadata
from bert_tf.errors import InputError

# What members need not have in common.
_OWN = ("task", "feature_based", "lstm_units", "format")


def open_members(paths: Sequence[str]) -> tuple[ModelDirectory, ...]:
    """Opens the directories of --ensemble.

    Raises:
      InputError: one is not a model directory, or the models do not answer the same question; the
        message has what differs.
    """
    members = tuple(ModelDirectory.open(path, "--ensemble") for path in paths)
    for member in members:
        if differences := _differences(members[0], member):
            raise InputError(
                f"--ensemble: {member.path} and {paths[0]} cannot answer as one: "
                f"{'; '.join(differences)}. Give models of the same task, trained with the same "
                "labels, vocabulary and --max_seq_length."
            )
    return members


def _differences(first: ModelDirectory, other: ModelDirectory) -> list[str]:
    if MEMBERS in other.metadata.settings:
        return [f"{other.path} is an ensemble itself; name its members, which lie in it"]
    ours, theirs = first.metadata, other.metadata
    found = [
        f"{name} is {_comparable(theirs, name)!r} there and {_comparable(ours, name)!r} here"
        for name in (field.name for field in dataclasses.fields(ModelMetadata))
        if name not in _OWN and _comparable(theirs, name) != _comparable(ours, name)
    ]
    if other.vocabulary.sha256 != first.vocabulary.sha256:
        found.append("the vocabularies differ")
    return found


def _comparable(metadata: ModelMetadata, name: str) -> Any:
    return metadata.fixed_settings if name == "settings" else getattr(metadata, name)


def settings(members: Sequence[ModelDirectory]) -> dict[str, Any]:
    """What model.json remembers of an ensemble: the members' names, and digests of their files."""
    if not members:
        return {}
    return {MEMBERS: {f"{MEMBERS}/{i}": each.digest() for i, each in enumerate(members, start=1)}}


def write(directory: ModelDirectory, members: Sequence[ModelDirectory]) -> None:
    """Writes an ensemble, completely or without the model.json that makes it one.

    Args:
      directory: with the `settings` of the members in its metadata; it need not be on disk yet.
    """
    names: Mapping[str, str] = directory.metadata.settings[MEMBERS]
    for name, member in zip(names, members, strict=True):
        with files.replacing_directory(os.path.join(directory.path, name)) as temporary:
            for path in member.files():
                target = os.path.join(temporary, os.path.relpath(path, member.path))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                _link(path, target)
    model_directory.create(
        directory.path, directory.config, members[0].vocab_file, directory.metadata
    )


def _link(path: str, target: str) -> None:
    """Links a file, which is never changed in place; copies it where links do not reach."""
    with contextlib.suppress(OSError):
        os.link(os.path.realpath(path), target)
        return
    shutil.copyfile(path, target)
