"""A learned vocabulary beside the released one: seconds, and tokens per word of unseen text.

python -m benchmarks.text.vocabulary [--peer_python=../peers/venv/bin/python]
    [--data_dir=../shared/data]

Whole books and files of articles are held out, so no unseen line shares a book with the text
learned from; WikiText-2 is a second unseen text. Every learner is a process of its own, start
included, and runs twice, to see whether it gives the same vocabulary again. A word is what the
released tokenizer splits at white space, punctuation and CJK characters.
"""

import dataclasses
import glob
import gzip
import json
import pathlib
import random
import sys
import tempfile

from benchmarks import child_process
from benchmarks.text import tokenizer_data
from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.vocabulary import learn, word_counts

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "vocabulary.json"
PEER = pathlib.Path(__file__).parent / "vocabulary_peer.py"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    peer_python: str = option("../peers/venv/bin/python", "An interpreter that has tokenizers.")
    data_dir: str = option("../shared/data", "Holds vocab/ and pretrain/.")
    vocab_size: int = option(30522, "Tokens of each vocabulary.")
    num_megabytes: int = option(20, "Text to learn from.")
    tf_text_kilobytes: int = option(1000, "Text for tf-text's learner, which is slow.")
    max_seconds: int = option(150, "After which a learner is stopped.")
    seed: int = option(1, "Of the choice of books and articles.")


def split_files(options):
    """Lists of lines (bytes): to learn from, and held out with whole files, a tenth of them."""
    patterns = ("pretrain/gutenberg/*.gz", "pretrain/wikipedia/enwiki_text/*.gz")
    paths = [path for p in patterns for path in sorted(glob.glob(f"{options.data_dir}/{p}"))]
    if not paths:
        raise InputError(f"--data_dir={options.data_dir} has no {' and no '.join(patterns)}.")
    random.Random(options.seed).shuffle(paths)
    num_held_out = len(paths) // 10
    unseen = [line for path in paths[:num_held_out] for line in _lines(path)]
    seen, num_bytes = [], 0
    for line in (line for path in paths[num_held_out:] for line in _lines(path)):
        num_bytes += len(line) + 1
        if num_bytes > options.num_megabytes * 1e6:
            break
        seen.append(line)
    return seen, unseen


def _lines(path):
    with gzip.open(path) as file:
        return [line.strip() for line in file.read().split(b"\n")]


class Learner:
    """A command that learns a vocabulary; `row` is what is known of it after two runs."""

    def __init__(self, name, make_command, lines, options):
        self._name = name
        self._make_command = make_command
        self._lines = lines
        self._options = options

    def row(self, unseen):
        row = {"learner": self._name, "megabytes": sum(len(line) + 1 for line in self._lines) / 1e6}
        with tempfile.TemporaryDirectory() as directory:
            text = pathlib.Path(directory, "text.txt")
            text.write_bytes(b"\n".join(self._lines))
            runs = [self._run(text, pathlib.Path(directory, f"{i}.txt")) for i in range(2)]
            if not all(runs):
                return row | {"stopped_after_seconds": self._options.max_seconds}
            vocabulary = vocab.from_file(str(pathlib.Path(directory, "0.txt")))
        row |= {"wall_seconds": min(wall for wall, _, _ in runs)}
        row |= {"cpu_seconds": min(cpu for _, cpu, _ in runs)}
        row |= {"same_twice": runs[0][2] == runs[1][2]}
        return row | fit(vocabulary, unseen)

    def _run(self, text, output):
        """(wall seconds, CPU seconds, the file) of one run; None if it was stopped."""
        command, task = self._make_command(str(text), str(output))
        cost = child_process.run(
            command, stdin=json.dumps(task).encode(), max_seconds=self._options.max_seconds
        )
        return cost and (cost.wall_seconds, cost.cpu_seconds, output.read_bytes())


def our_command(options):
    def make(text, output):
        command = [sys.executable, "-m", "bert_tf.vocabulary.learn", f"--input_file={text}"]
        return [*command, f"--output_file={output}", f"--vocab_size={options.vocab_size}"], None

    return make


def peer_command(python, learner, options):
    def make(text, output):
        task = {"learner": learner, "input_file": text, "output_file": output}
        task |= {"vocab_size": options.vocab_size, "do_lower_case": True}
        return [python, str(PEER)], task | {"reserved": learn.reserved_tokens(994, True)}

    return make


def fit(vocabulary, unseen):
    """Figures of a vocabulary on each unseen text."""
    tokenizer = WordPieceTokenizer(vocabulary, do_lower_case=True)
    measured = {name: learn.measure(tokenizer, counts) for name, counts in unseen.items()}
    return {"vocab_size": len(vocabulary), "unseen": measured}


def print_row(row):
    print(f"{row['learner']:28s} {row.get('megabytes', 0):5.1f} ", end="")
    if "stopped_after_seconds" in row:
        print(f"stopped after {row['stopped_after_seconds']} s")
        return
    if "wall_seconds" in row:
        again = "yes" if row["same_twice"] else "no"
        print(f"{row['wall_seconds']:7.1f} {row['cpu_seconds']:7.1f} {again:>5s} ", end="")
    else:
        print(f"{'':22s}", end="")
    print(f"{row['vocab_size']:6d} ", end="")
    for figures in row["unseen"].values():
        print(
            f"   {figures['tokens_per_word']:.4f} {figures['unknown_per_word']:.1e} "
            f"{figures['share_used']:5.1%}",
            end="",
        )
    print()


def main(options):
    files.require_file(options.peer_python, "--peer_python")
    lines, held_out = split_files(options)
    wikitext = _lines(f"{options.data_dir}/pretrain/wikitext-2-raw/wiki.test.raw.gz")
    unseen = {"held_out": held_out, "wikitext_2": wikitext}
    unseen = {name: word_counts.count_texts(text, True) for name, text in unseen.items()}
    num_short, num_bytes = 0, 0
    while num_bytes < options.tf_text_kilobytes * 1000:
        num_bytes += len(lines[num_short]) + 1
        num_short += 1
    short = lines[:num_short]
    ours = our_command(options)
    tokenizers = peer_command(options.peer_python, "tokenizers", options)
    tf_text = peer_command(sys.executable, "tf-text", options)
    learners = [
        Learner("bert_tf", ours, lines, options),
        Learner("Hugging Face tokenizers", tokenizers, lines, options),
        Learner("tf-text", tf_text, short, options),
    ]
    released = vocab.from_file(tokenizer_data.vocab_file(options.data_dir, "uncased"))
    rows = [{"learner": "released uncased"} | fit(released, unseen)]
    print(f"{'vocabulary':28s}    MB  wall s   CPU s  same  tokens", end="")
    print("".join(f"  {name + ': per word, [UNK], used':28s}" for name in unseen))
    print_row(rows[0])
    for learner in learners:
        rows.append(learner.row(unseen))
        print_row(rows[-1])
    words = {name: sum(counts.values()) for name, counts in unseen.items()}
    results = tokenizer_data.conditions(options) | {"unseen_words": words, "rows": rows}
    files.write_text(RESULTS, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
