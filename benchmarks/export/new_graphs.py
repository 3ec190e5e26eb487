"""Small SavedModels that need something which older images lack."""

import pathlib
from collections.abc import Callable

import tensorflow as tf
import tensorflow_text as tf_text


def round_robin(x: tf.Tensor) -> tf.Tensor:
    """An operation of TensorFlow Text that it links since 2.20."""
    ragged = tf.RaggedTensor.from_uniform_row_length(x, 1)
    return tf_text.RoundRobinTrimmer(2).trim([ragged, ragged])[0].to_tensor()


GRAPHS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "TFText>RoundRobinTrim": round_robin,
}


def save(directory: pathlib.Path) -> dict[str, str]:
    """Saves a model for each graph, a function of float32 [B]; returns names by paths."""
    names = {}
    for number, (name, function) in enumerate(GRAPHS.items(), start=1):
        path = str(directory / str(number))
        signature = tf.function(
            lambda x, function=function: {"y": function(x)},
            input_signature=[tf.TensorSpec([None], tf.float32, name="x")],
            autograph=False,
        )
        tf.saved_model.save(tf.Module(), path, signatures={"serving_default": signature})
        names[path] = name
    return names
