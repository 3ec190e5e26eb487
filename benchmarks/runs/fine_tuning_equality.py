"""Fine-tuning gives the same weights however a batch is computed.

python -m benchmarks.runs.fine_tuning_equality [--num_epochs=3] [--kinds=tag]

Runs of run_classifier.py and run_squad.py on one device, on 2 and 4 logical CPU devices and in 2
processes on loopback; in 1 to 4 micro-batches per replica; with batches from the host, from tf.data
in two lengths, and compiled by XLA; with rows in memory and in records. All of it for
classification, tagging and choice, some of it for regression and spans. Two layers with dropout
0.1; the last batch of an epoch has a single row; gradients are clipped. The table has the largest
absolute difference of any weight, and of the loss at any step, to the first run of its kind.
"""

import csv
import dataclasses
import itertools
import pathlib
import tempfile

import numpy as np

from benchmarks.runs import training_runs
from bert_tf import flagging
from bert_tf.flagging import option

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "fine_tuning_equality.json"
BATCH_SIZE, NUM_ROWS, LENGTH = 16, 145, 128
NUM_QUESTIONS = 106  # which have NUM_ROWS windows
BUCKETS = "32"  # and the full length
# Norms that gradients are clipped to; some exceed them and some do not.
MAX_GRAD_NORM = {"choice": 0.2}
HOST, DEVICES, XLA = "host", "tf.data", "tf.data, XLA"


@dataclasses.dataclass(frozen=True)
class Case:
    """How a run is computed."""

    fed_by: str = HOST
    num_devices: int = 1
    num_processes: int = 1
    num_micro_batches: int = 1
    has_records: bool = False

    @property
    def flags(self):
        flags = [f"--num_micro_batches={self.num_micro_batches}"]
        if self.fed_by == DEVICES:
            flags += [f"--length_buckets={BUCKETS}", "--iterations_per_loop=7"]
        if self.fed_by == XLA:
            flags += ["--jit_compile", "--iterations_per_loop=7"]
        return [*flags, "--stream_records"] if self.has_records else flags

    @property
    def where(self):
        if self.num_processes > 1:
            return f"{self.num_processes} processes"
        return f"{self.num_devices} replicas" if self.num_devices > 1 else "one device"


