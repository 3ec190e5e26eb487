"""However batches are fed, cut and shared out, the weights after some updates are the same."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.options import Classifier
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.training import setup
from bert_tf.training.devices import strategies
from bert_tf.training.finetuning import finetune
from bert_tf.training.inputs import Inputs
from bert_tf.training.step import row_batches
from tests.reference import pretend_tpu, toy_fine_tuning
from tests.reference.toy_fine_tuning import BATCH_SIZE, CONFIG, LENGTH, NUM_ROWS, rows

REPOSITORY = pathlib.Path(__file__).parents[3]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
PATHS = {"data_dir": "d", "task_name": "t", "bert_config_file": "c", "vocab_file": "v"}
ON_DEVICES = {"length_buckets": "12", "iterations_per_loop": 2}


def options(output_dir="o", **changes):
    values = {"do_train": True, "train_batch_size": BATCH_SIZE, "learning_rate": 1e-2}
    values |= {"num_micro_batches": 1, "max_seq_length": LENGTH, "num_train_epochs": 1.5}
    return Classifier(**PATHS, output_dir=str(output_dir), **values | changes)


def fine_tune(kind, path, strategy, evaluate=None, **changes):
    """Makes four updates; returns the scores."""
    keras.utils.set_random_seed(3)
    vocab_file = pathlib.Path(path).with_name("vocab.txt")
    vocab_file.write_text("\n".join(TOKENS) + "\n")
    directory = model_directory.prepare(
        str(path), CONFIG, str(vocab_file), toy_fine_tuning.metadata(kind)
    )
    given = options(path, do_eval=evaluate is not None, **changes)
    inputs = Inputs(given, CONFIG, directory.vocabulary, str(vocab_file), None)
    run = setup.Run(inputs, strategy, directory)
    objective = toy_fine_tuning.objective(kind)
    return finetune.train(run, rows(kind), objective, "f1", evaluate)


def weights(path):
    reader = tf.train.load_checkpoint(os.path.join(path, "last", "bert_model.ckpt"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def assert_near(found, wanted):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-6, err_msg=name)


@pytest.fixture(scope="module")
def from_host(tmp_path_factory):
    """`from_host(kind)`: the weights of one device, fed from the host in whole batches."""
    found = {}

    def get(kind):
        if kind not in found:
            path = tmp_path_factory.mktemp("host") / "run"
            fine_tune(kind, path, strategies.make("one_device"))
            found[kind] = weights(path)
        return found[kind]

    return get


def mirrored(num_replicas):
    return strategies.mirrored([f"cpu:{number}" for number in range(num_replicas)])


@pytest.mark.parametrize(
    ("kind", "num_replicas", "flags"),
    [
        ("classify", 2, ON_DEVICES),
        ("tag", 1, ON_DEVICES | {"length_buckets": "7"}),
        ("choice", 1, ON_DEVICES | {"num_micro_batches": 2}),
    ],
)
def test_the_weights_are_those_of_one_device_fed_from_the_host(
    from_host, kind, num_replicas, flags, tmp_path
):
    strategy = mirrored(num_replicas) if num_replicas > 1 else strategies.make("one_device")
    fine_tune(kind, tmp_path / "run", strategy, **flags)
    assert_near(weights(tmp_path / "run"), from_host(kind))


def constant_score(predictor):
    """The evaluation of a dev set that never gets better; predicts, as a real one does."""
    logits = predictor.logits(rows("classify"), 3, "evaluate")
    assert len(logits) == NUM_ROWS
    return Evaluation({"f1": 0.5})


def train_in_one_of_two_processes(directory):
    """What each process of the next test does."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    flags = ON_DEVICES | {"eval_steps": 2, "early_stopping_patience": 5}
    path = os.path.join(directory, "run")
    found = [fine_tune("classify", path, strategy, constant_score, **flags) for _ in range(2)]
    print(json.dumps([[line["step"] for line in scores.lines] for scores in found]), flush=True)


def test_two_processes_train_alike_and_the_chief_evaluates_and_writes(from_host, tmp_path):
    sockets = [socket.create_server(("localhost", 0)) for _ in range(2)]
    hosts = [f"localhost:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    module = "tests.training.step.test_row_batches"
    program = f"import {module} as t; t.train_in_one_of_two_processes({str(tmp_path)!r})"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=REPOSITORY,
            env=os.environ
            | {
                "CUDA_VISIBLE_DEVICES": "-1",
                "TF_CONFIG": json.dumps(
                    {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}}
                ),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [p.returncode for p in processes] == [0, 0], "".join(errors for _, errors in outputs)
    chief, other = (json.loads(output.splitlines()[-1]) for output, _ in outputs)
    # The second time the run is complete, and the file has the scores.
    assert (chief, other) == ([[2, 4], [2, 4]], [[], [2, 4]])
    assert_near(weights(tmp_path / "run"), from_host("classify"))


def test_a_tpu_of_other_machines_is_refused(monkeypatch):
    strategy, given = pretend_tpu.strategy(), options(use_tpu=True)
    row_batches.check_devices(given, strategy)
    cluster = tf.train.ClusterSpec({"worker": ["10.0.0.2:8470"]})
    monkeypatch.setattr(strategy.cluster_resolver, "cluster_spec", lambda: cluster)
    with pytest.raises(InputError, match="this TPU belongs to other machines. .*--tpu_name=local"):
        row_batches.check_devices(given, strategy)
