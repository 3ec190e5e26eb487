"""The same global batch gives the same weights, however it is computed.

python -m benchmarks.runs.training_equality [--text=data/corpus/train.txt] [--num_steps=30]

Runs of run_pretraining.py on one device, on 2 and 4 logical CPU devices and in 2 processes on
loopback, in one micro-batch per replica and in several, with batches from the host and from
tf.data, of two objectives and two optimizers, and compiled by XLA. Two layers with dropout 0.1 and
tied embeddings; batches hold the same record several times; gradients are clipped. The table has
the largest absolute difference of any weight, and of the loss at any step, to the first run of its
kind.
"""

import dataclasses
import pathlib
import tempfile

import numpy as np

from benchmarks.runs import training_runs
from bert_tf import flagging
from bert_tf.flagging import option

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "training_equality.json"
LENGTH, BATCH_SIZE, SEED = 64, 16, 12345
BUCKETS = f"--length_buckets={LENGTH // 2},{LENGTH}"
# Norms that gradients are clipped to; some exceed them and some do not.
MAX_GRAD_NORM = {"mlm_nsp": 1.6, "ltr": 0.9}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    text: str = option("data/corpus/train.txt", "Sentences to make records of.")
    num_steps: int = option(30, "Updates of a run.")
    learning_rate: float = option(1e-3, "Peak of the schedule, after a warm-up of 5 updates.")
    kinds: str = option("", "Those to run, by a part of the name; the results of the others stay.")


@dataclasses.dataclass(frozen=True)
class Case:
    """How a run is computed; `iterations` is the number of updates in a call, of tf.data."""

    fed_by: str
    num_devices: int = 1
    num_processes: int = 1
    num_micro_batches: int = 1
    iterations: int = 1
    one_length: bool = False

    @property
    def flags(self):
        flags = [f"--gradient_accumulation_steps={self.num_micro_batches}"]
        if self.fed_by != "host":
            buckets = f"--length_buckets={LENGTH}" if self.one_length else BUCKETS
            flags += [buckets, f"--iterations_per_loop={self.iterations}"]
        if self.fed_by == "tf.data, XLA":
            flags.append("--jit_compile")
        return flags

    @property
    def where(self):
        if self.num_processes > 1:
            return f"{self.num_processes} processes"
        return f"{self.num_devices} replicas" if self.num_devices > 1 else "one device"


def cases(fed_by, is_short):
    """The first one is what the others are compared with."""
    places = [{}, {"num_devices": 2}, {"num_devices": 4}, {"num_processes": 2}]
    cuts = (1, 2, 4)
    found = [Case(fed_by, **place, num_micro_batches=k) for place in places for k in cuts]
    if is_short:
        found = [found[0], found[7], found[10]]  # 4 replicas and 2 processes, in 2 micro-batches
    if fed_by != "host":
        found.append(Case(fed_by, num_devices=2, iterations=7))
    elif not is_short:
        # Of one length rows stay in the order of the host's, and so do their dropout masks.
        found.append(Case("tf.data", one_length=True))
    return found


# Objective, optimizer, who feeds, whether only some of the cases are run.
KINDS = (
    ("mlm_nsp", "adamw", "host", False),
    ("mlm_nsp", "adamw", "tf.data", False),
    ("mlm_nsp", "adamw", "tf.data, XLA", True),
    ("ltr", "adamw", "host", True),
    ("ltr", "adamw", "tf.data", True),
    ("mlm_nsp", "lamb", "host", True),
    ("mlm_nsp", "lamb", "tf.data", True),
    ("ltr", "lamb", "host", True),
    ("ltr", "lamb", "tf.data", True),
)


def repeating(path, directory):
    """A file of 160 of the records: 60 of them twice, one of them 40 times."""
    import tensorflow as tf

    records = list(tf.data.TFRecordDataset(str(path)).take(61).as_numpy_iterator())
    new = directory / "repeating.tfrecord"
    with tf.io.TFRecordWriter(str(new)) as writer:
        for record in records[:60] * 2 + records[60:] * 40:
            writer.write(record)
    return new


