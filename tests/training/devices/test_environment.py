"""What a report says about the machine, and what it does not."""

import getpass
import json
import platform
import socket

import keras
import tensorflow as tf

from bert_tf.training.devices import environment


def test_versions_and_devices():
    found = environment.describe(tf.distribute.OneDeviceStrategy("/cpu:0"))
    assert found["TensorFlow"] == tf.__version__
    assert found["Keras"] == keras.__version__
    assert found["Python"] == platform.python_version()
    assert found["Accelerators"] == "none"
    assert found["Layers compute in"] == "float32"
    assert int(found["Cores"]) > 0
    assert found["Replicas"] == "1"
    assert json.loads(json.dumps(found)) == found


def test_the_strategy():
    found = environment.describe(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"]))
    assert (found["Strategy"], found["Replicas"]) == ("MirroredStrategy", "3")


def test_nothing_of_who_runs_it():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    words = set(" ".join(environment.describe(strategy).values()).split())
    assert not words & {getpass.getuser(), socket.gethostname()}


def test_a_gpu_that_is_not_used_is_told(monkeypatch, tmp_path):
    driver = tmp_path / "version"
    monkeypatch.setattr(environment, "_NVIDIA_DRIVER", str(driver))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert environment.unused_gpu() is None  # no driver, no GPU
    driver.write_text("NVRM version")
    assert "uses the CPU" in environment.unused_gpu()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")  # hidden on purpose
    assert environment.unused_gpu() is None
