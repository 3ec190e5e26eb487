"""A small set-up for training, the scripts on it in processes of their own, what they leave.

What `training_equality`, `fine_tuning_equality` and `training_interruption` share.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import sys

import numpy as np

from benchmarks import child_process
from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.training.monitoring import history

ROOT = pathlib.Path(__file__).parents[2]
_VOCAB_SIZE = 3000

# Runs a script with that many logical devices on the CPU.
_WITH_DEVICES = (
    "import runpy, sys, tensorflow as tf; (cpu,) = tf.config.list_physical_devices('CPU');"
    "devices = [tf.config.LogicalDeviceConfiguration()] * int(sys.argv[1]);"
    "tf.config.set_logical_device_configuration(cpu, devices);"
    "sys.argv = sys.argv[2:]; runpy.run_path(sys.argv[0], None, '__main__')"
)


@dataclasses.dataclass(frozen=True)
class Material:
    """Configuration, vocabulary and records of one or more lengths.

    Attributes:
      directory: pathlib.Path.
      records: dict from length to path.
    """

    directory: pathlib.Path
    records: dict

    @property
    def flags(self):
        """The flags that name them."""
        return [f"--bert_config_file={self.directory}/bert_config.json"]


def prepare(directory, text, num_tokens, hidden_size=64):
    """Makes the material of a pre-training from a text: `prepare_model`, and records.

    Args:
      directory: pathlib.Path.
      text: str, a file of sentences.
      num_tokens: iterable of int, lengths to make records of.
      hidden_size: int.
    """
    vocab_file = prepare_model(directory, text, max(num_tokens), hidden_size)
    records = {length: directory / f"of_{length}" / "0.tfrecord" for length in num_tokens}
    for length, path in records.items():
        child_process.run(
            [sys.executable, "create_pretraining_data.py", f"--input_file={text}"]
            + [f"--output_file={path}", f"--vocab_file={vocab_file}", "--dupe_factor=1"]
            + [f"--max_seq_length={length}", "--short_seq_prob=0.5", "--num_workers=1"]
        )
    return Material(directory, records)


def prepare_model(directory, text, num_tokens, hidden_size=64):
    """Writes vocab.txt, learnt from a text, and bert_config.json: two layers with dropout 0.1.

    Args:
      directory: pathlib.Path.
      text: str, a file of sentences.
      num_tokens: int, the longest row.
      hidden_size: int.

    Returns:
      pathlib.Path of the vocabulary.
    """
    vocab_file = directory / "vocab.txt"
    child_process.run(
        [sys.executable, "-m", "bert_tf.vocabulary.learn", f"--input_file={text}"]
        + [f"--output_file={vocab_file}", f"--vocab_size={_VOCAB_SIZE}", "--num_unused=0"]
    )
    config = {
        "vocab_size": len(vocab_file.read_text(encoding="utf-8").splitlines()),
        "hidden_size": hidden_size,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 4 * hidden_size,
        "max_position_embeddings": num_tokens,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
    }
    (directory / "bert_config.json").write_text(json.dumps(config))
    return vocab_file


def start(flags, log_file, num_devices=1, task=None, script="run_pretraining.py"):
    """Starts a script that trains.

    Args:
      flags: list of str.
      log_file: pathlib.Path, gets what it prints, behind what is there.
      num_devices: int, replicas on logical CPU devices.
      task: dict, TF_CONFIG of one of several processes, or None.
      script: str.

    Returns:
      `subprocess.Popen`.
    """
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if task:
        environment["TF_CONFIG"] = json.dumps(task)
    if num_devices > 1:
        flags = [*flags, "--distribution_strategy=mirrored"]
    command = [sys.executable, "-c", _WITH_DEVICES, str(num_devices), script, *flags]
    with open(log_file, "ab") as file:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=file)


def start_several(flags, log_file, num_processes, script="run_pretraining.py"):
    """Starts a script in processes that find each other on the loopback device."""
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            for _ in range(num_processes)
        ]
        hosts = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    return [
        start(
            flags,
            log_file,
            task={"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}},
            script=script,
        )
        for index in range(num_processes)
    ]


def finish(processes, log_file):
    """Waits for processes that are to end well."""
    if any([process.wait() for process in processes]):
        end = log_file.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise InputError(f"The training failed; the end of {log_file}:\n{end}")


def weights(output_dir):
    """Dict from name to array of the weights that a run ends with."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(output_dir / "last" / "bert_model.ckpt"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def course(output_dir):
    """The `history.History` of a run."""
    return history.read(output_dir / history.NAME)


def curve(found, name="loss"):
    """Dict from step to value of a `history.History`."""
    return dict(zip(*found.series(name), strict=True))


def largest_difference(found, wanted):
    """(largest absolute difference between two dicts of arrays of equal names, the name)."""
    if found.keys() != wanted.keys():
        return np.inf, min(found.keys() ^ wanted.keys())
    return max((float(np.abs(found[name] - wanted[name]).max()), name) for name in wanted)


def write_results(path, key, rows, summary):
    """Writes results, in which rows of what was not run again stay.

    Args:
      path: pathlib.Path.
      key: str, the name in a row of what was run.
      rows: list of dicts.
      summary: dict, what the rows depend on; rows of before under another one are dropped.

    Returns:
      list of dicts, all rows.
    """
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"runs": []}
    new = {row[key] for row in rows}
    kept = [row for row in before.pop("runs") if row[key] not in new]
    rows = (kept if before == summary else []) + rows
    files.write_text(path, json.dumps(summary | {"runs": rows}, indent=1) + "\n")
    return rows
