"""Speed of an earlier version and of this one, in turns in one run: data, pre-training, start-up.

    python -m benchmarks.runs.version_speed --before=CHECKOUT --input_file=TEXT \
        --vocab_file=vocab.txt

Costs are CPU seconds of whole commands. A rate is the difference between a large job and a small
one, so that start-up does not count. `start` is a pre-training of one update from records to
saved weights. TEXT has a sentence per line, some megabytes of it.
"""

import dataclasses
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpeedOptions:
    """Flags of the benchmark."""

    before: str = option(REQUIRED, "Checkout of the earlier version.")
    input_file: str = option(REQUIRED, "Text for the records, a sentence per line.")
    vocab_file: str = option(REQUIRED, "vocab.txt, uncased.")
    num_rounds: int = option(3, "Turns of each version.")
    num_steps: int = option(9, "Updates of the long pre-training; the short one has 1.")
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
    for feed, flags in (("host", []), ("static", ["--length_buckets=64,128"])):
        for num_steps in (1, options.num_steps):
            yield (
                f"{feed}, {num_steps} steps",
                ["run_pretraining.py", "--do_train", f"--input_file={folder}/{turn}/large.tfrecord"]
                + [f"--bert_config_file={folder}/config.json"]
                + [
                    f"--vocab_file={pathlib.Path(options.vocab_file).resolve()}",
                    "--num_warmup_steps=0",
                ]
                + [f"--output_dir={folder}/{turn}/{feed}_{num_steps}", *flags]
                + [f"--train_batch_size={BATCH_SIZE}", f"--num_train_steps={num_steps}"],
            )


def _report(costs: dict[str, dict[str, list[float]]], options: SpeedOptions) -> None:
    """Prints the table of medians and writes the file."""
    megabytes = (1 - SMALL_SHARE) * pathlib.Path(options.input_file).stat().st_size / 1e6
    examples = BATCH_SIZE * (options.num_steps - 1)
    figures = {
        "import bert_tf, CPU s": lambda cost: cost("import"),
        "start, CPU s": lambda cost: cost("host, 1 steps"),
        "start, static shapes, CPU s": lambda cost: cost("static, 1 steps"),
        "data, MB per CPU s": lambda cost: megabytes / (cost("data, large") - cost("data, small")),
    }
    for feed in ("host", "static"):
        figures[f"step, {feed}, examples per CPU s"] = lambda cost, feed=feed: (
            examples / (cost(f"{feed}, {options.num_steps} steps") - cost(f"{feed}, 1 steps"))
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
    results = {"options": kept, "rows": rows, "cpu_seconds": costs}
    files.write_text(str(RESULTS), json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, SpeedOptions)
