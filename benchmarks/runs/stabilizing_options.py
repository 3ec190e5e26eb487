"""What each option for small data is worth: fine-tunings of several seeds with each of them.

    python benchmarks/runs/stabilizing_options.py --init_checkpoint=bert-base-uncased \
        --data_dir=glue_data --work_dir=stabilizing

Each run is run_classifier.py in a process of its own. A run that is done is a line of results.jsonl
in --work_dir and is not made again; one that was killed goes on where it stopped. Every option is
added to the same settings, those of `plain`; a recipe replaces them by its own. Scores are those of
the last weights on the dev set, and of the best ones, which the dev set itself has picked.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent import futures

from benchmarks import child_process
from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.formatting import number
from bert_tf.tasks import registry

FOLDERS = {"cola": "CoLA", "rte": "RTE", "mrpc": "MRPC", "sts-b": "STS-B", "sst-2": "SST-2"}
OPTIONS = {
    "plain": [],
    "without bias correction": ["--adam_bias_correction=false"],
    "layer_lr_decay": ["--layer_lr_decay=0.9"],
    "reinit_layers": ["--reinit_layers=1"],
    "weight_decay_to_start": ["--weight_decay_to_start", "--weight_decay_rate=0.1"],
    "freeze_layers": ["--freeze_layers=2"],
    "early stopping": [
        "--num_train_epochs=10",
        "--early_stopping_patience=3",
    ],
    "recipe mosbach2021": ["--recipe=mosbach2021"],
    "recipe zhang2021": ["--recipe=zhang2021", "--reinit_layers=1"],
}
_ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    init_checkpoint: str = option(REQUIRED, "Weights to start from.", is_path=True)
    data_dir: str = option(REQUIRED, "Holds CoLA, RTE and so on as GLUE has them.", is_path=True)
    work_dir: str = option(REQUIRED, "For the runs and their results.", is_path=True)
    tasks: str = option("cola,rte", f"Tasks, separated by commas: {', '.join(FOLDERS)}.")
    options: str = option(",".join(OPTIONS), "Which of them, separated by commas.")
    num_seeds: int = option(5, "Fine-tunings for each option and task.")
    num_at_a_time: int = option(2, "Fine-tunings side by side, each on one thread.")
    learning_rate: float = option(5e-5, "Of the plain settings.")
    num_train_epochs: float = option(3.0, "Of the plain settings.")
    train_batch_size: int = option(32, "Of the plain settings.")
    max_train_examples: int | None = option(None, "Number of examples to train on; none: all.")
    show: bool = option(False, "Print the table of the runs that are done, and end.")
    results: str = option("benchmarks/results/stabilizing_options.json", "File to write.")


@dataclasses.dataclass(frozen=True)
class Run:
    """One fine-tuning: the task, the option and the seed."""

    task: str
    option: str
    seed: int

    @property
    def name(self):
        return f"{self.task}-{self.option.replace(' ', '-')}-{self.seed}"


def main(options):
    tasks = chosen(options.tasks, FOLDERS, "tasks")
    names = chosen(options.options, OPTIONS, "options")
    runs = [
        Run(task, name, seed)
        for seed in range(1, options.num_seeds + 1)  # first seeds first: a table early on
        for task in tasks
        for name in names
    ]
    record = Record(pathlib.Path(options.work_dir), runs)
    print(f"{len(runs)} runs, {len(runs) - len(record.todo)} of them done before.", flush=True)
    if options.show:
        show(table(record.results, tasks, names))
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    children = Children()
    with futures.ThreadPoolExecutor(options.num_at_a_time) as pool:
        made = [pool.submit(make, run, options, record, children) for run in record.todo]
        try:
            for each in futures.as_completed(made):
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.interrupt()  # they save their states
            raise
    rows = table(record.results, tasks, names)
    files.write_text(options.results, json.dumps(rows, indent=1) + "\n")
    show(rows)


def chosen(text, known, flag):
    """The names in a list separated by commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--{flag}: {unknown[0]!r} is none of: {', '.join(known)}.")
    return names


