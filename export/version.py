"""Writes a version of a served model: complete and checked, or not at all."""

import os
import tempfile

import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from export import operations, report, verify, warmup
from export.module import ServingModule


def write(model, directory, export_dir, max_seq_length, piece_rows):
    """Writes the next version under a temporary name, checks it and renames it.

    Args:
      model: `bert_tf.modeling.models.ClassifierModel` with weights.
      directory: `ModelDirectory` that describes it.
      export_dir: str, base path; versions are its numeric sub-directories.
      max_seq_length: int.
      piece_rows: int, rows computed together.

    Returns:
      `report.Exported`.
    """
    path = os.path.join(export_dir, str(next_version(export_dir)))
    model_name = os.path.basename(os.path.abspath(export_dir))
    with files.replacing_directory(path) as temporary:
        _save(model, directory, temporary, max_seq_length, piece_rows)
        saved_model = operations.read(temporary)
        foreign = operations.check(saved_model)
        difference = verify.largest_difference(temporary, model, directory, max_seq_length)
        warmup.write(temporary, directory, max_seq_length, model_name)
        if os.path.exists(path):
            raise InputError(f"{path} appeared during the export. Export again.")
    return report.Exported(path, model_name, saved_model, foreign, difference)


def next_version(export_dir):
    """1 + the largest numeric name in `export_dir`, whatever it names; 1 if there is none."""
    names = os.listdir(export_dir) if os.path.isdir(export_dir) else []
    return 1 + max((int(name) for name in names if name.isascii() and name.isdigit()), default=0)


def _save(model, directory, path, max_seq_length, piece_rows):
    with tempfile.TemporaryDirectory() as scratch:
        labels_file = None
        if directory.metadata.kind == "classify":
            labels_file = os.path.join(scratch, "labels.txt")
            files.write_text(
                labels_file, "".join(f"{label}\n" for label in directory.metadata.labels)
            )
        module = ServingModule(model, directory, labels_file, max_seq_length, piece_rows)
        tf.saved_model.save(module, path, signatures=module.signatures())
