"""What pre-training runs leave, and ways to compute or to stop them."""

import contextlib
import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training import start as start_lib
from bert_tf.training.loop import Loop


def weights(directory):
    """Dict from name to array of the last weights of a model directory."""
    reader = tf.train.load_checkpoint(f"{directory}/last/bert_model.ckpt")
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def lines(directory):
    """The lines of its metrics.jsonl."""
    with open(f"{directory}/metrics.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def losses(directory):
    """Step to loss, of every update that was logged."""
    return {line["step"]: line["loss"] for line in lines(directory) if "loss" in line}


def assert_close(found, wanted, tolerance):
    """Compares dicts of arrays; with a tolerance of 0 they must be equal."""
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=tolerance, err_msg=name)


@contextlib.contextmanager
def on_replicas(number):
    """Runs inside are on so many replicas, whatever strategy they ask for."""
    devices = [f"/cpu:{index}" for index in range(number)]
    mirrored = start_lib.strategy_lib.mirrored
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start_lib.strategy_lib, "make", lambda *_: mirrored(devices))
        yield


@contextlib.contextmanager
def killed_after(step):
    """The run inside ends behind that update, before it can save."""
    check = Loop._check

    def stops(self, done, values):
        check(self, done, values)
        if done == step:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Loop, "_check", stops)
        with pytest.raises(KeyboardInterrupt):
            yield
