"""The content of a small table of images, with what can change from one to the next."""

import base64

from tensorflow.core.framework import attr_value_pb2

FLOAT, INT32, BFLOAT16 = 1, 3, 14  # DataType of tensorflow/core/framework/types.proto


def serialized(**value):
    return attr_value_pb2.AttrValue(**value).SerializeToString(deterministic=True)


def default(**value):
    return base64.b64encode(serialized(**value)).decode()


def operation(attributes, inputs=("",), **others):
    return {"inputs": inputs, "outputs": [""], "attributes": attributes} | others


T_OF_TWO = {"type": "type", "allowed": [FLOAT, INT32]}
T_OF_THREE = {"type": "type", "allowed": [FLOAT, INT32, BFLOAT16]}
MODE = {"type": "string", "default": default(s=b"plain"), "allowed": ["plain", "fancy"]}
FLAG = {"type": "bool", "default": default(b=False)}
TEXT = {"type": "string", "default": default(s=b"")}
SIZE = {"type": "int", "minimum": 2}

CONTENT = {
    "images": {
        name: {"tensorflow": f"{name}.1", "tensorflow_text": "1.0", "graph_version": version}
        for name, version in (("1.1", 100), ("1.2", 200), ("1.3", 300))
    },
    "operations": {
        "Const": {"1.1": operation({"dtype": {"type": "type"}, "value": {"type": "tensor"}}, ())},
        "Late": {"1.2": operation({})},
        "Gone": {"1.1": operation({}), "1.3": None},
        "Old": {"1.1": operation({}, deprecated=150)},
        "Text": {"1.2": operation({}, is_text=True)},
        "Typed": {"1.1": operation({"T": T_OF_TWO}), "1.3": operation({"T": T_OF_THREE})},
        "Grown": {
            "1.1": operation({"T": T_OF_TWO}),
            "1.2": operation({"T": T_OF_TWO, "flag": FLAG}),
            "1.3": operation({"T": T_OF_TWO, "flag": FLAG}, ["", ""]),
        },
        "Lenient": {
            "1.1": operation({"mode": {"type": "string"}, "n": SIZE}, ["n"]),
            "1.3": operation({"mode": MODE, "n": SIZE}, ["n"]),
        },
        "Moved": {
            "1.1": operation({"mode": MODE | {"default": default(s=b"fancy")}}),
            "1.2": operation({"mode": MODE}),
        },
        "Many": {"1.1": operation({"Tin": {"type": "list(type)", "minimum": 1}}, ["Tin"])},
        "Fast": {"1.1": operation({"T": T_OF_THREE})},
        "Noted": {"1.1": operation({}), "1.2": operation({"debug_name": TEXT})},
    },
    "kernels": {
        "Fast": {"1.1": [{"T": [FLOAT]}], "1.2": [{"T": [FLOAT, BFLOAT16]}]},
    },
}
