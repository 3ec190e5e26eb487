"""What is collected from graphs."""

from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

from export.images import graph

BIG = b"x" * 1009


def node(within, op, *inputs, **attributes):
    """Adds a node to a graph or a function."""
    made = within.add(name=op.lower(), op=op, input=inputs)
    for name, value in attributes.items():
        field, content = value
        setattr(made.attr[name], field, content)
    return made


def model():
    """A graph that calls a function by its name, and a second one that is older."""
    found = saved_model_pb2.SavedModel()
    definition = graph_pb2.GraphDef()
    definition.versions.producer, definition.versions.min_consumer = 2000, 12
    constant = node(definition.node, "Const", dtype=("type", 7))
    constant.attr["value"].tensor.string_val.append(BIG)
    node(definition.node, "double", "const")
    node(definition.node, "AddV2", "const", "const:0", "^const", T=("type", 1), _note=("b", True))
    function = definition.library.function.add()
    function.signature.name = "double"
    function.attr["_XlaMustCompile"].b = True
    node(function.node_def, "AddV2", "x", "x", T=("type", 1))
    node(function.node_def, "Neg", "x:z:0", T=("type", 1))
    found.meta_graphs.add().graph_def.CopyFrom(definition)
    found.meta_graphs.add().graph_def.versions.producer = 1000
    return found


def test_nodes_that_are_alike_are_one_use_and_functions_are_searched():
    uses = graph.read(model()).uses
    found = {(use.operation, use.num_inputs, tuple(use.values())) for use in uses}
    assert len(uses) == 3
    assert found == {
        ("AddV2", 2, ("T",)),  # the one of the function, too
        ("Neg", 1, ("T",)),
        ("Const", 0, ("dtype", "value")),
    }


def test_what_a_constant_holds_is_left_out():
    (constant,) = [use for use in graph.read(model()).uses if use.operation == "Const"]
    assert all(BIG not in data for _, data in constant.attributes)
    assert constant.values()["value"].WhichOneof("value") == "tensor"


def test_functions_to_compile_and_versions_are_collected():
    found = graph.read(model())
    assert (found.compiled, found.producer, found.min_consumer) == (("double",), 2000, 12)
