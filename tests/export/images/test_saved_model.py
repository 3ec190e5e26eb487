"""Which paths are read as SavedModels, and what is said of the others."""

import os

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from bert_tf.errors import InputError
from export.images import saved_model


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("base") / "1"
    module = tf.Module()
    module.double = tf.function(
        lambda x: 2.0 * x, input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    tf.saved_model.save(module, str(path))
    return path


def test_a_saved_model_without_our_signatures_is_read(path):
    (meta_graph,) = saved_model.read(str(path)).meta_graphs
    assert meta_graph.meta_info_def.tensorflow_version == tf.__version__


def test_attributes_with_their_default_values_are_not_saved(tmp_path):
    """An older image may not know them. TensorFlow leaves them out, in functions too."""
    module = tf.Module()
    module.weights = tf.Variable([[1.0, 2.0], [3.0, 5.0]])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def product(x):
        return tf.cond(tf.size(x) > 2, lambda: tf.matmul(x, module.weights), lambda: x)

    module.product = product
    tf.saved_model.save(module, str(tmp_path))
    (meta_graph,) = saved_model.read(str(tmp_path)).meta_graphs
    library = meta_graph.graph_def.library.function
    functions = {function.signature.name for function in library}
    nodes = [node for function in library for node in function.node_def]
    nodes += meta_graph.graph_def.node
    assert {"MatMul", "VarHandleOp", "ReadVariableOp"} <= {node.op for node in nodes}
    kept = [
        (node.op, attribute.name)
        for node in nodes
        if node.op not in functions
        for attribute in op_def_registry.get(node.op).attr
        if attribute.HasField("default_value")
        and attribute.name in node.attr
        and node.attr[attribute.name] == attribute.default_value
    ]
    assert kept == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "x is not a SavedModel: there is no such directory"),
        (lambda folder: folder.mkdir(), "it has no saved_model.pb, but nothing"),
        (lambda folder: folder.write_text("x"), "it is a file. Give the directory"),
    ],
)
def test_other_paths_are_refused(tmp_path, make, message):
    make(tmp_path / "x")
    with pytest.raises(InputError, match=message):
        saved_model.read(str(tmp_path / "x"))


def test_the_base_path_of_versions_is_refused_with_the_versions(path):
    with pytest.raises(InputError, match=f"Give one of {path}"):
        saved_model.read(os.path.dirname(path))


@pytest.mark.parametrize("name", ["saved_model.pbtxt", "saved_model.cpb"])
def test_other_forms_of_the_file_are_named(tmp_path, name):
    (tmp_path / name).write_text("")
    with pytest.raises(InputError, match=f"{name}, which is not read. Save it with"):
        saved_model.read(str(tmp_path))


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: b"", lambda data: b"\xff"])
def test_a_damaged_file_is_said(path, tmp_path, damage):
    (tmp_path / "saved_model.pb").write_bytes(damage((path / "saved_model.pb").read_bytes()))
    with pytest.raises(InputError, match="saved_model.pb is damaged: "):
        saved_model.read(str(tmp_path))
