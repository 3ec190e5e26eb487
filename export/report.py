"""What an export tells the user: what is where, what it needs, how to serve and ask it."""

import dataclasses
import os

import tensorflow as tf

from export import operations
from export.module import text_names


@dataclasses.dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes:
      path: str, the version's directory.
      model_name: str.
      saved_model: SavedModel message.
      operations: list of the operations beyond TensorFlow's own.
      difference: float, largest difference of a logit from the Python path.
    """

    path: str
    model_name: str
    saved_model: object
    operations: list
    difference: float


def write(exported, metadata, seconds):
    """Prints the report of an export.

    Args:
      exported: `Exported`.
      metadata: `ModelMetadata` of the model.
      seconds: float, how long it took.
    """
    megabytes = _num_bytes(exported.path) / 1e6
    print(f"Exported {exported.path}: {megabytes:.1f} MB in {seconds:.1f} s.")
    for name, line in signature_lines(exported.saved_model).items():
        print(f"  {name}: {line}")
    if metadata.labels:
        print(f"  labels: {', '.join(metadata.labels)}")
    print(
        f"  operations beyond TensorFlow's own: {', '.join(exported.operations)}; "
        f"every TensorFlow Serving image since {operations.FIRST_IMAGE} has them\n"
        f"  smallest supported image: {operations.smallest_image()}, the TensorFlow it is from\n"
        f"  largest difference from the Python path: {exported.difference:.1e}"
    )
    base_path = os.path.dirname(exported.path)
    texts = " ".join(f'--{name}="..."' for name in text_names(metadata.num_texts))
    texts = '"a text"' if metadata.num_texts == 1 else texts
    print(
        f"Serve it: python -m serving --model_name={exported.model_name} "
        f"--model_base_path={base_path}\n"
        f"Ask it:   python -m serving.client --model_name={exported.model_name} {texts}",
        flush=True,
    )


def signature_lines(saved_model):
    """Dict from signature name to its inputs and outputs in words, with their axes."""
    (meta_graph,) = saved_model.meta_graphs
    return {
        name: f"{_tensors(signature.inputs)} -> {_tensors(signature.outputs)}"
        for name, signature in sorted(meta_graph.signature_def.items(), reverse=True)
        if signature.inputs
    }


def _tensors(infos):
    return ", ".join(f"{name} {_tensor(infos[name])}" for name in sorted(infos))


def _tensor(info):
    sizes = [dim.size for dim in info.tensor_shape.dim]
    axes = [letter if size < 0 else str(size) for letter, size in zip("BT", sizes, strict=False)]
    return f"{tf.as_dtype(info.dtype).name} [{' '.join(axes)}]"


def _num_bytes(path):
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    )
