"""A version of a served model: written completely and checked, or not at all."""

import dataclasses
import os
import tempfile
from collections.abc import Mapping, Sequence

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from bert_tf import files, formatting
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.errors import InputError
from export.images import operations
from export.images import saved_model as saved_models
from export.kinds import table
from export.kinds.module import Served, ServingModule, Signature
from export.version import batching, card, verify, warmup

# Without the lines of Python that made each operation: they name folders of this machine.
SAVE_OPTIONS = tf.saved_model.SaveOptions(save_debug_info=False)

_LABELS_FILE = "labels.txt"


@dataclasses.dataclass(frozen=True)
class Exported:
    """A version that was written.

    Attributes:
      path: the version's directory.
      saved_model: what was written, constants of the weights aside.
      findings: which images can run it.
      difference: largest difference of a number from the Python path.
      module, signatures: what was written.
    """

    path: str
    model_name: str
    saved_model: saved_model_pb2.SavedModel
    findings: operations.Findings
    difference: float
    module: ServingModule
    signatures: Mapping[str, Signature]


def write(
    served: Served,
    export_dir: str,
    signatures: Sequence[str] = (),
    license_name: str | None = None,
) -> Exported:
    """Writes the next version under a temporary name, checks it and renames it.

    Args:
      served: the model with its weights.
      export_dir: base path; versions are its numeric sub-directories.
      signatures: names; none: those that models of the kind have by default.
      license_name: for the model card, see `card.write`.

    Raises:
      InputError: the version appeared meanwhile, or there is no such signature.
      DiskFullError: of this version nothing is left.
    """
    path = os.path.join(export_dir, str(next_version(export_dir)))
    model_name = os.path.basename(os.path.abspath(export_dir))
    module = table.make(served)
    chosen = module.signatures(signatures)
    is_kept = files.disk_full_explained(path, lambda: disk_full_message(path))
    with is_kept, files.replacing_directory(path) as temporary:
        _save(module, chosen, served.directory.metadata, temporary)
        saved_model = saved_models.read(temporary)
        findings = operations.check(saved_model)
        if served.constants:
            served.constants.write(saved_model, os.path.join(temporary, saved_models.FILE))
        difference = verify.largest_difference(temporary, module, chosen)
        warmup.write(temporary, module, chosen, model_name)
        batching.write(temporary, served.chunk_rows)
        (meta_graph,) = saved_model.meta_graphs
        card.write(temporary, served, license_name, meta_graph.signature_def)
        if os.path.exists(path):
            raise InputError(f"{path} appeared during the export. Export again.")
    return Exported(path, model_name, saved_model, findings, difference, module, chosen)


def next_version(export_dir: str) -> int:
    """1 + the largest numeric name in `export_dir`, whatever it is; 1 if there is none."""
    names = os.listdir(export_dir) if os.path.isdir(export_dir) else []
    return 1 + max((int(name) for name in names if name.isascii() and name.isdigit()), default=0)


def disk_full_message(path: str) -> str:
    """What is kept after a full disk, and how to go on."""
    free = formatting.size(files.free_bytes(path))
    return (
        f"The {free} that are free are not enough. Nothing is left of {path}; earlier versions are "
        "as they were. Free some space or give an --export_dir on another disk, and run the same "
        "command again."
    )


def _save(
    module: ServingModule,
    signatures: Mapping[str, Signature],
    metadata: ModelMetadata,
    path: str,
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        if metadata.labels:
            labels_file = os.path.join(scratch, _LABELS_FILE)
            files.write_text(labels_file, "".join(f"{label}\n" for label in metadata.labels))
            module.labels_file = tf.saved_model.Asset(labels_file)
        functions = {name: signature.function for name, signature in signatures.items()}
        tf.saved_model.save(module, path, signatures=functions, options=SAVE_OPTIONS)
