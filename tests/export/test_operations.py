import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from export import operations


def saved(tmp_path, function, **spec):
    specs = [tf.TensorSpec([None], dtype, name=name) for name, dtype in spec.items()]
    signature = tf.function(function, input_signature=specs)
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures={"serving_default": signature})
    return operations.read(str(tmp_path))


def test_operations_of_every_image_pass_and_are_listed(tmp_path):
    def normalize(text):
        # Within a branch, so within a function of the graph's library.
        return {"y": tf.cond(tf.size(text) > 1, lambda: tf_text.normalize_utf8(text), lambda: text)}

    assert operations.check(saved(tmp_path, normalize, text=tf.string)) == ["NormalizeUTF8"]


def test_an_operation_that_older_images_lack_is_named_with_the_first_that_has_it(tmp_path):
    def trim(x):
        ragged = tf.RaggedTensor.from_uniform_row_length(x, 1)
        return {"y": tf_text.RoundRobinTrimmer(3).trim([ragged, ragged])[0].to_tensor()}

    with pytest.raises(ValueError, match="TFText>RoundRobinTrim is first in image 2.20"):
        operations.check(saved(tmp_path, trim, x=tf.int32))


def test_an_operation_of_no_image_is_named(tmp_path):
    def sentences(text):
        return {"y": tf_text.StateBasedSentenceBreaker().break_sentences(text).to_tensor()}

    with pytest.raises(ValueError, match="SentenceFragmentsV2 is in no image"):
        operations.check(saved(tmp_path, sentences, text=tf.string))


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
