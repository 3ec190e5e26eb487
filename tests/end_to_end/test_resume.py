"""A pre-training run that is killed and started again ends with the same weights, bit for bit."""

import json
import signal
import subprocess
import sys
import time

from tests.reference.pretraining_runs import assert_close, weights

NUM_STEPS = 13


def arguments(bert, output_dir):
    return [
        "run_pretraining.py",
        "--do_train",
        "--input_file=records/*.tfrecord",
        f"--bert_config_file={bert}/config.json",
        f"--output_dir={output_dir}",
        "--max_seq_length=31",
        "--max_predictions_per_seq=5",
        "--train_batch_size=7",
        f"--num_train_steps={NUM_STEPS}",
        "--num_warmup_steps=2",
        "--save_checkpoints_steps=3",
        "--learning_rate=1e-3",
    ]


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


def test_kill_9_and_restart_give_the_same_weights(checkout, run, environment, tiny_bert):
    config = json.loads((tiny_bert / "config.json").read_text())
    assert config.get("hidden_dropout_prob", 0.1) > 0  # masks must repeat as well
    text = "data/corpus/heldout.txt"
    files = "records/a.tfrecord,records/b.tfrecord"
    run(
        ["create_pretraining_data.py", f"--input_file={text}", f"--output_file={files}"]
        + [f"--vocab_file={tiny_bert}/vocab.txt", "--dupe_factor=1", "--max_seq_length=31"]
        + ["--max_predictions_per_seq=5"]
    )
    run(arguments(tiny_bert, "straight"))
    killed = arguments(tiny_bert, "killed")
    first_state = checkout / "killed" / "training" / "step-3"
    assert kill_once_saved(killed, checkout, environment, first_state)
    assert not (checkout / "killed" / "last").exists()
    assert "resumed after step" in run(killed)

    expected, found = weights(checkout / "straight"), weights(checkout / "killed")
    assert_close(found, expected, 0)

    assert f"complete after step {NUM_STEPS}" in run(killed)  # a finished run stays as it is
    assert_close(weights(checkout / "killed"), found, 0)
