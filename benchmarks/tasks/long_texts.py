"""Long texts: windows whose logits are pooled, by mean and by maximum, against truncation.

    python -m benchmarks.tasks.long_texts --init_checkpoint=bert-base-uncased --books=BOOKS \
        --work_dir=long_texts

The question: which of six authors wrote a passage? BOOKS holds novels of Project Gutenberg as
AUTHOR-TITLE.txt, or .txt.gz, with the names of `BOOKS_TO_SCORE` and others of the same authors.
Passages to train on and passages to score never come from the same book. Quotes, dashes and marks
of italics, which tell editions apart, are made the same; the front matter of a book is left out.

Each run is run_classifier.py on one thread. Scores are those of the last weights; seconds are the
CPU time of the whole process.
"""

import dataclasses
import gzip
import json
import pathlib
import random
import re

from benchmarks.tasks import fine_tunings
from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
# By author. None shares a hero with another book of its author, whose name would give it away.
BOOKS_TO_SCORE = {
    "austen": "sense",
    "dickens": "two_cities",
    "eliot": "mill_floss",
    "stevenson": "jekyll",
    "twain": "innocents",
    "wells": "time_machine",
}
FRONT_MATTER, BACK_MATTER = 1500, 300  # words
TASK_FILE = """\
kind = "classify"
train = "train.jsonl"
dev = "dev.jsonl"
text = "text"
label = "author"
"""
SAME_MARKS = {"“": '"', "”": '"', "‘": "'", "’": "'", "—": " - ", "--": " - ", "_": "", "*": ""}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    init_checkpoint: str = option(REQUIRED, "Weights to start from.", is_path=True)
    books: str = option(REQUIRED, "Folder of the books.", is_path=True)
    work_dir: str = option(REQUIRED, "For the data, the runs and their results.", is_path=True)
    cases: str = option("", "Which of the cases, separated by commas; none: all.")
    passage_words: int = option(500, "Words of a passage.")
    num_train: int = option(30, "Passages of each author to train on.")
    num_dev: int = option(25, "Passages of each author to score.")
    num_seeds: int = option(3, "Fine-tunings of each case.")
    num_train_epochs: int = option(3, "Passes over the training set.")
    learning_rate: float = option(1e-4, "Peak.")
    train_batch_size: int = option(8, "Passages per update.")
    window: int = option(128, "Tokens of a window, and of a passage that is cut off.")
    max_windows: int = option(8, "Of a passage.")
    results: str = option(
        str(ROOT / "benchmarks/results/long_texts.json"), "File to write.", is_path=True
    )


def main(options):
    record = fine_tunings.Record(options.work_dir)
    cases = chosen(options)
    sizes = write_data(options, record.directory / "data")
    lines = {case: [] for case in cases}
    for seed in range(1, options.num_seeds + 1):  # first seeds first: a table early on
        for case, flags in cases.items():
            lines[case].append(fine_tuned(case, flags, seed, options, record))
        summary = summarized(lines, cases, sizes, options)
        files.write_text(options.results, json.dumps(summary, indent=2) + "\n")
    print(f"{'case':20}accuracy in percent (seeds)")
    for case, row in summary["cases"].items():
        print(f"{case:20}{fine_tunings.shown(row['accuracy_percent'])}")


def chosen(options):
    """Dict from the case to its flags."""
    windows = {"max_seq_length": options.window, "long_texts": "windows"}
    # Windows without overlap: as few as read the whole passage.
    windows |= {"max_windows": options.max_windows, "window_stride": options.window - 2}
    cases = {
        f"first {options.window}": {"max_seq_length": options.window},
        "windows mean": windows | {"window_pooling": "mean"},
        "windows max": windows | {"window_pooling": "max"},
        "first 512": {"max_seq_length": 512},
    }
    names = [name.strip() for name in options.cases.split(",") if name.strip()] or list(cases)
    if unknown := [name for name in names if name not in cases]:
        raise InputError(f"--cases: {unknown[0]!r} is none of: {', '.join(cases)}.")
    return {name: cases[name] for name in names}


def words(path):
    """The words of a book, its first and last ones aside."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    text = re.sub(r"\[[^\]]*\]", " ", text)  # notes and captions of this edition
    for mark, same in SAME_MARKS.items():
        text = text.replace(mark, same)
    return text.split()[FRONT_MATTER:-BACK_MATTER]


def passages(paths, count, num_words):
    """Some passages of these books, without overlap."""
    found = []
    for path in paths:
        book = words(path)
        starts = range(0, len(book) - num_words + 1, num_words)
        found += [" ".join(book[start : start + num_words]) for start in starts]
    if len(found) < count:
        names = ", ".join(path.name for path in paths) or "no book"
        raise InputError(
            f"{count} passages of {num_words} words are wanted, and {names} has {len(found)}. "
            "Give a smaller --passage_words, --num_train or --num_dev, or more books."
        )
    return random.Random(0).sample(found, count)


def write_data(options, folder):
    """Writes the parts and the task file; number of passages of each."""
    folder.mkdir(exist_ok=True)
    rows = {"train": [], "dev": []}
    for author, title in BOOKS_TO_SCORE.items():
        books = sorted(pathlib.Path(options.books).glob(f"{author}-*.txt*"))
        to_score = [path for path in books if path.name.split(".")[0] == f"{author}-{title}"]
        to_train = [path for path in books if path not in to_score]
        for part, paths, count in (
            ("train", to_train, options.num_train),
            ("dev", to_score, options.num_dev),
        ):
            found = passages(paths, count, options.passage_words)
            rows[part] += [{"text": passage, "author": author} for passage in found]
    for part, each in rows.items():
        fine_tunings.write_json_lines(folder / f"{part}.jsonl", each)
    files.write_text(str(folder / "task.toml"), TASK_FILE)
    return {part: len(each) for part, each in rows.items()}


def fine_tuned(case, flags, seed, options, record):
    """The line of a run."""
    names = ("num_train_epochs", "learning_rate", "train_batch_size")
    flags = flags | {name: getattr(options, name) for name in names}
    names = ("passage_words", "num_train", "num_dev")
    sizes = {name: getattr(options, name) for name in names}
    key = {"case": case, "seed": seed} | sizes | flags
    flags |= {"random_seed": seed, "task_file": record.directory / "data/task.toml"}
    flags["init_checkpoint"] = options.init_checkpoint
    return record.line(key, lambda folder: fine_tunings.run_classifier(folder, flags))


def summarized(lines, cases, sizes, options):
    names = ("passage_words", "num_train_epochs", "learning_rate", "train_batch_size")
    return {
        "settings": {name: getattr(options, name) for name in names},
        "init_checkpoint": "/".join(pathlib.Path(options.init_checkpoint).parts[-2:]),
        "passages": sizes | {"share_of_each_author": 1 / len(BOOKS_TO_SCORE)},
        "cases": {
            case: {
                "flags": cases[case],
                "accuracy_percent": fine_tunings.spread(
                    [round(100 * line["eval_accuracy"], 2) for line in each]
                ),
                "process_cpu_seconds": [line["cpu_seconds"] for line in each],
            }
            for case, each in lines.items()
        },
    }


if __name__ == "__main__":
    flagging.run(main, Options)
