"""Which TensorFlow Serving image can run a graph: its operations against a list."""

import os

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

# Stock images have TensorFlow's own operations and those of the TF Text that they were built with:
# 2.12.1 in images 2.15 to 2.19, 2.20.0 since. Image: the operations it was the first to have.
_TEXT_OPERATIONS = {
    "2.15": frozenset(
        ["CaseFoldUTF8", "FastBertNormalize", "FastWordpieceTokenizeWithOffsets"]
        + ["NormalizeUTF8", "NormalizeUTF8WithOffsetsMap", "RegexSplitWithOffsets"]
        + ["WhitespaceTokenizeWithOffsets", "WordpieceTokenizeWithOffsets"]
    ),
    "2.20": frozenset(
        ["TFText>RoundRobinGenerateMasks", "TFText>RoundRobinTrim", "TFText>Utf8Binarize"]
    ),
}
FIRST_IMAGE = "2.15"
# What ran the graphs of these modules, and how far its logits were from those of TensorFlow 2.21.
TRIED = (
    "exports of TensorFlow 2.21, run by TensorFlow and TensorFlow Text 2.12 and 2.15 to 2.18; "
    "differences of a logit below 2e-6"
)
TRIED_WITH_QUESTIONS = (
    "exports of TensorFlow 2.21, run by TensorFlow and TensorFlow Text 2.12; the same answers"
)

# Operations of TensorFlow that run Python code at the time of the request.
_PYTHON_OPERATIONS = frozenset(["EagerPyFunc", "PyFunc", "PyFuncStateless"])
# By default the server compiles nothing, and a function that must be compiled fails.
_MUST_COMPILE = "_XlaMustCompile"


def read(path: str) -> saved_model_pb2.SavedModel:
    """Reads the SavedModel message of the version in the directory `path`."""
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:
        return saved_model_pb2.SavedModel.FromString(file.read())


def check(saved_model: saved_model_pb2.SavedModel) -> list[str]:
    """Refuses a SavedModel that a stock image since 2.15 cannot run.

    Returns:
      The operations beyond TensorFlow's own, sorted.

    Raises:
      ValueError: names each offending operation and the first image that has it, if any.
    """
    names: set[str] = set()
    compiled: set[str] = set()
    for meta_graph in saved_model.meta_graphs:
        library = meta_graph.graph_def.library.function
        names.update(node.op for node in meta_graph.graph_def.node)
        names.update(node.op for function in library for node in function.node_def)
        functions = {function.signature.name for function in library}
        compiled |= {f.signature.name for f in library if f.attr[_MUST_COMPILE].b}
        names -= functions  # a node may call a function by its name
    problems = [problem for name in sorted(names) if (problem := _problem(name))]
    problems += [f"{name} must be compiled by XLA, which is off" for name in sorted(compiled)]
    if problems:
        raise ValueError(
            f"TensorFlow Serving {FIRST_IMAGE} cannot run this graph: {'; '.join(problems)}."
        )
    return sorted(name for name in names if not _is_core(name))


def _problem(name: str) -> str | None:
    if name in _PYTHON_OPERATIONS:
        return f"{name} runs Python code, which no image does"
    if _is_core(name) or name in _TEXT_OPERATIONS[FIRST_IMAGE]:
        return None
    image = next((image for image, names in _TEXT_OPERATIONS.items() if name in names), None)
    return f"{name} is first in image {image}" if image else f"{name} is in no image"


def _is_core(name: str) -> bool:
    """TensorFlow has a wrapper for each of its own operations, and for no other."""
    return hasattr(tf.raw_ops, name)
