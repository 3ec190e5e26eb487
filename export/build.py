"""From the flags to a new version: what can be refused is refused before TensorFlow loads."""

import time

from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.errors import InputError
from bert_tf.examples import packing

EXPORTABLE = ("classify", "regress")


def run(options):
    """Exports the model directory that the options name and prints what there is now.

    Raises:
      InputError: no such model, or of a kind that cannot be exported.
    """
    start = time.monotonic()
    directory = ModelDirectory.open(options.model_dir)
    max_seq_length = check(directory, options.max_seq_length)

    from export import report, version

    model = directory.build_model(options.weights)
    exported = version.write(
        model, directory, options.export_dir, max_seq_length, options.piece_rows
    )
    report.write(exported, directory.metadata, time.monotonic() - start)


def check(directory, max_seq_length=None):
    """Refuses what cannot be exported before any work; returns the length to export with."""
    metadata = directory.metadata
    if metadata.kind not in EXPORTABLE:
        raise InputError(
            f"--model_dir={directory.path} holds a model of kind {metadata.kind!r} "
            f"(task {metadata.task!r}); exportable kinds: {', '.join(EXPORTABLE)}, which "
            "run_classifier.py trains."
        )
    max_seq_length = metadata.max_seq_length if max_seq_length is None else max_seq_length
    packing.check_length(max_seq_length, directory.config, shortest=1 + 2 * metadata.num_texts)
    return max_seq_length
