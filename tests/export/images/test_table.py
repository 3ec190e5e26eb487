"""The table of the operations of images, against the TensorFlow that is installed."""

import pytest
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

from bert_tf.errors import InputError
from export.images import table


def registered():
    """The definitions of the TensorFlow of this process."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    data = pywrap_tf_session.TF_GetBuffer(buffer)
    return {each.name: each for each in op_def_pb2.OpList.FromString(data).op}


def test_every_operation_of_the_installed_version_is_in_the_table_as_it_is():
    image = ".".join(tf.__version__.split(".")[:2])
    if image not in table.images():
        pytest.skip(f"The table does not have TensorFlow {image}.")
    found = registered()
    core = [name for name in dir(tf.raw_ops) if name in found]
    assert len(core) > 1000
    for name in core:
        definition, wanted = table.definition(name, image), found[name]
        assert definition.attributes.keys() == {each.name for each in wanted.attr}
        for each in wanted.attr:
            attribute = definition.attributes[each.name]
            assert attribute.type == each.type
            has_default = each.HasField("default_value")
            default = each.default_value.SerializeToString(deterministic=True)
            assert attribute.default == (default if has_default else None)
        assert len(definition.inputs) == len(wanted.input_arg)


# tensorflow_text/BUILD: what `ops_lib` lacks in version 2.12.1, and has in 2.20.0.
@pytest.mark.parametrize(
    "name", ["TFText>RoundRobinTrim", "TFText>RoundRobinGenerateMasks", "TFText>Utf8Binarize"]
)
def test_what_tensorflow_text_linked_late_is_first_in_image_2_20(name):
    first = [image for image in table.images() if table.definition(name, image)][0]
    assert first == "2.20" and table.definition(name, first).is_text


@pytest.mark.parametrize(
    "name", ["NormalizeUTF8", "FastBertNormalize", "FastWordpieceTokenizeWithOffsets"]
)
def test_the_operations_of_the_tokenizer_are_in_every_image(name):
    assert all(table.definition(name, image) for image in table.images())


def test_images_are_named_with_and_without_their_patch_number():
    assert table.named("2.15") == table.named("2.15.1") == "2.15"
    with pytest.raises(InputError, match="--image=2.11 is not known. Known are 2.12, 2.13, "):
        table.named("2.11")


def test_definitions_change_where_the_table_says_so(small_table):
    attributes = [table.definition("Grown", image).attributes for image in table.images()]
    assert [sorted(each) for each in attributes] == [["T"], ["T", "flag"], ["T", "flag"]]
    assert [bool(table.definition("Gone", image)) for image in table.images()] == [
        True,
        True,
        False,
    ]
    assert table.newest() == "1.3"
