"""What pre-training runs leave, and ways to compute or to stop them."""

import contextlib
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import options
from bert_tf.training import setup
from bert_tf.training.step.loop import Loop

CONFIG = {
    "hidden_size": 22,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 37,
    "max_position_embeddings": 31,
}


def write_model(directory, tokens, drop_prob, **changes):
    """Writes the bert_config.json of the smallest model and its vocab.txt into a directory."""
    config = CONFIG | {"vocab_size": len(tokens)} | changes
    config |= {"hidden_dropout_prob": drop_prob, "attention_probs_dropout_prob": drop_prob}
    (directory / "bert_config.json").write_text(json.dumps(config))
    (directory / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    return directory


def run_options(directory, path, name, **changes):
    """`PreTraining` of seven updates on records, into the directory `name` in the model's."""
    values = {
        "bert_config_file": f"{directory}/bert_config.json",
        "output_dir": str(directory / name),
        "input_file": path,
        "max_seq_length": 17,
        "do_train": True,
        "num_train_steps": 7,
        "num_warmup_steps": 2,
        "train_batch_size": 8,
        "learning_rate": 1e-2,
        "log_steps": 1,
    }
    return options.PreTraining(**values | changes)


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
    """Runs inside are on this number of replicas, whatever strategy they ask for."""
    devices = [f"/cpu:{index}" for index in range(number)]
    mirrored = setup.strategies.mirrored
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup.strategies, "make", lambda *_: mirrored(devices))
        yield


@contextlib.contextmanager
def copied_after(step, directory, copy):
    """`copy` gets what the run inside has in `directory` behind that update: what a kill leaves."""
    check = Loop._check

    def copies(self, done, values):
        check(self, done, values)
        if done == step:
            shutil.copytree(directory, copy)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Loop, "_check", copies)
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
