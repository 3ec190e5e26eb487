import importlib
import operator
import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from serving.models import lean_tensorflow

ROOT = pathlib.Path(__file__).parents[3]
# What is loaded lean, then all of TensorFlow, in a process that has loaded nothing yet.
PROGRAM = """
import sys
import numpy as np
from serving.models import lean_tensorflow
lean_tensorflow.install()
import tensorflow as tf
from serving.models import servable, text_operations, warmup
from serving.grpc_api import server
from serving.monitoring import request_log
from serving.rest_api import application
model = servable.Servable("tiny", 7, sys.argv[1])
print(model.run("", {"text": np.array([b"ab"], object)})["upper"])
assert warmup.run(model) == 0
print(tf.compat.v1.Session, tf.errors.OpError)
from tensorflow.python.framework import op_def_registry
print([name for name in ("FastBertNormalize", "NormalizeUTF8", "TFText>RoundRobinTrim")
       if op_def_registry.get(name) is None])
print(sorted({"keras", "tensorflow._api", "tensorflow_text"} & set(sys.modules)))
print(tf.constant(3) + 4, tf.io.gfile.exists(sys.argv[1]), tf.errors.NotFoundError.__name__)
print(tf.make_ndarray is tf.__dict__["make_ndarray"], "tensorflow._api" in sys.modules)
import tensorflow_text
print(tensorflow_text.normalize_utf8(["A"], "NFKC").numpy())
"""


@pytest.mark.parametrize("path", lean_tensorflow._HOMES)
def test_each_name_stands_for_the_same_as_in_tensorflow(path):
    module, name = lean_tensorflow._HOMES[path]
    assert getattr(importlib.import_module(module), name) is operator.attrgetter(path)(tf)


def test_what_is_loaded_already_stays():
    lean_tensorflow.install()
    assert sys.modules["tensorflow"] is tf


def test_a_server_needs_no_more_and_all_of_it_can_still_be_had(base_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(base_path / "7")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[b'AB']",
        "<class 'tensorflow.python.client.session.Session'> "
        "<class 'tensorflow.python.framework.errors_impl.OpError'>",
        "[]",
        "[]",
        "tf.Tensor(7, shape=(), dtype=int32) True NotFoundError",
        "True True",
        "[b'A']",
    ]
    assert done.stderr == ""
