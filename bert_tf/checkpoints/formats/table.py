"""Every checkpoint format, one row each. Adding a format is adding a row here.

A names module has `table(config)`, `canonical(name)`, `NOT_WEIGHTS` and `TIED`; a files module
has `find(path)`, `open(path)` and, where the format is written too, `write(contents, directory)`.
It may have `notes(contents)`, see `Format.notes`, and `NEEDS_POOLER`, see `Format.needs_pooler`.
"""

import dataclasses
from types import ModuleType

from bert_tf.checkpoints.formats import (
    bert_tf_files,
    hugging_face_files,
    hugging_face_names,
    keras_hub_files,
    keras_hub_names,
    model_garden_2019_files,
    model_garden_2019_names,
    model_garden_files,
    model_garden_legacy_files,
    model_garden_legacy_names,
    model_garden_names,
    tf1_files,
    tf1_names,
    tf_hub_files,
    tf_hub_names,
)


@dataclasses.dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
      name: what --to and `Checkpoint.format` call it.
      title: what messages call it.
      accepted: what a path of this format may be, for messages.
      names: module of its name table.
      files: module that finds, opens and writes its files.
    """

    name: str
    title: str
    accepted: str
    names: ModuleType
    files: ModuleType

    @property
    def is_written(self):
        """Whether we write it as well as read it."""
        return hasattr(self.files, "write")

    @property
    def needs_pooler(self):
        """Whether its readers want a pooler in every model."""
        return getattr(self.files, "NEEDS_POOLER", False)

    def notes(self, contents):
        """What the format's own library will do otherwise with `contents`: list of sentences."""
        return self.files.notes(contents) if hasattr(self.files, "notes") else []


# In the order in which a path is tried: a model directory holds TensorFlow 1 files, a SavedModel
# an object-based checkpoint.
FORMATS = (
    Format(
        "bert_tf",
        "model directory of this package",
        "the --output_dir of a training run",
        tf1_names,
        bert_tf_files,
    ),
    Format(
        "huggingface",
        "Hugging Face",
        "a directory with config.json and model.safetensors, or model.safetensors.index.json and "
        "its shards",
        hugging_face_names,
        hugging_face_files,
    ),
    Format(
        "keras_hub",
        "keras-hub preset",
        "a directory that save_to_preset of keras-hub wrote",
        keras_hub_names,
        keras_hub_files,
    ),
    Format(
        "tf_hub",
        "TensorFlow Hub encoder",
        "a SavedModel of a BERT encoder of TensorFlow Hub",
        tf_hub_names,
        tf_hub_files,
    ),
    Format(
        "model_garden_2019",
        "TF Model Garden of 2019",
        "an object-based or a name-based checkpoint of TF Model Garden of 2019",
        model_garden_2019_names,
        model_garden_2019_files,
    ),
    Format(
        "model_garden_legacy",
        "TF Model Garden, name-based",
        "a name-based checkpoint of TF Model Garden's converter of TensorFlow 1 checkpoints",
        model_garden_legacy_names,
        model_garden_legacy_files,
    ),
    Format(
        "model_garden",
        "TF Model Garden",
        "an object-based checkpoint that tf.train.Checkpoint saved of a model of TF Model Garden",
        model_garden_names,
        model_garden_files,
    ),
    Format(
        "tf1",
        "Google TensorFlow 1",
        "a directory with bert_model.ckpt.index and bert_model.ckpt.data-*, or the path of such "
        "files without their last suffix",
        tf1_names,
        tf1_files,
    ),
)


def by_name(name):
    """The row of `FORMATS` with this name."""
    (row,) = (row for row in FORMATS if row.name == name)
    return row


def accepted():
    """What a checkpoint's path may be, for messages."""
    return "Accepted: " + "; ".join(row.accepted for row in FORMATS) + "."
