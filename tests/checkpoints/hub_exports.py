"""Exports made by hand, of the shape that those on TensorFlow Hub have, for the tests of both.

They compute nothing but hold what readers look at: variables under the right names and keys, the
constants of a graph, the assets.
"""

import json
import pathlib

import tensorflow as tf

from bert_tf.checkpoints.formats.tf1 import TensorFlow1
from bert_tf.checkpoints.formats.tf_hub import TensorFlowHub
from tests.checkpoints import samples

TANH_GELU = 0.044715  # Hendrycks and Gimpel 2016


def arrays(one, kind, folder):
    """A `StateDict` of an encoder or with a masked LM, and its arrays under a format's names."""
    given = samples.state_dict(kind, folder, without=("next_sentence",))
    return given, one.arrays(given)


def graph(act, epsilons, scope="transformer/layer_0"):
    """Operations with the constants that show the activation and epsilon; returns their sum.

    TensorFlow folds nothing of it away: the input is only known when it is run.
    """
    x = tf.compat.v1.placeholder_with_default(tf.ones([2]), [None])
    with tf.name_scope(scope):
        if "gelu" in act:
            x = x * tf.constant(TANH_GELU, name="gelu")
        if "gelu_erf" in act:
            x = tf.math.erf(x)
        if "gelu_erfc" in act:
            x = tf.math.erfc(x)
        if "relu" in act:
            x = tf.nn.relu(x)
        for epsilon in epsilons:
            with tf.name_scope("norm/batchnorm"):
                x = x + tf.constant(epsilon, name="add/y")
    return x


class Variables(tf.Module):
    """Holds variables under their own names; a list, as an export has them."""

    def __init__(self, values):
        super().__init__(name="outside")
        self.variables_of_keras = [tf.Variable(v, name=n) for n, v in values.items()]


def saved_model(folder, kind="encoder", act=("gelu",), epsilons=(1e-12,), lower_case=True):
    """(directory of a SavedModel of TensorFlow 2, the `StateDict` in it)."""
    given, values = arrays(TensorFlowHub(), kind, folder / "source")
    return _save(folder, given, values, act, epsilons, lower_case), given


def _save(folder, given, values, act, epsilons, lower_case):
    root = Variables({n: v for n, v in values.items() if "cls/" not in n})
    root.mlm = Variables({n: v for n, v in values.items() if "cls/" in n})
    root.do_lower_case = tf.Variable(lower_case, trainable=False)
    root.vocab_file = tf.saved_model.Asset(given.vocab_file)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def call(x):
        return x * graph(act, epsilons)

    root.__call__ = call
    directory = folder / "export"
    tf.saved_model.save(root, str(directory))
    return directory


def save_values(folder, values):
    """Directory of a SavedModel with other variables: dict from name to array."""
    given = samples.state_dict("encoder", folder / "source")
    return _save(folder, given, values, ("gelu",), (1e-12,), True)


def keras_metadata(directory, class_name, config):
    """Writes a keras_metadata.pb; of its protocol buffer only the JSON within is read."""
    text = json.dumps({"name": "x", "class_name": class_name, "config": config})
    (pathlib.Path(directory) / "keras_metadata.pb").write_bytes(b"\n\xff\x01" + text.encode())


def module(folder, kind="encoder", num_heads=None, lower_case=True, scope=""):
    """(directory of a module of TensorFlow 1, the `StateDict` in it).

    Args:
      num_heads: int, 0 for a graph that does not show it; none: that of the sample.
      scope: before every name, e.g. "module/".
    """
    v1 = tf.compat.v1
    given, values = arrays(TensorFlow1(), kind, folder / "source")
    heads = given.config.num_attention_heads if num_heads is None else num_heads
    directory = folder / "module"
    with v1.Graph().as_default(), v1.Session() as session:
        for name, value in values.items():
            v1.get_variable(scope + name, initializer=value)
        graph(("gelu",), (1e-12,), "bert/encoder/layer_0/intermediate")
        if heads:
            tf.constant(heads, name="bert/encoder/layer_0/attention/self/Reshape/shape/2")
        signature = v1.saved_model.build_signature_def(
            outputs={"do_lower_case": v1.saved_model.build_tensor_info(tf.constant(lower_case))}
        )
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(directory))
        builder.add_meta_graph_and_variables(session, [], {"tokenization_info": signature})
        builder.save()
    (directory / "tfhub_module.pb").write_bytes(b"\x08\x03")
    assets = directory / "assets"
    assets.mkdir(exist_ok=True)
    (assets / "vocab.txt").write_bytes(pathlib.Path(given.vocab_file).read_bytes())
    return directory, given
