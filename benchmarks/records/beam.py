"""What Apache Beam costs on one machine: the builder and the pipeline on the same text, in turns.

python -m benchmarks.records.beam --text_file=FILE --vocab_file=FILE [--work_dir=DIR]

Run it with an interpreter that has requirements-beam.txt. Cost is marginal: the difference of two
sizes of text, so that start-up, which is said apart, does not count. CPU seconds are those of a
process and all of its children; memory is the peak of the largest process. The records of all
contenders must be equal.
"""

import dataclasses
import json
import os
import pathlib
import sys
import tempfile

from benchmarks import child_process
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "beam.json"
BUILDER = ["create_pretraining_data.py"]
PIPELINE = ["-m", "bert_tf.records.beam", "--runner=FnApiRunner"]
TWO_PROCESSES = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
CONTENDERS = {
    "builder, 1 process": [*BUILDER, "--num_workers=1"],
    "Beam, 1 process": PIPELINE,
    "builder, 2 processes": [*BUILDER, "--num_workers=2"],
    "Beam, 2 processes": [*PIPELINE, *TWO_PROCESSES],
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    text_file: str = option(REQUIRED, "Text, one sentence a line; its first megabytes are taken.")
    vocab_file: str = option(REQUIRED, "vocab.txt, uncased.")
    work_dir: str | None = option(None, "For texts and records; none: a temporary directory.")
    small_mb: int = option(5, "Size of the smaller text.")
    large_mb: int = option(55, "Size of the larger text.")
    dupe_factor: int = option(5, "Passes over the text.")
    num_rounds: int = option(2, "Turns of each contender; the fastest counts.")


def head(text_file, megabytes, path):
    """Copies the first megabytes up to the end of a document."""
    with open(text_file, "rb") as file:
        data = file.read(megabytes * 10**6)
    path.write_bytes(data[: data.rindex(b"\n\n") + 2])
    return path


def measure(arguments):
    """Runs a process; returns dict of wall and CPU seconds and peak MB."""
    cost = child_process.run([sys.executable, *arguments])
    return {
        "wall_seconds": cost.wall_seconds,
        "cpu_seconds": cost.cpu_seconds,
        "peak_mb": cost.peak_kib / 1000,
    }


def marginal(small, large, megabytes):
    """What is between two sizes, and what would be left at size 0."""
    cost = {
        f"{name}_seconds_per_100_mb": 100
        * (large[f"{name}_seconds"] - small[f"{name}_seconds"])
        / (megabytes["large"] - megabytes["small"])
        for name in ("wall", "cpu")
    }
    for name in ("wall", "cpu"):
        rate = cost[f"{name}_seconds_per_100_mb"] / 100
        cost[f"{name}_seconds_at_start"] = small[f"{name}_seconds"] - rate * megabytes["small"]
    return {name: round(value, 2) for name, value in cost.items()}


def run_contenders(run_options, texts, work):
    """Dict from (contender, size) to the best of all rounds."""
    best, manifests = {}, {}
    for _ in range(run_options.num_rounds):
        for size, text in texts.items():
            for name, arguments in CONTENDERS.items():
                output = work / size / name.replace(", ", "-").replace(" ", "-")
                found = measure(
                    [*arguments, f"--input_file={text}", f"--output_file={output}/records@2"]
                    + [f"--vocab_file={run_options.vocab_file}"]
                    + [f"--dupe_factor={run_options.dupe_factor}"]
                )
                known = best.setdefault((name, size), found)
                best[name, size] = {key: min(known[key], found[key]) for key in known}
                manifest = (output / "manifest.json").read_text()  # hashes of the records in it
                if manifests.setdefault(size, manifest) != manifest:
                    raise RuntimeError(f"{name} made other records than the builder.")
    return best


def run(run_options, work):
    texts = {
        size: head(run_options.text_file, getattr(run_options, f"{size}_mb"), work / f"{size}.txt")
        for size in ("small", "large")
    }
    megabytes = {size: path.stat().st_size / 1e6 for size, path in texts.items()}
    best = run_contenders(run_options, texts, work)
    results = {
        "text_mb": megabytes,
        "dupe_factor": run_options.dupe_factor,
        "cores": len(os.sched_getaffinity(0)),
        "contenders": {},
    }
    print(f"{'':22}{'CPU s/100 MB':>14}{'wall s/100 MB':>15}{'CPU s at start':>16}{'peak MB':>9}")
    for name in CONTENDERS:
        row = marginal(best[name, "small"], best[name, "large"], megabytes)
        results["contenders"][name] = row | {"peak_mb": round(best[name, "large"]["peak_mb"])}
        cpu, wall = row["cpu_seconds_per_100_mb"], row["wall_seconds_per_100_mb"]
        start, peak = row["cpu_seconds_at_start"], best[name, "large"]["peak_mb"]
        print(f"{name:22}{cpu:14.1f}{wall:15.1f}{start:16.1f}{peak:9.0f}")
    files.write_text(RESULTS, json.dumps(results, indent=1) + "\n")


def main(run_options):
    with tempfile.TemporaryDirectory(dir=run_options.work_dir) as directory:
        run(run_options, pathlib.Path(directory))


if __name__ == "__main__":
    flagging.run(main, Options)
