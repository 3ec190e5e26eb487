"""The check of graphs that TensorFlow traced, and of some that were changed by hand."""

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from export.images import operations, saved_model, table


def saved(tmp_path, function, **spec):
    """The SavedModel of a function of vectors."""
    specs = [tf.TensorSpec([None], dtype, name=name) for name, dtype in spec.items()]
    signature = tf.function(function, input_signature=specs)
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures={"serving_default": signature})
    return saved_model.read(str(tmp_path))


@pytest.fixture(scope="module")
def addition(tmp_path_factory):
    """`x + x`, and the node of it."""
    path = tmp_path_factory.mktemp("addition")
    return saved(path, lambda x: {"y": tf.raw_ops.AddV2(x=x, y=x)}, x=tf.float32)


def changed(found, change):
    """A copy in which `change` has changed the node AddV2."""
    copy = type(found).FromString(found.SerializeToString())
    library = copy.meta_graphs[0].graph_def.library.function
    (node,) = [n for function in library for n in function.node_def if n.op == "AddV2"]
    change(node)
    return copy


def test_operations_of_every_image_pass_and_are_listed(tmp_path):
    def normalize(text):
        # Within a branch, so within a function of the graph's library.
        return {"y": tf.cond(tf.size(text) > 1, lambda: tf_text.normalize_utf8(text), lambda: text)}

    findings = operations.check(saved(tmp_path, normalize, text=tf.string))
    assert findings.text_operations == ("NormalizeUTF8",)
    assert findings.images == tuple(table.images())
    assert findings.summary() == (
        "smallest TensorFlow Serving image: 2.12; of TensorFlow Text it needs NormalizeUTF8"
    )


def test_an_operation_that_older_images_lack_is_named_with_the_first_that_has_it(tmp_path):
    def trim(x):
        ragged = tf.RaggedTensor.from_uniform_row_length(x, 1)
        return {"y": tf_text.RoundRobinTrimmer(3).trim([ragged, ragged])[0].to_tensor()}

    found = saved(tmp_path, trim, x=tf.int32)
    with pytest.raises(ValueError, match="TFText>RoundRobinTrim is first in image 2.20"):
        operations.check(found)
    assert operations.examine(found).images[0] == "2.20"
    assert "TFText>RoundRobinTrim" in operations.check(found, "2.20").text_operations


def test_an_operation_of_no_image_is_named(addition):
    found = changed(addition, lambda node: setattr(node, "op", "NoSuchOperation"))
    with pytest.raises(ValueError, match="NoSuchOperation is in no image"):
        operations.check(found)


def test_an_attribute_of_no_image_is_named_with_its_value(addition):
    found = changed(addition, lambda node: node.attr["mode"].CopyFrom(node.attr["T"]))
    with pytest.raises(ValueError, match="attribute mode=float of AddV2 is in no image"):
        operations.check(found)


def test_a_graph_for_later_readers_is_refused(addition):
    found = type(addition).FromString(addition.SerializeToString())
    newest = table.images()["2.20"].graph_version
    found.meta_graphs[0].graph_def.versions.min_consumer = newest
    assert operations.examine(found).images[0] == "2.20"
    with pytest.raises(ValueError, match=f"version {newest} and later is first in image 2.20"):
        operations.check(found)


def test_python_in_the_graph_is_refused(tmp_path):
    def python(x):
        return {"y": tf.numpy_function(lambda value: value, [x], tf.float32)}

    with pytest.raises(ValueError, match="PyFunc runs Python code"):
        operations.check(saved(tmp_path, python, x=tf.float32))


def test_a_function_that_must_be_compiled_is_refused(tmp_path):
    @tf.function(jit_compile=True)
    def compiled(x):
        return x + 1.0

    with pytest.raises(ValueError, match="compiled.* must be compiled by XLA, which is off"):
        operations.check(saved(tmp_path, lambda x: {"y": compiled(x)}, x=tf.float32))
