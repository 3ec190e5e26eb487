"""What --ensemble asks for: the members, checked against the run, in its model directory."""

import dataclasses
import os

from bert_tf.checkpoints import ensembles, model_directory
from bert_tf.checkpoints.model_directory import MEMBERS, ModelDirectory, ModelMetadata
from bert_tf.errors import InputError
from bert_tf.options import TextClassification


def trained_metadata(options: TextClassification) -> ModelMetadata | None:
    """What the model answers that a run without training uses.

    Returns:
      that of the first member of --ensemble, or else of --output_dir; None if there is no model.

    Raises:
      InputError: a member is not a model directory, or the model in --output_dir is damaged.
    """
    if options.ensemble_members:
        return ModelDirectory.open(options.ensemble_members[0], "--ensemble").metadata
    if os.path.exists(os.path.join(options.output_dir, "model.json")):
        return ModelDirectory.open(options.output_dir, "--output_dir").metadata
    return None


def with_members(metadata: ModelMetadata, options: TextClassification) -> ModelMetadata:
    """The metadata with the members of --ensemble, or those of the ensemble in --output_dir.

    Raises:
      InputError: the members do not fit each other, or the flags of the run.
    """
    if options.ensemble_members:
        members = ensembles.open_members(options.ensemble_members)
        _check_flags(metadata, members[0])
        settings = ensembles.settings(members)
    else:
        there = None if options.do_train else model_directory.read_metadata(options.output_dir)
        found = there.settings.get(MEMBERS) if there else None
        settings = {MEMBERS: found} if found else {}
    return dataclasses.replace(metadata, settings={**metadata.settings, **settings})


def _check_flags(metadata: ModelMetadata, member: ModelDirectory) -> None:
    theirs = member.metadata
    names = ("kind", "labels", "num_texts", "do_lower_case", "max_seq_length", "settings")
    differences = [
        f"{name} is {getattr(theirs, name)!r} there and {getattr(metadata, name)!r} here"
        for name in names
        if getattr(theirs, name) != getattr(metadata, name)
    ]
    if differences:
        raise InputError(
            f"--ensemble: {member.path} was trained otherwise than this run asks: "
            f"{'; '.join(differences)}. Give the flags of its training (its flags.txt)."
        )


def write(options: TextClassification, directory: ModelDirectory) -> None:
    """Makes --output_dir the ensemble of --ensemble, unless it is that already."""
    if not options.ensemble_members or model_directory.read_metadata(directory.path):
        return
    members = ensembles.open_members(options.ensemble_members)
    ensembles.write(directory, members)
    paths = ", ".join(member.path for member in members)
    print(f"Ensemble of {len(members)} models in {directory.path}: {paths}", flush=True)
