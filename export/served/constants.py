"""Weights as constants of a SavedModel, written into its file once it is saved.

TensorFlow copies the constants of a graph at every step of tracing and saving, for each function
that holds or calls another one that does. So a graph is traced and saved with zeros, which are one
number each, and gets the weights at the end.
"""

import os
import re

import numpy.typing as npt
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import saved_model_pb2

_NAME = "weight_of_the_model_"
_NUMBER = re.compile(rf"{_NAME}(\d+)")


class Constants:
    """Arrays, and the zeros that stand for them in the graph that is traced."""

    def __init__(self) -> None:
        self._arrays: list[npt.NDArray] = []

    def zeros_for(self, array: npt.NDArray) -> tf.Tensor:
        """A constant of the array's shape and type, which `write` puts the array into."""
        self._arrays.append(array)
        name = f"{_NAME}{len(self._arrays) - 1}"
        return tf.constant(0, tf.as_dtype(array.dtype), array.shape, name=name)

    def write(self, saved_model: saved_model_pb2.SavedModel, file: str) -> None:
        """Writes a SavedModel that was saved with zeros, with the arrays in their place.

        Args:
          saved_model: the one with zeros; it stays as it is.
          file: its saved_model.pb.

        Raises:
          ValueError: a constant of the graph has another type or size than its array.
        """
        with_arrays = saved_model_pb2.SavedModel()
        with_arrays.CopyFrom(saved_model)
        for meta_graph in with_arrays.meta_graphs:
            graph = meta_graph.graph_def
            for nodes in (graph.node, *(each.node_def for each in graph.library.function)):
                for node in nodes:
                    if node.op == "Const" and (found := _NUMBER.search(node.name)):
                        _put(self._arrays[int(found[1])], node.attr["value"].tensor)
        temporary = f"{file}.tmp"
        with open(temporary, "wb") as opened:
            opened.write(with_arrays.SerializeToString(deterministic=True))
        os.replace(temporary, file)
        # It describes the file with zeros, and TensorFlow does without.
        os.remove(os.path.join(os.path.dirname(file), "fingerprint.pb"))


def _put(array: npt.NDArray, tensor: tensor_pb2.TensorProto) -> None:
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    if (tf.as_dtype(tensor.dtype), shape) != (tf.as_dtype(array.dtype), array.shape):
        raise ValueError(
            f"A constant of the graph is {tf.as_dtype(tensor.dtype).name} {list(shape)}, and its "
            f"weights are {array.dtype} {list(array.shape)}."
        )
    filled = tensor_pb2.TensorProto(dtype=tensor.dtype, tensor_shape=tensor.tensor_shape)
    filled.tensor_content = array.tobytes()
    tensor.CopyFrom(filled)
