"""The model directory of this package as a checkpoint: its best weights, or its last."""

import dataclasses
import os

from bert_tf.checkpoints import model_directory, variables
from bert_tf.checkpoints.formats import tf1_files, tf1_names
from bert_tf.errors import InputError

NEEDS_POOLER = True
_INDEX = f"{tf1_files.PREFIX}.index"


def find(path):
    """Prefix of the best weights of a model directory, or of the last, or None.

    `path` may be the directory, `best` or `last` in it, or the prefix or a file of its weights.
    """
    for which in ("best", "last"):
        if os.path.isfile(os.path.join(path, which, _INDEX)):
            return os.path.join(path, which, tf1_files.PREFIX)
    directory = path if os.path.isdir(path) else os.path.dirname(path)
    if os.path.basename(os.path.abspath(directory)) not in ("best", "last"):
        return None
    prefix = os.path.join(directory, tf1_files.PREFIX)
    is_named = os.path.isdir(path) or tf1_files.find(path) == prefix
    return prefix if is_named and os.path.isfile(f"{prefix}.index") else None


def open(prefix):  # noqa: A001  the name of this function in every files module
    """Opens the weights with this prefix.

    Raises:
      InputError: they or what describes them is damaged.
    """
    checkpoint = dataclasses.replace(tf1_files.open(prefix), format="bert_tf")
    directory = os.path.dirname(os.path.dirname(os.path.abspath(prefix)))
    metadata = model_directory.read_metadata(directory)
    if metadata is None:
        return checkpoint
    return dataclasses.replace(
        checkpoint,
        kind=metadata.kind,
        labels=variables.told_labels(metadata.labels),
        do_lower_case=metadata.do_lower_case,
        num_texts=metadata.num_texts,
    )


def write(contents, directory):
    """Writes a model directory whose last weights are `contents`.

    Args:
      contents: `Contents`.
      directory: str, there and empty.

    Raises:
      InputError: there is no vocabulary, or no model here has just these heads.
    """
    if not contents.vocab_file:
        raise InputError(
            f"There is no vocab.txt beside {contents.source}, and a model directory has one. "
            "Give --vocab_file."
        )
    num_texts = contents.num_texts or 1
    if contents.kind == "pretrain":
        found = variables.heads(contents.arrays)
        if "masked_lm" not in found:
            raise InputError(
                f"{contents.source} holds a next sentence head without one for masked LM, which "
                "no model here has. Leave it out: --skip='next_sentence/.*'."
            )
        num_texts = 2 if "next_sentence" in found else 1
    labels = ()
    if contents.kind in variables.LABELLED:
        labels = contents.labels or variables.default_labels(contents.num_outputs)
    metadata = model_directory.ModelMetadata(
        kind=contents.kind,
        task="converted",
        do_lower_case=contents.do_lower_case,
        max_seq_length=contents.config.max_position_embeddings,
        labels=labels,
        num_texts=num_texts,
    )
    model_directory.create(directory, contents.config, contents.vocab_file, metadata)
    last = os.path.join(directory, "last")
    os.mkdir(last)
    prefix = os.path.join(last, tf1_files.PREFIX)
    tf1_files.write_tensors(contents.to_names(tf1_names), prefix)
