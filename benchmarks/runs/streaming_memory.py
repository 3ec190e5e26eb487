"""Memory of a fine-tuning against the number of its training examples, in memory and in records.

python -m benchmarks.runs.streaming_memory [--counts=5000,20000,80000]

Each run reads its training set from files of 5,000 examples, tokenizes it and makes ten updates of
a small model. The table has the resident memory of the process that trains: the most of it while
the set is read, at the start of the training, the most of it during the training; and what the set
takes on the disk.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks import child_process
from benchmarks.runs import training_runs
from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import option

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "streaming_memory.json"
PER_FILE, LENGTH, NUM_UPDATES, BATCH_SIZE = 5000, 128, 10, 16
NUM_WORDS = 60  # of an example

# Runs run_classifier.py and prints its memory in MiB: now, when the training begins, and the peaks.
_PROGRAM = """
import json, re, resource, sys
import bert_tf
from bert_tf.training.finetuning import finetune

def memory(name):
    with open("/proc/self/status") as file:
        return int(re.search(rf"{name}:\\s+(\\d+)", file.read())[1]) / 1024

found = {}
train = finetune.train

def measured(*args):
    found["read_peak"] = memory("VmHWM")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is counted from here on
    found["before"] = memory("VmRSS")
    try:
        return train(*args)
    finally:
        found["train_peak"] = memory("VmHWM")

finetune.train = measured
from bert_tf import flagging, options
from bert_tf.training.finetuning import classifier_data
classifier_data.main(flagging.make(options.Classifier, json.loads(sys.argv[1])))
print(json.dumps(found))
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags of this program."""

    counts: str = option("5000,20000,80000", "Numbers of training examples.")
    text: str = option("data/corpus/train.txt", "Sentences to make texts of.")


def write_set(directory, text, count):
    """Writes training files of random words of a text, with one of two labels."""
    words = np.array(pathlib.Path(text).read_text(encoding="utf-8").split())
    rng = np.random.default_rng(3)
    directory.mkdir()
    for number, first in enumerate(range(0, count, PER_FILE)):
        lines = ["text\tlabel"]
        for _ in range(min(PER_FILE, count - first)):
            chosen = " ".join(rng.choice(words, NUM_WORDS))
            lines.append(f"{chosen}\t{'xy'[rng.integers(2)]}")
        path = directory / f"train-{number:04}.tsv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(directory, count, has_records):
    """A row of the table."""
    output_dir = directory / f"out-{count}-{has_records}"
    options = {
        "train_file": str(directory / str(count) / "train-*.tsv"),
        "bert_config_file": str(directory / "bert_config.json"),
        "vocab_file": str(directory / "vocab.txt"),
        "output_dir": str(output_dir),
        "do_train": True,
        "max_seq_length": LENGTH,
        "train_batch_size": BATCH_SIZE,
        "num_train_epochs": NUM_UPDATES * BATCH_SIZE / count,
        "stream_records": has_records,
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps(options)],
        cwd=training_runs.ROOT,
        env=child_process.without_gpu(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise InputError(f"The run failed:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    on_disk = files.num_bytes(output_dir / "train_records") / 2**20 if has_records else 0.0
    row = {"examples": count, "has_records": has_records, "disk": on_disk, **found}
    where = "records" if has_records else "memory"
    print(
        f"{count:10,} {where:9}{row['read_peak']:12,.0f}{row['before']:12,.0f}"
        f"{row['train_peak']:12,.0f}{on_disk:12,.0f}",
        flush=True,
    )
    return {n: round(x, 1) if isinstance(x, float) else x for n, x in row.items()}


def main(options):
    """Prints the table and writes the results."""
    rows = []
    print(f"{'examples':>10} {'rows in':9}{'reading':>12}{'at start':>12}{'training':>12}"
          f"{'on disk':>12}   MiB")  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        training_runs.prepare_model(directory, options.text, LENGTH)
        for count in map(int, options.counts.split(",")):
            write_set(directory / str(count), options.text, count)
            rows += [run(directory, count, has_records) for has_records in (False, True)]
            files.write_text(RESULTS, json.dumps({"mebibytes": rows}, indent=1) + "\n")
            os.sync()


if __name__ == "__main__":
    flagging.run(main, Options)
