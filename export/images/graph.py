"""What a SavedModel wants of the TensorFlow that runs it: operations as its nodes use them."""

import dataclasses
from typing import Any

from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.protobuf import saved_model_pb2

# By default the server compiles nothing, and a function that must be compiled fails.
_MUST_COMPILE = "_XlaMustCompile"


@dataclasses.dataclass(frozen=True)
class Use:
    """How a node uses its operation; nodes that are alike in it are one use.

    Attributes:
      attributes: names and serialized AttrValues; of tensors without what they hold.
    """

    operation: str
    attributes: frozenset[tuple[str, bytes]]
    num_inputs: int

    def values(self) -> dict[str, Any]:
        """The AttrValue of each attribute by its name."""
        return {
            name: attr_value_pb2.AttrValue.FromString(data)
            for name, data in sorted(self.attributes)
        }


@dataclasses.dataclass(frozen=True)
class Graph:
    """The graphs of a SavedModel, their functions included.

    Attributes:
      compiled: names of the functions that must be compiled by XLA, sorted.
      producer: the graph version of the TensorFlow that wrote it.
      min_consumer: the graph version that a TensorFlow must have to read it.
    """

    uses: frozenset[Use]
    compiled: tuple[str, ...]
    producer: int
    min_consumer: int


def read(saved_model: saved_model_pb2.SavedModel) -> Graph:
    """Collects the uses of all nodes but those that call a function by its name."""
    uses: set[Use] = set()
    compiled: set[str] = set()
    for meta_graph in saved_model.meta_graphs:
        library = meta_graph.graph_def.library.function
        functions = {function.signature.name for function in library}
        compiled |= {f.signature.name for f in library if f.attr[_MUST_COMPILE].b}
        for nodes in (meta_graph.graph_def.node, *(function.node_def for function in library)):
            uses.update(_use(node) for node in nodes if node.op not in functions)
    versions = [meta_graph.graph_def.versions for meta_graph in saved_model.meta_graphs]
    return Graph(
        uses=frozenset(uses),
        compiled=tuple(sorted(compiled)),
        producer=max(each.producer for each in versions),
        min_consumer=max(each.min_consumer for each in versions),
    )


def _use(node: Any) -> Use:
    # Names that start with "_" are notes to the runtime, which no definition has.
    attributes = frozenset(
        (name, _serialized(value)) for name, value in node.attr.items() if name[0] != "_"
    )
    num_inputs = sum(not name.startswith("^") for name in node.input)
    return Use(node.op, attributes, num_inputs)


def _serialized(value: Any) -> bytes:
    if value.WhichOneof("value") == "tensor":  # a constant may be large
        value = attr_value_pb2.AttrValue()
        value.tensor.SetInParent()
    return value.SerializeToString(deterministic=True)