def repeated(path, num_steps):
    """Per batch: rows that stand there already, and the share of such tokens, on average."""
    from bert_tf import features
    from bert_tf.records.read import global_batches

    sizes = {"T": LENGTH}
    reader = global_batches.Reader(
        [str(path)], (features.WORD_IDS, features.MASK), sizes, batch_size=BATCH_SIZE, seed=SEED
    )
    rows, tokens = [], []
    for batch in reader.batches().take(num_steps).as_numpy_iterator():
        word_ids, mask = batch[features.WORD_IDS.name], batch[features.MASK.name] > 0
        rows.append(BATCH_SIZE - len(np.unique(word_ids, axis=0)))
        tokens.append(1 - len(np.unique(word_ids[mask])) / mask.sum())
    return {"rows": float(np.mean(rows)), "share_of_tokens": float(np.mean(tokens))}


def run(case, flags, output_dir):
    """Runs a case; returns (weights, `history.History`)."""
    flags = [*flags, *case.flags, f"--output_dir={output_dir}"]
    log_file = output_dir.with_name(f"{output_dir.name}.txt")
    if case.num_processes > 1:
        processes = training_runs.start_several(flags, log_file, case.num_processes)
    else:
        processes = [training_runs.start(flags, log_file, case.num_devices)]
    training_runs.finish(processes, log_file)
    return training_runs.weights(output_dir), training_runs.course(output_dir)


def compared(case, found, wanted, max_grad_norm):
    """A row of the table."""
    difference, name = training_runs.largest_difference(found[0], wanted[0])
    losses, wanted_losses = (training_runs.curve(each[1]) for each in (found, wanted))
    norms = training_runs.curve(wanted[1], "gradient_norm").values()
    return dataclasses.asdict(case) | {
        "weight_difference": difference,
        "weight": name,
        # With several updates in a call only its last one is logged.
        "loss_difference": max(abs(loss - wanted_losses[step]) for step, loss in losses.items()),
        "num_losses": len(losses),
        "share_clipped": float(np.mean([norm > max_grad_norm for norm in norms])),
    }


def run_kind(objective, optimizer, fed_by, is_short, flags, directory):
    """Rows of the runs of a kind."""
    wanted, max_grad_norm = None, MAX_GRAD_NORM[objective]
    for number, case in enumerate(cases(fed_by, is_short)):
        output_dir = directory / f"{objective}-{optimizer}-{fed_by}-{number}".replace(", ", "-")
        own = [f"--objective={objective}", f"--optimizer={optimizer}"]
        own += [f"--max_grad_norm={max_grad_norm}"]
        found = run(case, [*flags, *own], output_dir)
        wanted = wanted or found
        row = {"kind": " ".join((objective, optimizer, fed_by))}
        row |= compared(case, found, wanted, max_grad_norm)
        feeder = case.fed_by + (", one length" if case.one_length else "")
        print(
            f"{objective:8}{optimizer:6} {feeder:20}{case.where:12}{case.num_micro_batches:7}"
            f"{row['weight_difference']:10.1e}{row['loss_difference']:10.1e}"
            f"{100 * row['share_clipped']:7.0f} %  {row['weight']}",
            flush=True,
        )
        yield row


def main(options):
    rows = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        material = training_runs.prepare(directory, options.text, [LENGTH])
        path = repeating(material.records[LENGTH], directory)
        flags = [*material.flags, f"--input_file={path}", f"--max_seq_length={LENGTH}"]
        flags += ["--do_train", f"--num_train_steps={options.num_steps}", "--num_warmup_steps=5"]
        flags += [f"--learning_rate={options.learning_rate}", f"--train_batch_size={BATCH_SIZE}"]
        flags += [f"--random_seed={SEED}", "--log_steps=1"]
        summary = {"num_steps": options.num_steps, "learning_rate": options.learning_rate}
        summary |= {"max_grad_norm": MAX_GRAD_NORM, "repeated": repeated(path, options.num_steps)}
        print(
            f"Repeated in a batch of {BATCH_SIZE}: {summary['repeated']['rows']:.1f} rows, "
            f"{100 * summary['repeated']['share_of_tokens']:.0f} % of the tokens."
        )
        print(f"{'':15}{'batches from':20}{'on':12}{'cut':>7}{'weights':>10}{'losses':>10} clipped")
        for kind in KINDS:
            if options.kinds in " ".join(kind[:3]):
                found = list(run_kind(*kind, flags, directory))
                rows = training_runs.write_results(RESULTS, "kind", found, summary)
    weights, losses = (
        max(row[f"{what}_difference"] for row in rows) for what in ("weight", "loss")
    )
    print(f"Largest difference of {len(rows)} runs: weights {weights:.1e}, losses {losses:.1e}.")


if __name__ == "__main__":
    flagging.run(main, Options)
