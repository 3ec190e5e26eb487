"""Packed rows against padded ones at length 512, on real text: the step of pre-training.

    python -m benchmarks.step.pretraining_packed [--data_dir=...] [--vocab_file=...] [--rounds=3]

The same examples, sentences of a document up to the length of a row, once each in a row of its own
and once packed; and next sentence pairs, as released. Rows of one example are padded to 512
(`--length_buckets=512`), as elsewhere, or cut to the longest of each micro-batch, which is what
run_pretraining.py does on a CPU unless told otherwise. All in turns, one thread each, per second
of process CPU time, L4 H512, the whole of run_pretraining.py.
"""

import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

from benchmarks import child_process
from benchmarks.records import pretraining_data
from benchmarks.step.pretraining_step import config, ours
from bert_tf import files, flagging
from bert_tf.flagging import option
from bert_tf.records import check

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "pretraining_packed.json"
T, BATCH_SIZE = 512, 8
_PADDED = {"length_buckets": str(T), "iterations_per_loop": 1}
# Example type of the records, objective of training, and further options of training.
PROGRAMS = {
    "own rows, padded": ("doc_sentences", "mlm", _PADDED),
    "own rows, cut": ("doc_sentences", "mlm", {}),
    "packed": ("packed", "mlm", {}),
    "pairs, padded": ("nsp", "mlm_nsp", _PADDED),
    "pairs, cut": ("nsp", "mlm_nsp", {}),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    text: str | None = option(None, "Files or a directory; none: the English of --data_dir.")
    data_dir: str = option("../shared/data/pretrain", "Holds gutenberg/ and wikipedia/.")
    vocab_file: str = option("../shared/data/vocab/uncased/vocab.txt", "Of 30,522 tokens.")
    rounds: int = option(3, "Turns of each.")
    steps: int = option(4, "Steps of a turn.")


def records(directory, text, example_type, vocab_file):
    """(path, number of records) of records made from the text."""
    path = pathlib.Path(directory) / f"{example_type}.tfrecord"
    flags = {
        "input_file": text,
        "output_file": path,
        "vocab_file": vocab_file,
        "example_type": example_type,
        "max_seq_length": T,
        "dupe_factor": 1,
    }
    script = [sys.executable, "create_pretraining_data.py"]
    child_process.run(script + [f"--{name}={value}" for name, value in flags.items()])
    return str(path), check.num_records(str(path))


def measure(directory, options):
    """Dict from program to its figures."""
    text = options.text
    if text is None:
        text = pathlib.Path(directory) / "text.txt"
        text.write_bytes(pretraining_data.whole_text(pathlib.Path(options.data_dir)))
    made = {
        name: records(directory, text, name, options.vocab_file)
        for name in dict.fromkeys(program[0] for program in PROGRAMS.values())
    }
    # Both have the same examples, whatever the pass.
    per_row = {name: 1.0 for name in made}
    per_row["packed"] = made["doc_sentences"][1] / made["packed"][1]
    children = {
        name: ours(
            directory,
            config(4, 512),
            BATCH_SIZE,
            input_file=made[of_records][0],
            vocab_file=options.vocab_file,
            max_seq_length=T,
            objective=objective,
            **changes,
        )
        for name, (of_records, objective, changes) in PROGRAMS.items()
    }
    turns = {name: [] for name in PROGRAMS}
    for child in children.values():
        child.run(options.steps)  # warms up
    for _ in range(options.rounds):
        for name, child in children.items():
            turns[name].append(child.run(options.steps))
    for child in children.values():
        child.end()
    return {
        name: figures(turns[name], options.steps, per_row[PROGRAMS[name][0]]) for name in PROGRAMS
    }


def figures(turns, num_steps, examples_per_row):
    """Of a program's turns."""
    rows = num_steps * BATCH_SIZE
    seconds = [turn["cpu_seconds"] for turn in turns]
    tokens = sum(turn["tokens"] for turn in turns)
    return {
        "examples_per_row": examples_per_row,
        "examples_per_cpu_second": statistics.median(
            rows * examples_per_row / second for second in seconds
        ),
        "tokens_per_cpu_second": tokens / sum(seconds),
        "real_share": tokens / (rows * len(turns) * T),
        "real_share_of_computed": tokens / sum(turn["positions"] for turn in turns),
        "turns": turns,
    }


def main(options):
    with tempfile.TemporaryDirectory() as directory:
        found = measure(directory, options)
    print("                  examples/row  real  of computed  examples/CPU-s  tokens/CPU-s  ratio")
    for name, row in found.items():
        base = "pairs, padded" if name.startswith("pairs") else "own rows, padded"
        row["ratio"] = row["tokens_per_cpu_second"] / found[base]["tokens_per_cpu_second"]
        print(
            f"{name:18}{row['examples_per_row']:12.2f}{row['real_share']:6.0%}"
            f"{row['real_share_of_computed']:13.0%}{row['examples_per_cpu_second']:16.2f}"
            f"{row['tokens_per_cpu_second']:14.0f}{row['ratio']:7.2f}"
        )
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept[pathlib.Path(options.text or "books and articles").name] = found
    files.write_text(RESULTS, json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
