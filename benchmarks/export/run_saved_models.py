"""Runs SavedModels in an installed TensorFlow; a child of `image_compatibility`.

    python benchmarks/export/run_saved_models.py TASK ANSWERS [WITHOUT ...]

Needs TensorFlow with TensorFlow Text of any version since 2.12, and nothing of bert_tf. Of
TensorFlow Text, it loads the libraries of operations but those WITHOUT. TASK is JSON: from the path
of each SavedModel to the inputs of its signature, texts in hexadecimal. ANSWERS is JSON: libraries
that did not load, and for each path the outputs by `tf.saved_model.load` and by a session, or the
error.
"""

import json
import pathlib
import sys

import numpy as np
import registered_operations
import tensorflow as tf


def main():
    task, answers, *without = sys.argv[1:]
    result = {"tensorflow": tf.__version__, "not loaded": {}, "models": {}}
    for path in registered_operations.text_libraries(without):
        try:
            tf.load_op_library(str(path))
        except tf.errors.OpError as error:
            result["not loaded"][path.stem] = str(error)[:300]
    for path, inputs in json.loads(pathlib.Path(task).read_text(encoding="utf-8")).items():
        tensors = {name: tensor(values) for name, values in inputs.items()}
        result["models"][path] = {
            "load": outcome(by_load, path, tensors),
            "session": outcome(by_session, path, tensors),
        }
    pathlib.Path(answers).write_text(json.dumps(result), encoding="utf-8")


def tensor(values):
    if values and isinstance(values[0], str):
        return np.array([bytes.fromhex(value) for value in values], dtype=object)
    return np.array(values, np.float32)


def outcome(run, path, tensors):
    """The outputs, or the error: whatever it is, it is the result."""
    try:
        outputs = run(path, tensors)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {"outputs": {name: listed(np.asarray(value)) for name, value in outputs.items()}}


def listed(array):
    """Nested lists of numbers; texts are in hexadecimal."""
    if array.dtype == object:
        array = np.vectorize(bytes.hex, otypes=[object])(array)
    return array.tolist()


def by_load(path, tensors):
    signature = tf.saved_model.load(path).signatures["serving_default"]
    return signature(**{name: tf.constant(value) for name, value in tensors.items()})


def by_session(path, tensors):
    """As TensorFlow Serving does it."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta_graph = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = meta_graph.signature_def["serving_default"]
        feeds = {signature.inputs[name].name: value for name, value in tensors.items()}
        return session.run({k: v.name for k, v in signature.outputs.items()}, feeds)


if __name__ == "__main__":
    main()
