"""Write a trained model as an ONNX or a TensorFlow Lite file.  --help lists every flag."""

import os
from typing import Any

from bert_tf import commands, files, formatting, progress
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.model_directory import VOCAB_FILE, ModelDirectory
from bert_tf.errors import InputError
from export.options import Runtimes

_EXTRA = "pip install 'bert-tf[runtimes]'"


def run(options: Runtimes) -> None:
    """Writes the file that the options name, checks it with its runtime, and prints a report.

    Raises:
      InputError: no such model, or one that the format cannot hold; no package for the format.
    """
    directory = ModelDirectory.open(options.model_dir)
    files.require_writable_directory(options.output_dir, "--output_dir")
    from export.served import measure, runtime_check  # TensorFlow loads once the flags are right

    rows = runtime_check.rows(directory, options.measure_file)
    with progress.status("Loading the weights"):
        model = directory.build_model(options.weights)
    os.makedirs(options.output_dir, exist_ok=True)
    path = os.path.join(options.output_dir, f"model.{options.runtime_format}")
    with progress.status("Writing the file"), files.replacing(path) as temporary:
        with open(temporary, "wb") as file:
            file.write(_content(options, model))
    _write_texts(options.output_dir, directory)
    size = formatting.size(os.path.getsize(path))
    print(f"Wrote {path}: {size}; its inputs are ids by the vocab.txt next to it.", flush=True)
    try:
        run_file = runtime_check.RUNNERS[options.runtime_format](path)
    except ImportError as error:
        print(f"Not checked: {error.name} is not installed. To check it: {_EXTRA}.")
        return
    activation = KINDS[directory.metadata.kind].activation
    found = measure.agreement(model, run_file, runtime_check.batches(directory, rows), activation)
    print(f"Checked on {len(rows):,} rows: {measure.text(found)}.")


def _content(options: Runtimes, model: Any) -> bytes:
    if options.runtime_format == "tflite":
        from export.served import tflite_file

        return tflite_file.convert(model, options.dtype)
    try:
        from export.served import onnx_file
    except ImportError as error:
        raise InputError(
            f"--to=onnx needs the package {error.name}, which is not installed: {_EXTRA}."
        ) from None
    return onnx_file.convert(model, options.dtype)


def _write_texts(path: str, directory: ModelDirectory) -> None:
    """The vocabulary, and the labels if there are some, next to the model."""
    with open(directory.vocab_file, encoding="utf-8") as file:
        files.write_text(os.path.join(path, VOCAB_FILE), file.read())
    if labels := directory.metadata.labels:
        files.write_text(os.path.join(path, "labels.txt"), "".join(f"{x}\n" for x in labels))


if __name__ == "__main__":
    commands.run("runtimes")
