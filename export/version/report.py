"""What is printed of a version that was written: its signatures, and how to use it."""

import os
import shlex
from collections.abc import Iterator

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from bert_tf import files, formatting, invocation
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.tasks.kinds.tagging import Tagging
from export.version.write import Exported

# A row for each input of a text signature: in Python, and as flags of the client.
_EXAMPLES = {
    "text": '"a text"',
    "text_a": '"a text"',
    "text_b": '"another"',
    "question": '"a question"',
    "context": '"a context"',
    "choices": '["one", "another"]',
}
# Where an input is another flag of the client.
_FLAGS = {"choices": '--choice="one" --choice="another"'}
# What positions count, by kind.
_POSITIONS = {
    QuestionAnswering.kind: "start, end: Unicode code points of the context; -1 for no answer",
    Tagging.kind: "starts, ends: Unicode code points of the text; -1 behind the last word",
}


def print_report(exported: Exported, metadata: ModelMetadata, seconds: float) -> None:
    """Prints what was exported in how many seconds, what it needs, and how to use it."""
    size = formatting.size(files.num_bytes(exported.path))
    print(f"Exported {exported.path}: {size} in {formatting.duration(seconds)}.")
    (meta_graph,) = exported.saved_model.meta_graphs
    for name, signature in sorted(meta_graph.signature_def.items(), reverse=True):
        if signature.inputs:
            print(f"  {name}: {_tensors(signature.inputs)} -> {_tensors(signature.outputs)}")
    if metadata.labels:
        print(f"  labels: {', '.join(metadata.labels)}")
    if metadata.kind in _POSITIONS:
        print(f"  {_POSITIONS[metadata.kind]}")
    difference = formatting.number(exported.difference, 1)
    print(
        f"  largest difference from the Python path: {difference}\n  {exported.findings.summary()}"
    )
    print("\n".join(_next_steps(exported)), flush=True)


def _next_steps(exported: Exported) -> Iterator[str]:
    """How to load, serve and ask the version; the commands can be pasted."""
    name = shlex.quote(exported.model_name)
    base_path = shlex.quote(os.path.dirname(exported.path))
    arguments = ", ".join(f"[{_EXAMPLES[each]}]" for each in exported.module.inputs)
    texts = " ".join(
        _FLAGS.get(each, f"--{each}={_EXAMPLES[each]}") for each in exported.module.inputs
    )
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
    axes = [letter if size < 0 else str(size) for letter, size in zip("BT?", sizes, strict=False)]
    return f"{tf.as_dtype(info.dtype).name} [{' '.join(axes)}]"
