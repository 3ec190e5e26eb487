"""Fine-tuning gives the same weights on any number of replicas, in any number of micro-batches.

python -m benchmarks.runs.fine_tuning_equality [--num_epochs=3]

Runs of run_classifier.py and run_squad.py on one device and on 2 and 4 logical CPU devices, in 1 to
4 micro-batches per replica: classification, and some of these for regression and spans. Two layers
with dropout 0.1; the last batch of an epoch has a single row, so most replicas get none; gradients
are clipped. The table has the largest absolute difference of any weight, and of the loss at any
step, to the first run of its kind.
"""

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
# Replicas and micro-batches; the first pair is what the others are compared with.
_ALL = tuple(itertools.product((1, 2, 4), (1, 2, 3, 4)))
_SOME = ((1, 1), (2, 3), (4, 1))
KINDS = {"classification": _ALL, "regression": _SOME, "span": _SOME}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags of this program."""

    text: str = option("data/corpus/train.txt", "Sentences to learn the vocabulary from.")
    num_epochs: int = option(3, "Epochs of 10 updates.")
    learning_rate: float = option(1e-3, "Peak of the schedule.")
    kinds: str = option("", "Those to run, by a part of the name; the results of the others stay.")


def similar_texts(path, directory):
    """An STS-B in the official layout: questions of a file, scored by the words they share."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()[1:]
    texts = [line.split("\t")[0] for line in lines[: NUM_ROWS + 1]]
    columns = "index genre filename year old_index source1 source2 sentence1 sentence2 score"
    rows = [columns.replace(" ", "\t")]
    for number, (a, b) in enumerate(itertools.pairwise(texts)):
        shared, all_words = set(a.split()) & set(b.split()), set(a.split()) | set(b.split())
        score = 5 * len(shared) / len(all_words)
        rows.append(f"{number}\tg\tf\ty\t{number}\ts\ts\t{a}\t{b}\t{score:.3f}")
    (directory / "train.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return directory


def command(kind, directory):
    """(script, its flags) of a kind."""
    if kind == "span":
        flags = ["--train_file=data/squad/train.json", "--doc_stride=64"]
        return "run_squad.py", [*flags, f"--max_train_examples={NUM_QUESTIONS}"]
    if kind == "regression":
        data = similar_texts("data/topics/train.tsv", directory)
        flags = ["--task_name=sts-b", f"--data_dir={data}"]
    else:
        flags = ["--task_name=tsv", "--data_dir=data/topics"]
    return "run_classifier.py", [*flags, f"--max_train_examples={NUM_ROWS}"]


def run(script, flags, output_dir, replicas, micro_batches):
    """Runs a script; returns (weights, `history.History`)."""
    flags = [*flags, f"--num_micro_batches={micro_batches}", f"--output_dir={output_dir}"]
    log_file = output_dir.with_name(f"{output_dir.name}.txt")
    process = training_runs.start(flags, log_file, replicas, script=script)
    training_runs.finish([process], log_file)
    return training_runs.weights(output_dir), training_runs.course(output_dir)


def run_kind(kind, flags, directory):
    """Rows of the runs of a kind; the first one is what the others are compared with."""
    script, own = command(kind, directory)
    wanted = None
    for replicas, micro_batches in KINDS[kind]:
        output_dir = directory / f"{kind}-{replicas}-{micro_batches}"
        found = run(script, [*flags, *own], output_dir, replicas, micro_batches)
        wanted = wanted or found
        difference, name = training_runs.largest_difference(found[0], wanted[0])
        losses, wanted_losses = (training_runs.curve(each[1]) for each in (found, wanted))
        norms = training_runs.curve(wanted[1], "gradient_norm").values()
        row = {
            "kind": kind,
            "replicas": replicas,
            "micro_batches": micro_batches,
            "weight_difference": difference,
            "weight": name,
            "loss_difference": max(abs(losses[step] - wanted_losses[step]) for step in losses),
            "num_updates": len(losses),
            "share_clipped": float(np.mean([norm > 1.0 for norm in norms])),
        }
        print(
            f"{kind:16}{replicas:9}{micro_batches:15}{row['num_updates']:9}{difference:10.1e}"
            f"{row['loss_difference']:10.1e}{100 * row['share_clipped']:7.0f} %  {name}",
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
            f"{'kind':16}{'replicas':>9}{'micro-batches':>15}{'updates':>9}{'weights':>10}"
            f"{'losses':>10} clipped"
        )
        for kind in KINDS:
            if options.kinds in kind:
                found = []
                for row in run_kind(kind, flags, directory):
                    found.append(row)
                    rows = training_runs.write_results(RESULTS, "kind", found, summary)
    weights, losses = (
        max(row[f"{what}_difference"] for row in rows) for what in ("weight", "loss")
    )
    print(f"Largest difference of {len(rows)} runs: weights {weights:.1e}, losses {losses:.1e}.")


if __name__ == "__main__":
    flagging.run(main, Options)
