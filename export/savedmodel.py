"""Export a trained model as a SavedModel: texts in, answers out.  --help lists every flag."""

import time

from bert_tf import commands, files, progress
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.tasks.kinds.text_task import TextTask
from export.options import Export


def run(options: Export) -> None:
    """Exports the model directory that the options name and prints a report.

    Raises:
      InputError: no such model, or of a kind that cannot be exported; or no place to write to.
    """
    start = time.monotonic()
    directory = ModelDirectory.open(options.model_dir)
    max_seq_length = check(directory, options.max_seq_length)
    files.require_writable_directory(options.export_dir, "--export_dir")
    weights = directory.weights(options.weights)
    print(f"Exporting {weights} into {options.export_dir} ...", flush=True)
    from export import version  # TensorFlow takes seconds to load; wrong input is refused before

    with progress.status("Loading the weights"):
        model = directory.build_model(options.weights)
    with progress.status("Saving the model and checking its answers"):
        exported = version.write(
            model, directory, options.export_dir, max_seq_length, options.chunk_rows
        )
    version.report(exported, directory.metadata, time.monotonic() - start)


def check(directory: ModelDirectory, max_seq_length: int | None = None) -> int:
    """Refuses what cannot be exported; returns the length to export with.

    Args:
      max_seq_length: tokens per example; None: as in training.

    Raises:
      InputError: the model is of another kind, or the length does not fit it.
    """
    metadata = directory.metadata
    task = registry.of_model(metadata)
    if not isinstance(task, TextTask | QuestionAnswering):
        raise InputError(
            f"--model_dir={directory.path} holds a model of kind {metadata.kind!r} "
            f"(task {metadata.task!r}). Models of one or two texts can be exported, which "
            "run_classifier.py trains to answer with a label, several labels or a number, and "
            "those of run_squad.py."
        )
    if metadata.settings.get("long_texts") == "windows":
        raise InputError(
            f"--model_dir={directory.path} reads long texts in windows, which an export does not. "
            "Use run_classifier.py --do_predict or bert_tf.load, or train with "
            "--long_texts=truncate."
        )
    max_seq_length = metadata.max_seq_length if max_seq_length is None else max_seq_length
    packing.check_length(max_seq_length, directory.config, task.shortest_row)
    return max_seq_length


if __name__ == "__main__":
    commands.run("export")
