"""Small SavedModels that need something which older images lack."""

import pathlib
from collections.abc import Callable

import tensorflow as tf
import tensorflow_text as tf_text


def round_robin(x: tf.Tensor) -> tf.Tensor:
    """An operation of TensorFlow Text."""
    ragged = tf.RaggedTensor.from_uniform_row_length(x, 1)
    return tf_text.RoundRobinTrimmer(2).trim([ragged, ragged])[0].to_tensor()


def fill_empty_rows(x: tf.Tensor) -> tf.Tensor:
    """An operation of TensorFlow itself."""
    rows = tf.constant([0, 2, 2], tf.int64)
    filled = tf.raw_ops.RaggedFillEmptyRows(value_rowids=rows, values=x, nrows=4, default_value=7.0)
    return filled.output_values


def ignored_index(x: tf.Tensor) -> tf.Tensor:
    """A new attribute, and not with its default: without it, the index is an error."""
    return tf.raw_ops.TensorScatterUpdate(
        tensor=x, indices=[[1_000]], updates=[1.0], bad_indices_policy="IGNORE"
    )


def to_unsigned(x: tf.Tensor) -> tf.Tensor:
    """A type that the operation did not allow at first."""
    digits = tf.strings.as_string(tf.cast(tf.abs(x), tf.int32))
    return tf.cast(tf.strings.to_number(digits, tf.uint32), tf.float32)


def range_of_bfloat16(x: tf.Tensor) -> tf.Tensor:
    """A type that was allowed, but had no kernel."""
    stop = tf.cast(tf.reduce_max(x), tf.bfloat16)
    zero, one = (tf.constant(value, tf.bfloat16) for value in (0, 1))
    return tf.cast(tf.raw_ops.Range(start=zero, limit=stop, delta=one), tf.float32)


def marked_as_gradient(x: tf.Tensor) -> tf.Tensor:
    """A new attribute that says where a product comes from: nothing depends on it."""
    return tf.raw_ops.MatMul(a=x[tf.newaxis], b=x[:, tf.newaxis], grad_a=True)


GRAPHS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "TFText>RoundRobinTrim": round_robin,
    "RaggedFillEmptyRows": fill_empty_rows,
    "TensorScatterUpdate, bad_indices_policy='IGNORE'": ignored_index,
    "StringToNumber, out_type=uint32": to_unsigned,
    "Range, Tidx=bfloat16": range_of_bfloat16,
    "MatMul, grad_a=True": marked_as_gradient,
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
