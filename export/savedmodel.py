"""Export a trained model as a SavedModel: texts in, answers out.  --help lists every flag."""

import os
import time

from bert_tf import commands, files, progress
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.model_directory import MEMBERS, ModelDirectory
from bert_tf.checkpoints.vocabulary import check_vocabulary
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.tasks import registry
from export.options import DTYPES, Export

_SHORTEST_ROW = 3  # [CLS] word [SEP]


def run(options: Export) -> None:
    """Exports the model directory that the options name and prints a report.

    Raises:
      InputError: no such model, or it cannot answer as the options say; or no place to write to.
    """
    start = time.monotonic()
    directory = ModelDirectory.open(options.model_dir)
    max_seq_length = check(directory, options.max_seq_length)
    check_export_dir(options.export_dir)
    is_ensemble = MEMBERS in directory.metadata.settings  # its members have the weights
    weights = directory.path if is_ensemble else directory.weights(options.weights)
    if not os.path.isdir(weights):
        raise InputError(
            f"--model_dir={directory.path} has no weights: neither best/ nor last/ is there. Let "
            "the training finish, or give another directory."
        )
    print(f"Exporting {weights} into {options.export_dir} ...", flush=True)
    # TensorFlow takes seconds to load; wrong input is refused before.
    from export.kinds.module import Served
    from export.served import forms, measure
    from export.served.constants import Constants
    from export.version import report, write

    with progress.status("Loading the weights"):
        model = directory.build_model(options.weights)
        form = forms.of(model, options.dtype)
        constants = Constants() if options.freeze_weights else None
        in_graph = form
        if constants:
            in_graph = forms.of(model, options.dtype, is_frozen=True, constants=constants)
    served = Served(
        model=in_graph,
        # Numbers of fewer digits give other answers; how far they are off is measured below.
        original=model if options.dtype == DTYPES[0] else form,
        constants=constants,
        directory=directory,
        max_seq_length=max_seq_length,
        chunk_rows=options.chunk_rows,
        pooling=options.pooling,
        normalize=options.normalize,
        top_k=options.top_k,
    )
    with progress.status("Saving the model and checking its answers"):
        exported = write.write(served, options.export_dir, options.signature_names, options.license)
    report.print_report(exported, directory.metadata, time.monotonic() - start)
    if options.is_measured:
        with progress.status("Measuring"):
            activation = KINDS[directory.metadata.kind].activation
            rows = measure.rows_of(exported.module, options.measure_file)
            found = measure.of_version(exported, model, form, rows, activation)
        print(found, flush=True)


def check_export_dir(path: str) -> None:
    """Refuses a base path that versions cannot be written into.

    Raises:
      InputError: it is a file, a version itself, or not writable.
    """
    files.require_writable_directory(path, "--export_dir")
    if os.path.exists(os.path.join(path, "saved_model.pb")):
        raise InputError(
            f"--export_dir={path} is a SavedModel, so it is a version. Give the directory above "
            "it, into which the next version goes."
        )


def check(directory: ModelDirectory, max_seq_length: int | None = None) -> int:
    """Refuses what cannot be exported; returns the length to export with.

    Args:
      max_seq_length: tokens per example; None: as in training.

    Raises:
      InputError: the length or the vocabulary does not fit the model.
    """
    check_vocabulary(directory.config, directory.vocabulary)
    metadata = directory.metadata
    task = registry.of_model(metadata)
    max_seq_length = metadata.max_seq_length if max_seq_length is None else max_seq_length
    shortest = task.shortest_row if task else _SHORTEST_ROW
    packing.check_length(max_seq_length, directory.config, shortest)
    return max_seq_length


if __name__ == "__main__":
    commands.run("export")
