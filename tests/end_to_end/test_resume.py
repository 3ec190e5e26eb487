"""A pre-training run that is killed and started again ends with the same weights, bit for bit.

The run that is not killed is made in this process, those that are in processes of their own.
"""

import json
import signal
import subprocess
import sys
import time

from bert_tf import flagging, options
from bert_tf.records.build import builder
from bert_tf.training.pretraining import pretrain
from tests.reference.pretraining_runs import assert_close, weights

NUM_STEPS = 13


def make_records(folder, bert):
    """Two files of records, to be read together."""
    builder.run(
        options.PretrainingData(
            input_file=str(folder / "data/corpus/heldout.txt"),
            output_file=f"{folder}/records/a.tfrecord,{folder}/records/b.tfrecord",
            vocab_file=f"{bert}/vocab.txt",
            dupe_factor=1,
            max_seq_length=31,
            max_predictions_per_seq=5,
        )
    )


def training(folder, bert, name):
    """Options of a run into the folder `name`."""
    return options.PreTraining(
        do_train=True,
        input_file=f"{folder}/records/*.tfrecord",
        bert_config_file=f"{bert}/config.json",
        output_dir=str(folder / name),
        max_seq_length=31,
        max_predictions_per_seq=5,
        train_batch_size=7,
        num_train_steps=NUM_STEPS,
        num_warmup_steps=2,
        save_checkpoints_steps=3,
        learning_rate=1e-3,
    )


def kill_once_saved(command, checkout, environment, state):
    """Starts it, kills it with SIGKILL as soon as a state is saved; says whether it was in time."""
    process = subprocess.Popen(
        [sys.executable, *command], cwd=checkout, env=environment, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        if state.exists():
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.01)
    return process.wait() == -signal.SIGKILL


def test_kill_9_and_restart_give_the_same_weights(checkout, run, environment, tiny_bert, capsys):
    config = json.loads((tiny_bert / "config.json").read_text())
    assert config.get("hidden_dropout_prob", 0.1) > 0  # masks must repeat as well
    make_records(checkout, tiny_bert)
    pretrain.run(training(checkout, tiny_bert, "straight"))
    to_kill = training(checkout, tiny_bert, "killed")
    command = ["run_pretraining.py", *flagging.to_flagfile(to_kill).splitlines()]
    first_state = checkout / "killed" / "training" / "step-3"
    assert kill_once_saved(command, checkout, environment, first_state)
    assert not (checkout / "killed" / "last").exists()
    assert "resumed after step" in run(command)

    expected, found = weights(checkout / "straight"), weights(checkout / "killed")
    assert_close(found, expected, 0)

    capsys.readouterr()
    pretrain.run(to_kill)  # a finished run stays as it is
    assert f"complete after step {NUM_STEPS}" in capsys.readouterr().out
    assert_close(weights(checkout / "killed"), found, 0)
