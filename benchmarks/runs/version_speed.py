"""Speed of an earlier version and of this one, in turns in one run: data, pre-training, start-up.

    python -m benchmarks.runs.version_speed --before=CHECKOUT --input_file=TEXT \
        --vocab_file=vocab.txt

Start-up and data are CPU seconds of whole commands; the rate of data is the difference between a
large job and a small one. `start` is a pre-training of one update from records to saved weights.
Updates are timed on one thread: the median of the seconds between lines of metrics.jsonl, which
needs a machine that does nothing else. TEXT has a sentence per line, some megabytes of it.
"""

import dataclasses
import itertools
import json
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Iterator

from benchmarks import child_process
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "version_speed.json"
BATCH_SIZE, SMALL_SHARE = 32, 0.1
FEEDS = {"host": [], "static": ["--length_buckets=64,128"]}
_NUM_UPDATES_BEFORE = 3  # the first updates trace and fill queues
_ONE_THREAD = ("TF_NUM_INTRAOP_THREADS=1", "TF_NUM_INTEROP_THREADS=1")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpeedOptions:
    """Flags of the benchmark."""

    before: str = option(REQUIRED, "Checkout of the earlier version.")
    input_file: str = option(REQUIRED, "Text for the records, a sentence per line.")
    vocab_file: str = option(REQUIRED, "vocab.txt, uncased.")
    num_rounds: int = option(3, "Turns of each version.")
    num_steps: int = option(63, "Updates of the runs that are timed.")
    hidden_size: int = option(512, "H of the four-layer model that is pre-trained.")


def main(options: SpeedOptions) -> None:
    versions = {"before": pathlib.Path(options.before).resolve(), "after": ROOT}
    costs: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        inputs = _write_inputs(pathlib.Path(folder), options)
        for turn in range(options.num_rounds):
            for name, checkout in versions.items():
                for job, command in _jobs(inputs, options, f"{name}_{turn}"):
                    cost = child_process.run([sys.executable, *command], cwd=checkout)
                    costs.setdefault(job, {}).setdefault(name, []).append(cost.cpu_seconds)
                    print(f"  {turn} {name:7}{job:18}{cost.cpu_seconds:8.2f} CPU s", flush=True)
        for turn, feed, name in itertools.product(range(options.num_rounds), FEEDS, versions):
            seconds = _update_seconds(versions[name], inputs, options, feed, f"{name}_{turn}")
            costs.setdefault(f"update, {feed}", {}).setdefault(name, []).append(seconds)
            print(f"  {turn} {name:7}update, {feed:10}{seconds:8.3f} s", flush=True)
    _report(costs, options)


def _write_inputs(folder: pathlib.Path, options: SpeedOptions) -> pathlib.Path:
    """Writes a large and a small text, and the configuration of the model."""
    text = pathlib.Path(options.input_file).read_bytes()
    (folder / "large.txt").write_bytes(text)
    (folder / "small.txt").write_bytes(text[: int(SMALL_SHARE * len(text))])
    config = {
        "vocab_size": len(pathlib.Path(options.vocab_file).read_text().splitlines()),
        "hidden_size": options.hidden_size,
        "num_hidden_layers": 4,
        "num_attention_heads": options.hidden_size // 64,
        "intermediate_size": 4 * options.hidden_size,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _jobs(
    folder: pathlib.Path, options: SpeedOptions, turn: str
) -> Iterator[tuple[str, list[str]]]:
    """Yields (name, arguments of Python) of each command, in the order in which they run."""
    yield "import", ["-c", "import bert_tf"]
    for size in ("small", "large"):
        yield (
            f"data, {size}",
            ["create_pretraining_data.py", f"--input_file={folder}/{size}.txt"]
            + [f"--output_file={folder}/{turn}/{size}.tfrecord"]
            + [f"--vocab_file={pathlib.Path(options.vocab_file).resolve()}"]
            + ["--dupe_factor=1", "--num_workers=1"],
        )
    for feed in FEEDS:
        yield f"start, {feed}", _pretraining(folder, options, feed, turn, num_steps=1)


def _pretraining(
    folder: pathlib.Path, options: SpeedOptions, feed: str, turn: str, num_steps: int
) -> list[str]:
    """The arguments of Python for a pre-training on the records of a turn."""
    return [
        *("run_pretraining.py", "--do_train", "--num_warmup_steps=0", "--log_steps=1"),
        f"--input_file={folder}/{turn}/large.tfrecord",
        f"--bert_config_file={folder}/config.json",
        f"--vocab_file={pathlib.Path(options.vocab_file).resolve()}",
        f"--output_dir={folder}/{turn}/{feed}_{num_steps}",
        f"--train_batch_size={BATCH_SIZE}",
        f"--num_train_steps={num_steps}",
        *FEEDS[feed],
    ]


def _update_seconds(
    checkout: pathlib.Path, folder: pathlib.Path, options: SpeedOptions, feed: str, turn: str
) -> float:
    """Trains for a while on one thread; returns the median seconds of an update."""
    arguments = _pretraining(folder, options, feed, turn, options.num_steps)
    child_process.run(["env", *_ONE_THREAD, sys.executable, *arguments], cwd=checkout)
    metrics = folder / turn / f"{feed}_{options.num_steps}" / "metrics.jsonl"
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    times = [line["time"] for line in lines if "loss" in line][_NUM_UPDATES_BEFORE:]
    return statistics.median(after - before for before, after in itertools.pairwise(times))


def _report(costs: dict[str, dict[str, list[float]]], options: SpeedOptions) -> None:
    """Prints the table of medians and writes the file."""
    megabytes = (1 - SMALL_SHARE) * pathlib.Path(options.input_file).stat().st_size / 1e6
    figures = {
        "import bert_tf, CPU s": lambda cost: cost("import"),
        "start, CPU s": lambda cost: cost("start, host"),
        "start, static shapes, CPU s": lambda cost: cost("start, static"),
        "data, MB per CPU s": lambda cost: megabytes / (cost("data, large") - cost("data, small")),
    }
    for feed in FEEDS:
        figures[f"step, {feed}, examples per s"] = lambda cost, feed=feed: (
            BATCH_SIZE / cost(f"update, {feed}")
        )
    rows = []
    print(f"{'':36}{'before':>9}{'after':>9}{'ratio':>8}")
    for name, figure in figures.items():
        before, after = (
            figure(lambda job, version=version: statistics.median(costs[job][version]))
            for version in ("before", "after")
        )
        rows.append({"what": name, "before": before, "after": after, "ratio": after / before})
        print(f"{name:36}{before:9.3g}{after:9.3g}{after / before:8.2f}")
    values = dataclasses.asdict(options)
    kept = {name: values[name] for name in ("num_rounds", "num_steps", "hidden_size")}
    results = {"options": kept, "rows": rows, "seconds": costs}
    files.write_text(str(RESULTS), json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, SpeedOptions)
