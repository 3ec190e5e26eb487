"""A version of a served model: written completely and checked, or not at all; then reported."""

import dataclasses
import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from bert_tf import files, formatting, invocation
from bert_tf.checkpoints.model_directory import ModelDirectory, ModelMetadata
from bert_tf.errors import InputError
from bert_tf.modeling.models import ClassifierModel, SpanModel
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.tasks.kinds.text_task import TextTask
from export import operations, verify, warmup
from export.module import ServingModule, TextModule, text_names
from export.question_answering import QuestionModule

# A text for each input of a text signature.
_EXAMPLES = {
    "text": "a text",
    "text_a": "a text",
    "text_b": "another",
    "question": "a question",
    "context": "a context",
}


@dataclasses.dataclass(frozen=True)
class Exported:
    """A version that was written.

    Attributes:
      path: the version's directory.
      operations: those that are not TensorFlow's own.
      difference: largest difference of a logit from the Python path.
    """

    path: str
    model_name: str
    saved_model: saved_model_pb2.SavedModel
    operations: list[str]
    difference: float


def write(
    model: ClassifierModel | SpanModel,
    directory: ModelDirectory,
    export_dir: str,
    max_seq_length: int,
    chunk_rows: int,
) -> Exported:
    """Writes the next version under a temporary name, checks it and renames it.

    Args:
      model: the model with its weights.
      directory: describes the model.
      export_dir: base path; versions are its numeric sub-directories.
      max_seq_length: tokens per example, special tokens included.
      chunk_rows: maximum rows that are computed together.

    Raises:
      InputError: the version appeared meanwhile.
      DiskFullError: of this version nothing is left.
    """
    path = os.path.join(export_dir, str(next_version(export_dir)))
    model_name = os.path.basename(os.path.abspath(export_dir))
    is_kept = files.disk_full_explained(path, lambda: _disk_full(path))
    with is_kept, files.replacing_directory(path) as temporary:
        _save(model, directory, temporary, max_seq_length, chunk_rows)
        saved_model = operations.read(temporary)
        foreign = operations.check(saved_model)
        difference = verify.largest_difference(temporary, model, directory, max_seq_length)
        warmup.write(temporary, directory, max_seq_length, model_name)
        if os.path.exists(path):
            raise InputError(f"{path} appeared during the export. Export again.")
    return Exported(path, model_name, saved_model, foreign, difference)


def next_version(export_dir: str) -> int:
    """1 + the largest numeric name in `export_dir`, whatever it is; 1 if there is none."""
    names = os.listdir(export_dir) if os.path.isdir(export_dir) else []
    return 1 + max((int(name) for name in names if name.isascii() and name.isdigit()), default=0)


def _disk_full(path: str) -> str:
    """What is kept after a full disk, and how to go on."""
    free = formatting.size(files.free_bytes(path))
    return (
        f"The {free} that are free are not enough. Nothing is left of {path}; earlier versions are "
        "as they were. Free some space or give an --export_dir on another disk, and run the same "
        "command again."
    )


def _save(
    model: ClassifierModel | SpanModel,
    directory: ModelDirectory,
    path: str,
    max_seq_length: int,
    chunk_rows: int,
) -> None:
    task = registry.of_model(directory.metadata)
    module: ServingModule
    with tempfile.TemporaryDirectory() as scratch:
        if isinstance(task, QuestionAnswering):
            module = QuestionModule(model, task, directory, max_seq_length, chunk_rows)
        else:
            assert isinstance(task, TextTask), "savedmodel.check refuses other kinds"
            labels_file = None
            if task.is_labelled:
                labels_file = os.path.join(scratch, "labels.txt")
                labels = "".join(f"{label}\n" for label in directory.metadata.labels)
                files.write_text(labels_file, labels)
            module = TextModule(model, task, directory, labels_file, max_seq_length, chunk_rows)
        tf.saved_model.save(module, path, signatures=module.signatures())


def report(exported: Exported, metadata: ModelMetadata, seconds: float) -> None:
    """Prints what was exported in how many seconds, what it needs, and how to use it."""
    size = formatting.size(files.num_bytes(exported.path))
    print(f"Exported {exported.path}: {size} in {formatting.duration(seconds)}.")
    (meta_graph,) = exported.saved_model.meta_graphs
    for name, signature in sorted(meta_graph.signature_def.items(), reverse=True):
        if signature.inputs:
            print(f"  {name}: {_tensors(signature.inputs)} -> {_tensors(signature.outputs)}")
    if metadata.labels:
        print(f"  labels: {', '.join(metadata.labels)}")
    tried = operations.TRIED
    if metadata.kind == QuestionAnswering.kind:
        tried = operations.TRIED_WITH_QUESTIONS
        print("  start, end: Unicode code points of the context; -1 for no answer")
    difference = formatting.number(exported.difference, 1)
    print(
        f"  largest difference of a logit from the Python path: {difference}\n"
        f"  needs {', '.join(exported.operations)} of TensorFlow Text, which every TensorFlow "
        f"Serving image since {operations.FIRST_IMAGE} has\n"
        f"  tried: {tried}"
    )
    print("\n".join(_next_steps(exported, text_names(metadata))), flush=True)


def _next_steps(exported: Exported, names: Sequence[str]) -> Iterator[str]:
    """How to load, serve and ask the version; the commands can be pasted."""
    name = shlex.quote(exported.model_name)
    base_path = shlex.quote(os.path.dirname(exported.path))
    arguments = ", ".join(f'["{_EXAMPLES[each]}"]' for each in names)
    texts = " ".join(f'--{each}="{_EXAMPLES[each]}"' for each in names)
    texts = texts.removeprefix("--text=")
    serve = invocation.of("serve", "-m serving")
    client = invocation.of("client", "-m serving.client")
    yield (
        "In Python: import tensorflow_text, tensorflow as tf; "
        f"model = tf.saved_model.load({exported.path!r}); model({arguments})"
        "  # tensorflow_text first: it registers operations of the model"
    )
    yield f"Serve it:  {serve} --model_name={name} --model_base_path={base_path}"
    yield f"Ask it:    {client} --model_name={name} {texts}"


def _tensors(infos: dict[str, meta_graph_pb2.TensorInfo]) -> str:
    """Names, types and axes of inputs or outputs."""
    return ", ".join(f"{name} {_tensor(infos[name])}" for name in sorted(infos))


def _tensor(info: meta_graph_pb2.TensorInfo) -> str:
    sizes = [dim.size for dim in info.tensor_shape.dim]
    axes = [letter if size < 0 else str(size) for letter, size in zip("BT", sizes, strict=False)]
    return f"{tf.as_dtype(info.dtype).name} [{' '.join(axes)}]"