class Record:
    """The results so far, a line of results.jsonl for each run.

    Attributes:
      results: dict from `Run` to the line.
      todo: the runs without one.
    """

    def __init__(self, directory, runs):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self._path = directory, directory / "results.jsonl"
        self._lock = threading.Lock()
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        found = {line["run"]: line for line in map(json.loads, lines)}
        self.results = {run: found[run.name] for run in runs if run.name in found}
        self.todo = [run for run in runs if run not in self.results]

    def add(self, run, line):
        with self._lock:
            self.results[run] = line
            every = [*self._others(run), line]
            text = "".join(json.dumps(each) + "\n" for each in every)
            files.write_text(str(self._path), text)
            print(f"{len(self.results)}: {run.name}: {number(line['last'])}", flush=True)

    def _others(self, run):
        """Lines of other runs, those of another choice of options too."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [line for line in map(json.loads, lines) if line["run"] != run.name]


class Children:
    """The processes that run now."""

    def __init__(self):
        self._running, self._lock = set(), threading.Lock()

    def call(self, command):
        """Runs a command; returns its status and what it printed."""
        process = subprocess.Popen(
            command,
            cwd=child_process.ROOT,
            env=child_process.without_gpu() | _ONE_THREAD,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with self._lock:
            self._running.add(process)
        printed, _ = process.communicate()
        with self._lock:
            self._running.discard(process)
        return process.returncode, printed

    def interrupt(self):
        with self._lock:
            for process in self._running:
                process.send_signal(signal.SIGTERM)


def make(run, options, record, children):
    """Makes a run, keeps its result and removes its weights."""
    directory = record.directory / run.name
    start = time.monotonic()
    status, printed = children.call(command(run, options, directory))
    if status:
        raise InputError(f"{run.name} ended with {status}:\n{printed[-3000:]}")
    lines = (directory / "eval_results.txt").read_text().splitlines()
    results = {name: float(value) for name, value in (line.split(" = ") for line in lines)}
    metric = f"eval_{registry.get(run.task).main_metric}"
    line = {
        "run": run.name,
        "last": 100 * results[metric],
        "best": 100 * results[f"best_{metric}"],
        "updates": int(results["global_step"]),
        "seconds_of_last_start": time.monotonic() - start,
    }
    record.add(run, line)
    shutil.rmtree(directory)


def command(run, options, directory):
    given = OPTIONS[run.option]
    plain = {
        "learning_rate": options.learning_rate,
        "num_train_epochs": options.num_train_epochs,
        "train_batch_size": options.train_batch_size,
    }
    if any(flag.startswith("--recipe=") for flag in given):
        plain = {}
    own = {flag.split("=")[0].lstrip("-") for flag in given}
    flags = [f"--{name}={value}" for name, value in plain.items() if name not in own]
    if options.max_train_examples:
        flags.append(f"--max_train_examples={options.max_train_examples}")
    return [
        *(sys.executable, "run_classifier.py", "--do_train", "--do_eval"),
        *(f"--task_name={run.task}", f"--random_seed={run.seed}", f"--output_dir={directory}"),
        f"--data_dir={os.path.join(options.data_dir, FOLDERS[run.task])}",
        f"--init_checkpoint={options.init_checkpoint}",
        *flags,
        *given,
    ]


def table(results, tasks, names):
    """A row for each task and option, of the runs that are done."""
    rows = []
    for task in tasks:
        for name in names:
            of_row = [run for run in results if (run.task, run.option) == (task, name)]
            lines = [results[run] for run in of_row]
            if not lines:
                continue
            row = {"task": task, "option": name, "flags": OPTIONS[name], "seeds": len(lines)}
            for which in ("last", "best"):
                row[which] = spread([line[which] for line in lines])
            row["updates"] = statistics.mean(line["updates"] for line in lines)
            row["seconds"] = statistics.mean(line["seconds_of_last_start"] for line in lines)
            rows.append(row)
    return rows


def spread(values):
    return {
        "mean": statistics.mean(values),
        "standard_deviation": statistics.stdev(values) if len(values) > 1 else 0.0,
        "min": min(values),
        "max": max(values),
        "values": values,
    }


def show(rows):
    print(f"{'task':7}{'option':26}{'seeds':>6}   mean ± sd (min - max) of the last, best weights")
    for row in rows:
        cells = "   ".join(
            f"{each['mean']:5.1f} ± {each['standard_deviation']:4.1f} "
            f"({each['min']:.1f} - {each['max']:.1f})"
            for each in (row["last"], row["best"])
        )
        print(f"{row['task']:7}{row['option']:26}{row['seeds']:>6}   {cells}")


if __name__ == "__main__":
    flagging.run(main, Options)
