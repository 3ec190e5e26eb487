"""The operations that an installed TensorFlow registers; a child of `op_registries`.

    python benchmarks/export/registered_operations.py FILE [text [WITHOUT ...]]

Needs TensorFlow with TensorFlow Text of any version since 2.12, and nothing of bert_tf. FILE is
JSON: definitions and CPU kernels in the form of export/images/table.py. With "text", operations of
TensorFlow Text are among them: those of its libraries but WITHOUT, such as trimmer_ops.
"""

import base64
import importlib.util
import itertools
import json
import pathlib
import sys

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels as registered_kernels


def main():
    file, *text = sys.argv[1:]
    core = definitions()
    for path in text_libraries(text[1:]) if text else ():
        tf.load_op_library(str(path))
    operations = definitions()
    for name in operations.keys() - core.keys():
        operations[name]["is_text"] = True
    result = {
        "tensorflow": tf.__version__,
        "graph_version": tf.version.GRAPH_DEF_VERSION,
        "operations": operations,
        "kernels": cpu_kernels(),
    }
    pathlib.Path(file).write_text(json.dumps(result), encoding="utf-8")


def text_libraries(without):
    """Paths of the libraries of operations of TensorFlow Text, whose package is not loaded."""
    (folder,) = importlib.util.find_spec("tensorflow_text").submodule_search_locations
    for path in sorted(pathlib.Path(folder).rglob("_*.so")):
        if path.stem[1:] not in without and path.parent.name in ("ops", "metrics"):
            yield path


def definitions():
    """Dict from the name of each registered operation to its definition."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    registered = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    pywrap_tf_session.TF_DeleteBuffer(buffer)
    return {each.name: definition(each) for each in registered.op}


def definition(op_def):
    found = {
        "inputs": [counted_by(each) for each in op_def.input_arg],
        "outputs": [counted_by(each) for each in op_def.output_arg],
        "attributes": {each.name: attribute(each) for each in op_def.attr},
    }
    if op_def.HasField("deprecation"):
        found["deprecated"] = op_def.deprecation.version
    return found


def counted_by(argument):
    """The attribute that says how many tensors an argument is; empty for one."""
    return argument.number_attr or argument.type_list_attr


def attribute(attr_def):
    found = {"type": attr_def.type}
    if attr_def.HasField("default_value"):
        serialized = attr_def.default_value.SerializeToString(deterministic=True)
        found["default"] = base64.b64encode(serialized).decode("ascii")
    if attr_def.HasField("allowed_values"):
        values = attr_def.allowed_values.list
        found["allowed"] = sorted(values.type) or sorted(each.decode() for each in values.s)
    if attr_def.has_minimum:
        found["minimum"] = attr_def.minimum
    return found


def cpu_kernels():
    """Dict from operation to its CPU kernels, each a dict from attribute to admitted types."""
    found = {}
    for kernel in registered_kernels.get_all_registered_kernels().kernel:
        if kernel.device_type == "CPU" and not kernel.label:
            types = {each.name: sorted(each.allowed_values.list.type) for each in kernel.constraint}
            found.setdefault(kernel.op, []).append(types)
    return {name: joined(kernels) for name, kernels in sorted(found.items())}


def joined(kernels):
    """The same combinations of types as few dicts: those that differ in one attribute are one."""
    for name in sorted(set(itertools.chain(*kernels))):
        groups = {}
        for kernel in kernels:
            others = json.dumps({key: kernel[key] for key in sorted(kernel) if key != name})
            groups.setdefault((others, name in kernel), set()).update(kernel.get(name, ()))
        kernels = [
            json.loads(others) | ({name: sorted(types)} if is_in else {})
            for (others, is_in), types in groups.items()
        ]
    return sorted(kernels, key=json.dumps)


if __name__ == "__main__":
    main()
