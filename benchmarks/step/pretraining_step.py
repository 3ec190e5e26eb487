"""The pre-training step against transformers and keras-hub, one thread each, in turns.

    python -m benchmarks.step.pretraining_step --transformers_python=... --keras_hub_python=...
        [--sizes=small,base] [--programs=host,data,jit,hf_pt,kh_graph,kh_jit] [--rounds=3]

Length 128, 20 predictions, dropout 0.1, AdamW, clipping; rows are full. Ours is the whole of
run_pretraining.py, records and logging included: batches from the host, from tf.data, and
compiled by XLA. Figures are medians of the rounds, per second of process CPU time. MFU is useful
FLOPs (`training.plan.flops`, the same for all) over the rate of a matrix product of 2048 rows
and columns, measured in the same process after each turn. Ours leaves out part of the last layer,
whose output nothing reads: the second MFU counts only what it computes.
"""

import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

from benchmarks.turns import Child
from bert_tf import files, flagging
from bert_tf.config import BertConfig
from bert_tf.flagging import REQUIRED, option
from bert_tf.training.plan import flops

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "pretraining_step.json"
T, P, V = 128, 20, 30522
SIZES = {"small": (4, 512, 32), "base": (12, 768, 8)}  # layers, H, batch size

OURS = {  # and the options that it differs in
    "host": {},
    "data": {"length_buckets": str(T), "iterations_per_loop": 1},
    "jit": {"jit_compile": True, "iterations_per_loop": 1},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    transformers_python: str = option(REQUIRED, "Interpreter with torch and transformers.")
    keras_hub_python: str = option(REQUIRED, "Interpreter with tensorflow and keras-hub.")
    vocab_file: str = option("../shared/data/vocab/uncased/vocab.txt", "Of 30,522 tokens.")
    sizes: str = option("small,base", "What to measure.")
    programs: str = option("host,data,jit,hf_pt,kh_graph,kh_jit", "Whose steps.")
    rounds: int = option(3, "Turns of each.")
    steps: int = option(2, "Steps of a turn.")


def write_records(path, num_rows):
    """Full rows of random ids, as TFRecords."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(3)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for _ in range(num_rows):
            positions = np.sort(rng.choice(np.arange(1, T - 1), P, replace=False))
            values = {
                "input_ids": rng.integers(5, V, T),
                "input_mask": np.ones(T, int),
                "segment_ids": np.arange(T) // (T // 2),
                "masked_lm_positions": positions,
                "masked_lm_ids": rng.integers(5, V, P),
                "next_sentence_labels": rng.integers(0, 2, 1),
            }
            features = {
                name: tf.train.Feature(int64_list=tf.train.Int64List(value=value))
                for name, value in values.items()
            }
            features["masked_lm_weights"] = tf.train.Feature(
                float_list=tf.train.FloatList(value=np.ones(P))
            )
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def config(num_layers, hidden_size):
    return BertConfig(
        vocab_size=V,
        hidden_size=hidden_size,
        num_hidden_layers=num_layers,
        num_attention_heads=hidden_size // 64,
        intermediate_size=4 * hidden_size,
    )


def ours(directory, bert_config, batch_size, **changes):
    """`Child` of run_pretraining.py; its model directory is a new one in `directory`."""
    config_file = pathlib.Path(directory) / f"{bert_config.hidden_size}.json"
    config_file.write_text(json.dumps(dataclasses.asdict(bert_config)))
    options = {
        "output_dir": tempfile.mkdtemp(dir=directory),
        "bert_config_file": str(config_file),
        "train_batch_size": batch_size,
        "save_checkpoints_steps": 10**6,
    }
    options = json.dumps(options | changes)
    return Child(sys.executable, ["-m", "benchmarks.step.pretraining_ours", options])


def start(program, size, directory, options):
    """The `Child` of a program, its first step done."""
    num_layers, hidden_size, batch_size = SIZES[size]
    if program in OURS:
        return ours(
            directory,
            config(num_layers, hidden_size),
            batch_size,
            input_file=f"{directory}/full.tfrecord",
            vocab_file=options.vocab_file,
            **OURS[program],
        )
    sizes = {"num_layers": num_layers, "H": hidden_size, "batch_size": batch_size}
    sizes |= {"peer": program, "T": T, "P": P, "V": V}
    is_torch = program == "hf_pt"
    python = options.transformers_python if is_torch else options.keras_hub_python
    return Child(python, ["-m", "benchmarks.step.pretraining_peers", json.dumps(sizes)])


def measure(size, directory, options):
    """Dict from program to its figures."""
    programs = options.programs.split(",")
    children = {name: start(name, size, directory, options) for name in programs}
    turns = {name: [] for name in programs}
    for child in children.values():
        child.run(options.steps)  # warms up
    for _ in range(options.rounds):
        for name, child in children.items():
            turn = child.run(options.steps)
            turns[name].append(turn | {"gemm": child.gemm_rate()})
    for child in children.values():
        child.end()
    return {
        name: figures(name, size, turns[name], options.steps, children[name].first)
        for name in programs
    }


def figures(program, size, turns, num_steps, first):
    """Of a program's turns."""
    num_layers, hidden_size, batch_size = SIZES[size]
    amount = flops.Amount.padded(batch_size, T, P)
    useful = sum(flops.training(config(num_layers, hidden_size), amount).values())
    left_out = 3 * flops.skipped(config(num_layers, hidden_size), amount)
    seconds = statistics.median(turn["cpu_seconds"] for turn in turns) / num_steps
    mfu = statistics.median(
        useful * num_steps / turn["cpu_seconds"] / turn["gemm"] for turn in turns
    )
    computed = mfu * (1 - left_out / useful) if program in OURS else mfu
    return {
        "cpu_seconds": seconds,
        "examples_per_cpu_second": batch_size / seconds,
        "gemm_gflops": statistics.median(turn["gemm"] for turn in turns) / 1e9,
        "mfu": mfu,
        "mfu_of_computed": computed,
        "first_step_cpu_seconds": first["cpu_seconds"],
        "peak_mb": max(turn["peak_mb"] for turn in turns),
        "turns": turns,
    }


def main(options):
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as directory:
        write_records(f"{directory}/full.tfrecord", 512)
        for size in options.sizes.split(","):
            found = measure(size, directory, options)
            kept[f"{size}: {options.programs}"] = found  # those that took turns
            print_table(size, found)
    files.write_text(RESULTS, json.dumps(kept, indent=1) + "\n")


def print_table(size, found):
    num_layers, hidden_size, batch_size = SIZES[size]
    print(f"{size}: L{num_layers} H{hidden_size}, {batch_size} rows of {T}, {P} predictions")
    print("          CPU s/step  examples/CPU-s  GEMM GFLOP/s    MFU  computed  first s  peak MB")
    for name, row in found.items():
        print(
            f"{name:10}{row['cpu_seconds']:10.3f}{row['examples_per_cpu_second']:16.2f}"
            f"{row['gemm_gflops']:14.0f}{row['mfu']:7.0%}{row['mfu_of_computed']:10.0%}"
            f"{row['first_step_cpu_seconds']:9.1f}{row['peak_mb']:9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    flagging.run(main, Options)
