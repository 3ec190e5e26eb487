"""What objectives of pre-training are worth at the same compute (paper, section 5.1).

    python -m benchmarks.runs.pretraining_objectives --runs=out/mlm_nsp,out/mlm,out/ltr \
        --data_dir=../shared/data/glue

Each run is a model directory of run_pretraining.py; its name in the table is its `--objective`.
Their own held-out losses cannot be compared with each other: a masked LM guesses a word from both
sides, a left-to-right model from one, and it guesses more words. So each is fine-tuned by
run_classifier.py on the same tasks with the same settings, and so is a model of the same sizes with
random weights; scores are those on the dev set, for several seeds. Draws the curves of the runs too
(matplotlib, requirements-benchmarks.txt).
"""

import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from concurrent import futures

import matplotlib

from bert_tf import config as config_lib
from bert_tf import files, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.flagging import REQUIRED, option
from bert_tf.training.monitoring import history
from bert_tf.training.plan import flops
from bert_tf.training.step import objectives

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  after the choice of a backend without a screen

ROOT = pathlib.Path(__file__).parents[2]
RANDOM = "random weights"
_WINDOW = 25  # points in the running mean


@dataclasses.dataclass(frozen=True)
class Task:
    """A task of `bert_tf.tasks.registry`, its folder and settings."""

    name: str
    folder: str
    metric: str
    num_epochs: int
    max_train_examples: int | None = None


TASKS = (
    Task("sst-2", "SST-2", "eval_accuracy", 2, 20_000),
    Task("mrpc", "MRPC", "eval_accuracy", 3),
    Task("qnli", "QNLI", "eval_accuracy", 3),
    Task("sts-b", "STS-B", "eval_spearman", 3),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    runs: str = option(REQUIRED, "Model directories of run_pretraining.py, separated by commas.")
    data_dir: str = option(REQUIRED, "Holds SST-2, MRPC, QNLI and STS-B as GLUE has them.")
    num_seeds: int = option(3, "Fine-tunings of each model on each task.")
    num_at_a_time: int = option(2, "Fine-tunings beside each other, on one thread each.")
    learning_rate: float = option(5e-4, "Of fine-tuning; small models want larger ones.")
    results: str = option("benchmarks/results/pretraining_objectives.json", "File to write.")
    picture: str = option("docs/pretraining.png", "File to draw the curves to.")


def main(options):
    runs = [pathlib.Path(path) for path in options.runs.split(",")]
    draw(runs, options.picture)
    rows = [describe(run) for run in runs]
    rows.append({"objective": RANDOM})
    with futures.ThreadPoolExecutor(options.num_at_a_time) as pool:
        scores = {
            (number, task.name): [
                pool.submit(fine_tuned, run, runs[0], task, seed, options)
                for seed in range(options.num_seeds)
            ]
            for number, run in enumerate([*runs, None])
            for task in TASKS
        }
        for (number, name), each in scores.items():
            rows[number][name] = [score.result() for score in each]
            print(rows[number]["objective"], name, rows[number][name], flush=True)
    files.write_text(options.results, json.dumps(rows, indent=1) + "\n")
    print_table(rows)


def describe(run):
    """What a run was, what it cost and its own held-out metrics."""
    flags = dict(
        line.lstrip("-").split("=", 1)
        for line in (run / "flags.txt").read_text().splitlines()
        if "=" in line
    )
    objective = objectives.PRETRAINING[flags["objective"]]
    found = history.read(run / history.NAME)
    config = config_lib.from_file(run / "bert_config.json")
    held_out = found.evaluations()[found.last_step]
    phases = flags["phases"].split(",")
    return {
        "objective": flags["objective"],
        "phases": flags["phases"],
        "hours": found.seconds / 3600,
        "teraflops": sum(phase_flops(phase, config, objective) for phase in phases) / 1e12,
    } | {f"held_out_{name}": value for name, value in held_out.items()}


def phase_flops(phase, config, objective):
    """Model FLOPs of LENGTH:STEPS:BATCH."""
    length, num_steps, batch_size = (int(part) for part in phase.split(":")[:3])
    num_predictions = length if objective.is_causal else round(0.15 * length)
    per_token = flops.per_token(
        config, length, num_predictions, has_next_sentence=objective.has_pair
    )
    return per_token * length * batch_size * num_steps


def fine_tuned(run, sizes_of, task, seed, options):
    """The dev score of one fine-tuning, in percent.

    Args:
      run: model directory to start from, or None: random weights.
      sizes_of: model directory whose configuration and vocabulary are taken then.
    """
    source = sizes_of if run is None else run
    directory = model_directory.ModelDirectory.open(os.fspath(source))
    with tempfile.TemporaryDirectory() as output:
        command = [
            sys.executable,
            "run_classifier.py",
            "--do_train",
            "--do_eval",
            f"--task_name={task.name}",
            f"--data_dir={os.path.join(options.data_dir, task.folder)}",
            f"--bert_config_file={source / 'bert_config.json'}",
            f"--vocab_file={directory.vocab_file}",
            f"--do_lower_case={directory.metadata.do_lower_case}",
            f"--output_dir={output}/run",
            f"--learning_rate={options.learning_rate}",
            f"--num_train_epochs={task.num_epochs}",
            f"--random_seed={seed}",
        ]
        if run is not None:
            command.append(f"--init_checkpoint={run}")
        if task.max_train_examples:
            command.append(f"--max_train_examples={task.max_train_examples}")
        one_thread = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
        ended = subprocess.run(
            command, cwd=ROOT, env=os.environ | one_thread, capture_output=True, text=True
        )
        if ended.returncode:
            sys.exit(f"{' '.join(command)}\n{ended.stdout}{ended.stderr}")
        lines = pathlib.Path(output, "run", "eval_results.txt").read_text().splitlines()
    results = dict(line.split(" = ") for line in lines)
    return 100 * float(results[task.metric])


def print_table(rows):
    print(f"{'':16}" + "".join(f"{task.name:>16}" for task in TASKS))
    for row in rows:
        cells = (
            f"{statistics.mean(row[task.name]):.1f} ({min(row[task.name]):.1f}-"
            f"{max(row[task.name]):.1f})"
            for task in TASKS
        )
        print(f"{row['objective']:16}" + "".join(f"{cell:>18}" for cell in cells))


def draw(runs, picture):
    """Curves of the runs: loss of the words and accuracy, over the share of the compute."""
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4))
    for run in runs:
        found = history.read(run / history.NAME)
        for panel, ending in zip(panels, ("_loss", "_accuracy"), strict=True):
            for name in found.names():
                if not name.endswith(ending):
                    continue
                steps, values = found.series(name)
                share = [100 * step / found.last_step for step in steps]
                shown = name.removesuffix(ending).replace("_", " ")
                panel.plot(share, running_mean(values), label=f"{run.name}: {shown}")
    for panel, label in zip(panels, ("loss (nats)", "accuracy"), strict=True):
        panel.set_xlabel("compute (%)")
        panel.set_ylabel(label)
        panel.legend(fontsize="small")
    figure.tight_layout()
    with files.replacing(picture) as temporary:
        figure.savefig(temporary, format="png", dpi=110)


def running_mean(values):
    """list of float: the mean of each value and those up to `_WINDOW` before it."""
    return [
        statistics.fmean(values[max(0, end - _WINDOW) : end]) for end in range(1, len(values) + 1)
    ]


if __name__ == "__main__":
    flagging.run(main, Options)
