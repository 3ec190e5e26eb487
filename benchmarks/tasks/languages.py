"""Scores of languages that training has not seen: XNLI or PAWS-X, fine-tuned on English.

    python -m benchmarks.tasks.languages --init_checkpoint=bert-base-multilingual-cased \
        --do_lower_case=false --data_dir=XNLI --work_dir=languages

XNLI has the files that docs/tasks.md names. --hold_out is for one without a training file, in
XTREME's layout (dev-en.tsv, dev-de.tsv, ...): some sentences of dev-en.tsv are trained on, and
every language is scored on the others alone, because its rows are translations of the English ones.

Each run is run_classifier.py on one thread. Scores are those of the last weights; the seconds of a
training are the CPU time of its process less that of one with a single update.
"""

import dataclasses
import gzip
import json
import pathlib
import random
import re
import statistics

from benchmarks.tasks import fine_tunings
from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.formatting import number

ROOT = pathlib.Path(__file__).parents[2]
ENGLISH = "en"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    init_checkpoint: str = option(REQUIRED, "Weights to start from.", is_path=True)
    data_dir: str = option(REQUIRED, "Files of the task.", is_path=True)
    work_dir: str = option(REQUIRED, "For the data, the runs and their results.", is_path=True)
    task_name: str = option("xnli", "The task.", choices=("xnli", "paws-x"))
    do_lower_case: bool = option(True, "Lower-case and strip accents.")
    hold_out: bool = option(False, "Train on a part of dev-en.tsv, score on the rest.")
    num_dev: int = option(600, "Rows of each language to score, with --hold_out.")
    max_train_examples: int | None = option(None, "Number of examples to train on; none: all.")
    num_seeds: int = option(3, "Fine-tunings.")
    num_train_epochs: int = option(3, "Passes over the training set.")
    learning_rate: float = option(5e-5, "Peak.")
    train_batch_size: int = option(32, "Examples per update.")
    results: str = option(
        str(ROOT / "benchmarks/results/languages.json"), "File to write.", is_path=True
    )


def main(options):
    record = fine_tunings.Record(options.work_dir)
    data_dir, sizes = options.data_dir, {}
    if options.hold_out:
        data_dir = record.directory / "data"
        sizes = write_data(pathlib.Path(options.data_dir), data_dir, options.num_dev)
    start = fine_tuned(1, data_dir, options, record, num_updates=1)
    lines = []
    for seed in range(1, options.num_seeds + 1):
        lines.append(fine_tuned(seed, data_dir, options, record))
        summary = summarized(lines, start, options) | {"rows": sizes}
        files.write_text(options.results, json.dumps(summary, indent=2) + "\n")
    show(summary)


def read(folder):
    """Dict from language to the lines of its dev file, English first."""
    found = {}
    for path in sorted(folder.glob("dev-*.tsv*")):
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        language = path.name.removeprefix("dev-").split(".")[0]
        found[language] = content.decode("utf-8").rstrip("\n").split("\n")
    if ENGLISH not in found:
        raise InputError(f"--data_dir={folder} has no dev-en.tsv, which --hold_out takes apart.")
    lengths = {language: len(lines) for language, lines in found.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"--hold_out needs files with the same rows, but they have {lengths}.")
    return {ENGLISH: found.pop(ENGLISH)} | found


def write_data(source, folder, num_dev):
    """Writes the training file and the parts to score; number of rows of each.

    Pairs that share a first sentence, which XNLI has three of, stay together.
    """
    lines = read(source)
    first = [line.split("\t")[0] for line in lines[ENGLISH]]
    sentences = sorted(set(first))
    random.Random(0).shuffle(sentences)
    scored = set()
    for sentence in sentences:
        if sum(each in scored for each in first) >= num_dev:
            break
        scored.add(sentence)
    folder.mkdir(exist_ok=True)
    for language, rows in lines.items():
        kept = [row for row, sentence in zip(rows, first, strict=True) if sentence in scored]
        files.write_text(str(folder / f"dev-{language}.tsv"), "\n".join(kept) + "\n")
    train = [row for row, each in zip(lines[ENGLISH], first, strict=True) if each not in scored]
    files.write_text(str(folder / "train-en.tsv"), "\n".join(train) + "\n")
    return {"train": len(train), "dev of each language": len(kept)}


def fine_tuned(seed, data_dir, options, record, num_updates=None):
    """The line of a run; of `num_updates`, if that is not None."""
    names = ("task_name", "do_lower_case", "max_train_examples", "num_train_epochs")
    names += ("learning_rate", "train_batch_size")
    flags = {name: getattr(options, name) for name in names}
    if num_updates:
        num_rows = num_updates * options.train_batch_size
        flags |= {"num_train_epochs": 1, "max_train_examples": num_rows}
    key = {"seed": seed, "hold_out": options.hold_out, "num_dev": options.num_dev} | flags
    flags = {name: value for name, value in flags.items() if value is not None}
    flags |= {"random_seed": seed, "data_dir": data_dir}
    flags["init_checkpoint"] = options.init_checkpoint
    return record.line(key, lambda folder: fine_tunings.run_classifier(folder, flags))


def summarized(lines, start, options):
    """Settings, the score of each language, and seconds."""
    scores = {}
    for line in lines:
        for name, value in line.items():
            if found := re.fullmatch("eval_accuracy(?:_(.+))?", name):
                scores.setdefault(found[1] or ENGLISH, []).append(round(100 * value, 2))
    others = [statistics.mean(values) for language, values in scores.items() if language != ENGLISH]
    names = ("task_name", "do_lower_case", "hold_out", "max_train_examples", "num_train_epochs")
    names += ("learning_rate", "train_batch_size")
    return {
        "settings": {name: getattr(options, name) for name in names},
        "init_checkpoint": "/".join(pathlib.Path(options.init_checkpoint).parts[-2:]),
        "accuracy_percent": {
            language: fine_tunings.spread(values) for language, values in scores.items()
        },
        "mean_of_other_languages": statistics.mean(others) if others else None,
        "training_cpu_seconds": [
            round(line["cpu_seconds"] - start["cpu_seconds"]) for line in lines
        ],
        "process_cpu_seconds": [line["cpu_seconds"] for line in lines],
    }


def show(summary):
    print("language  accuracy in percent (seeds)")
    for language, found in summary["accuracy_percent"].items():
        print(f"{language:10}{fine_tunings.shown(found)}")
    if summary["mean_of_other_languages"] is not None:
        print(f"{'others':10}{number(summary['mean_of_other_languages'], 3)}")
    print(f"Training: {summary['training_cpu_seconds']} CPU s")


if __name__ == "__main__":
    flagging.run(main, Options)