# The first case of each kind is what the others are compared with.
_ALL = (
    *(Case(num_devices=n, num_micro_batches=k) for n in (1, 2, 4) for k in (1, 3)),
    *(Case(DEVICES, n, num_micro_batches=k) for n in (1, 2, 4) for k in (1, 3)),
    Case(XLA),
    Case(XLA, num_devices=2, num_micro_batches=2),
    Case(num_processes=2, num_micro_batches=2),
    Case(DEVICES, num_processes=2, num_micro_batches=2),
    Case(has_records=True),
)
_SOME = (
    Case(),
    Case(num_devices=2, num_micro_batches=3),
    Case(num_devices=4),
    Case(DEVICES, num_devices=2, num_micro_batches=2),
)
KINDS = {"classification": _ALL, "tagging": _ALL, "choice": _ALL}
KINDS |= {"regression": _SOME, "span": _SOME}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags of this program."""

    text: str = option("data/corpus/train.txt", "Sentences to learn the vocabulary from.")
    num_epochs: int = option(3, "Epochs of 10 updates.")
    learning_rate: float = option(1e-3, "Peak of the schedule.")
    kinds: str = option("", "Those to run, by a part of the name; the results of the others stay.")


def questions(count):
    """The first questions of the topics."""
    lines = pathlib.Path("data/topics/train.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [line.split("\t")[0] for line in lines[:count]]


def similar_texts(directory):
    """An STS-B in the official layout: questions, scored by the words they share."""
    texts = questions(NUM_ROWS + 1)
    columns = "index genre filename year old_index source1 source2 sentence1 sentence2 score"
    rows = [columns.replace(" ", "\t")]
    for number, (a, b) in enumerate(itertools.pairwise(texts)):
        shared, all_words = set(a.split()) & set(b.split()), set(a.split()) | set(b.split())
        score = 5 * len(shared) / len(all_words)
        rows.append(f"{number}\tg\tf\ty\t{number}\ts\ts\t{a}\t{b}\t{score:.3f}")
    (directory / "train.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def tagged_sentences(directory):
    """A CoNLL-2003 in the original layout: words that begin with a capital are entities."""
    lines = []
    for text in questions(NUM_ROWS):
        words = text.replace("?", " ?").split()
        lines += [f"{word} X X {'I-MISC' if word[0].isupper() else 'O'}" for word in words] + [""]
    (directory / "eng.train").write_text("\n".join(lines) + "\n", encoding="utf-8")


def continued_texts(directory):
    """A SWAG in the original layout: beginnings of questions, of which one ending is right."""
    texts = [text for text in questions(2 * NUM_ROWS) if len(text.split()) > 4][:NUM_ROWS]
    ends = [" ".join(text.split()[3:]) for text in texts]
    names = "video-id fold-ind startphrase sent1 sent2 gold-source ending0 ending1 ending2 ending3"
    with open(directory / "train.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *names.split(), "label"])
        for number, text in enumerate(texts):
            start, gold = " ".join(text.split()[:3]), number % 4
            four = [ends[(number + k - gold) % len(ends)] for k in range(4)]
            found = [f"v{number}", number, start, start, "", "gold", *four]
            writer.writerow([number, *found, gold])


# From kind to the data set whose layout is written, and what writes it.
MADE = {
    "regression": ("sts-b", similar_texts),
    "tagging": ("conll-2003", tagged_sentences),
    "choice": ("swag", continued_texts),
}


def command(kind, directory):
    """(script, its flags) of a kind."""
    if kind == "span":
        flags = ["--train_file=data/squad/train.json", "--doc_stride=64"]
        return "run_squad.py", [*flags, f"--max_train_examples={NUM_QUESTIONS}"]
    flags = ["--task_name=tsv", "--data_dir=data/topics"]
    if kind in MADE:
        name, write = MADE[kind]
        write(directory)
        flags = [f"--task_name={name}", f"--data_dir={directory}"]
    flags += [f"--max_grad_norm={MAX_GRAD_NORM.get(kind, 1.0)}"]
    return "run_classifier.py", [*flags, f"--max_train_examples={NUM_ROWS}"]


def run(script, flags, output_dir, case):
    """Runs a script; returns (weights, `history.History`)."""
    flags = [*flags, *case.flags, f"--output_dir={output_dir}"]
    log_file = output_dir.with_name(f"{output_dir.name}.txt")
    if case.num_processes > 1:
        processes = training_runs.start_several(flags, log_file, case.num_processes, script)
    else:
        processes = [training_runs.start(flags, log_file, case.num_devices, script=script)]
    training_runs.finish(processes, log_file)
    return training_runs.weights(output_dir), training_runs.course(output_dir)


def run_kind(kind, flags, directory):
    """Rows of the runs of a kind; the first one is what the others are compared with."""
    directory.mkdir()
    script, own = command(kind, directory)
    wanted = None
    for number, case in enumerate(KINDS[kind]):
        found = run(script, [*flags, *own], directory / f"run-{number}", case)
        wanted = wanted or found
        difference, name = training_runs.largest_difference(found[0], wanted[0])
        losses, expected = (training_runs.curve(each[1]) for each in (found, wanted))
        norms = training_runs.curve(wanted[1], "gradient_norm").values()
        row = {
            "kind": kind,
            **dataclasses.asdict(case),
            "weight_difference": difference,
            "weight": name,
            # With several updates in a call only its last one is logged.
            "loss_difference": max(abs(loss - expected[step]) for step, loss in losses.items()),
            "num_updates": max(losses),
            "share_clipped": float(
                np.mean([norm > MAX_GRAD_NORM.get(kind, 1.0) for norm in norms])
            ),
        }
        feeder = case.fed_by + (", records" if case.has_records else "")
        print(
            f"{kind:16}{feeder:15}{case.where:13}{case.num_micro_batches:4}{row['num_updates']:9}"
            f"{difference:10.1e}{row['loss_difference']:10.1e}{100 * row['share_clipped']:7.0f} %"
            f"  {name}",
            flush=True,
        )
        yield row


def main(options):
    """Prints the table and writes the results."""
    rows = []
    summary = {"num_epochs": options.num_epochs, "learning_rate": options.learning_rate}
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        training_runs.prepare_model(directory, options.text, LENGTH)
        flags = [f"--bert_config_file={directory}/bert_config.json", "--do_train"]
        flags += [f"--vocab_file={directory}/vocab.txt", f"--max_seq_length={LENGTH}"]
        flags += [f"--train_batch_size={BATCH_SIZE}"]
        flags += [f"--num_train_epochs={options.num_epochs}", "--log_steps=1"]
        flags += [f"--learning_rate={options.learning_rate}"]
        print(
            f"{'kind':16}{'batches from':15}{'on':13}{'cut':>4}{'updates':>9}{'weights':>10}"
            f"{'losses':>10} clipped"
        )
        for kind in KINDS:
            if options.kinds in kind:
                found = []
                for row in run_kind(kind, flags, directory / kind):
                    found.append(row)
                    rows = training_runs.write_results(RESULTS, "kind", found, summary)
    weights, losses = (
        max(row[f"{what}_difference"] for row in rows) for what in ("weight", "loss")
    )
    print(f"Largest difference of {len(rows)} runs: weights {weights:.1e}, losses {losses:.1e}.")


if __name__ == "__main__":
    flagging.run(main, Options)
