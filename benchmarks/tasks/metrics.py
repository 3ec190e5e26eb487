"""Our metrics against scikit-learn, SciPy, seqeval and conlleval, on random and hostile inputs.

python -m benchmarks.tasks.metrics [--conlleval=conlleval.pl] [--num_cases=400]

Needs scikit-learn (requirements-benchmarks.txt) and seqeval, which only builds with an older tool:

    pip install "setuptools_scm<9" && pip install --no-build-isolation seqeval==1.2.2

--conlleval, the script of CoNLL-2000 and CoNLL-2003, needs Perl. Writes results/task_metrics.json:
the largest difference by metric.
"""

import dataclasses
import itertools
import json
import pathlib
import random
import re
import subprocess
import warnings
from importlib import metadata

import numpy as np
import seqeval.metrics
from seqeval.metrics import sequence_labeling
from seqeval.scheme import IOB2
from sklearn import metrics as sklearn_metrics

from bert_tf import files, flagging
from bert_tf.examples import iob
from bert_tf.flagging import option
from bert_tf.tasks.metrics import METRICS
from bert_tf.tasks.scoring import entities

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "task_metrics.json"

AVERAGED = {
    "f1": sklearn_metrics.f1_score,
    "precision": sklearn_metrics.precision_score,
    "recall": sklearn_metrics.recall_score,
}
SUFFIX = re.compile(r"correct: (\d+)\.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    conlleval: str | None = option(None, "conlleval.pl; none: seqeval alone.", is_path=True)
    num_cases: int = option(400, "Random inputs of each form.")
    seed: int = option(1, "Of the random inputs.")


class Differences:
    """The largest difference by metric, and how many values it was taken over."""

    def __init__(self):
        self.largest, self.count = {}, {}

    def add(self, name, ours, theirs):
        difference = abs(float(ours) - float(theirs))
        self.largest[name] = max(self.largest.get(name, 0.0), difference)
        self.count[name] = self.count.get(name, 0) + 1
        if not difference < 1e-9:
            raise SystemExit(f"{name}: ours {ours!r}, theirs {theirs!r}")


def score(name, predictions, references):
    return METRICS[name].score(predictions, references)


def averages(names=("macro", "micro", "weighted")):
    return itertools.product(names, AVERAGED.items())


def label_cases(rng, num_cases):
    """(probabilities, references) of one label per row: few rows, ties, labels that never occur."""
    for case in range(num_cases):
        num_rows, num_labels = int(rng.integers(1, 60)), int(rng.integers(2, 7))
        used = rng.choice(num_labels, size=int(rng.integers(1, num_labels + 1)), replace=False)
        references = rng.choice(used, size=num_rows)
        logits = rng.normal(size=(num_rows, num_labels)) * rng.choice([0.1, 1, 40])
        if case % 3 == 0:
            logits = np.round(logits)  # ties
        if case % 7 == 0:
            logits[:] = 0.0  # every row the same
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        yield chances / chances.sum(axis=1, keepdims=True), references


def compare_labels(found, rng, num_cases):
    for chances, references in label_cases(rng, num_cases):
        answers, num_labels = chances.argmax(axis=1), chances.shape[1]
        pair = references, answers
        found.add(
            "accuracy", score("accuracy", answers, references), np.mean(answers == references)
        )
        found.add(
            "balanced_accuracy",
            score("balanced_accuracy", answers, references),
            sklearn_metrics.balanced_accuracy_score(*pair),
        )
        found.add(
            "matthews",
            score("matthews", answers, references),
            sklearn_metrics.matthews_corrcoef(*pair),
        )
        for average, (name, theirs) in averages():
            found.add(
                f"{average}_{name}",
                score(f"{average}_{name}", answers, references),
                theirs(*pair, average=average, zero_division=0),
            )
        if num_labels == 2:
            for name, theirs in AVERAGED.items():
                value = theirs(*pair, average="binary", zero_division=0)
                found.add(name, score(name, answers, references), value)
        theirs = sklearn_metrics.log_loss(references, chances, labels=range(num_labels))
        found.add("log_loss", score("log_loss", chances, references), theirs)
        compare_ranks(found, chances, references)


def compare_ranks(found, chances, references):
    """Areas under curves; scikit-learn has them only where all labels occur."""
    num_labels = chances.shape[1]
    if len(np.unique(references)) < num_labels:
        return
    if num_labels == 2:
        area = sklearn_metrics.roc_auc_score(references, chances[:, 1])
        precision = sklearn_metrics.average_precision_score(references, chances[:, 1])
    else:
        area = sklearn_metrics.roc_auc_score(references, chances, multi_class="ovr")
        one_hot = np.eye(num_labels)[references]
        precision = sklearn_metrics.average_precision_score(one_hot, chances, average="macro")
    found.add("roc_auc", score("roc_auc", chances, references), area)
    found.add("average_precision", score("average_precision", chances, references), precision)


def compare_label_sets(found, rng, num_cases):
    for case in range(num_cases):
        shape = int(rng.integers(1, 50)), int(rng.integers(1, 6))
        chances = rng.random(shape)
        if case % 3 == 0:
            chances = np.round(chances, 1)  # ties, and probabilities of 0 and 1
        references, answers = rng.random(shape) < rng.choice([0.0, 0.2, 0.8]), chances >= 0.5
        pair = references.astype(int), answers.astype(int)
        exact = np.mean((references == answers).all(axis=1))
        found.add("exact_match", score("exact_match", answers, references), exact)
        # scikit-learn takes a single column for labels of one class.
        for average, (name, theirs) in averages() if shape[1] > 1 else ():
            found.add(
                f"{average}_{name} of sets",
                score(f"{average}_{name}", answers, references),
                theirs(*pair, average=average, zero_division=0),
            )
        columns = range(shape[1])
        losses = [
            sklearn_metrics.log_loss(pair[0][:, i], chances[:, i], labels=[0, 1]) for i in columns
        ]
        found.add("log_loss of sets", score("log_loss", chances, references), np.mean(losses))
        if all(0 < references[:, i].sum() < shape[0] for i in columns):
            found.add(
                "roc_auc of sets",
                score("roc_auc", chances, references),
                sklearn_metrics.roc_auc_score(references, chances),
            )
            found.add(
                "average_precision of sets",
                score("average_precision", chances, references),
                sklearn_metrics.average_precision_score(references, chances),
            )


def compare_values(found, rng, num_cases):
    for _ in range(num_cases):
        references = rng.normal(size=int(rng.integers(2, 60)))
        answers = references + rng.normal(size=references.shape)
        for name in ("mean_squared_error", "mean_absolute_error"):
            theirs = getattr(sklearn_metrics, name)(references, answers)
            found.add(name, score(name, answers, references), theirs)
        by_numpy = np.corrcoef(answers, references)[0, 1]
        found.add("pearson", score("pearson", answers, references), by_numpy)
        ranks = [np.argsort(np.argsort(each)) for each in (answers, references)]  # without ties
        found.add("spearman", score("spearman", answers, references), np.corrcoef(*ranks)[0, 1])


TAGS = {
    "IOB": [f"{prefix}-{kind}" for prefix in "BI" for kind in ("PER", "LOC", "A-B")] + ["O", "O"],
    "IOBES": [f"{prefix}-{kind}" for prefix in "BIES" for kind in ("X", "Y")] + ["O", "O"],
    "hostile": ["O", "B", "I", "E", "S", "B-", "I-", "M-X", "B_X", "I-X", "B-X-Y", "1-X"],
}


def tagged(rng, tags):
    """Sentences with random tags; a part of the answers is right."""
    references = [rng.choices(tags, k=rng.randint(0, 9)) for _ in range(rng.randint(1, 12))]
    share = rng.choice([0.0, 0.5, 0.9, 1.0])
    answers = [
        [tag if rng.random() < share else rng.choice(tags) for tag in sentence]
        for sentence in references
    ]
    return answers, references


def compare_entities(found, rng, num_cases, conlleval):
    for scheme, _ in itertools.product(TAGS, range(num_cases)):
        answers, references = tagged(rng, TAGS[scheme])
        if not any(references):
            continue
        for sentence in answers:
            ours = [(kind, first, end - 1) for kind, first, end in iob.entities(sentence)]
            if ours != sequence_labeling.get_entities(sentence):
                raise SystemExit(f"entities of {sentence}: {ours}")
        pair = references, answers
        for name in ("f1", "precision", "recall"):
            theirs = getattr(seqeval.metrics, f"{name}_score")(*pair, zero_division=0)
            found.add(f"entity_{name}", score(f"entity_{name}", answers, references), theirs)
        if entities.by_type(answers, references).keys() - {entities.ALL}:
            theirs = seqeval.metrics.f1_score(*pair, average="macro", zero_division=0)
            found.add("entity_macro_f1", score("entity_macro_f1", answers, references), theirs)
        theirs = seqeval.metrics.accuracy_score(*pair)
        found.add("token_accuracy", score("token_accuracy", answers, references), theirs)
        if scheme == "IOB":
            theirs = seqeval.metrics.f1_score(*pair, mode="strict", scheme=IOB2, zero_division=0)
            found.add("strict_entity_f1", score("strict_entity_f1", answers, references), theirs)
            if conlleval:
                compare_with_conlleval(found, conlleval, answers, references)


def compare_with_conlleval(found, script, answers, references):
    """Numbers of entities, and the scores that conlleval rounds to two digits of percent."""
    text = "\n".join(
        "".join(f"w {actual} {answer}\n" for actual, answer in zip(*pair, strict=True))
        for pair in zip(references, answers, strict=True)
    )
    done = subprocess.run(["perl", script], input=text, capture_output=True, text=True, check=True)
    numbers = [int(number) for number in re.findall(r"(\d+) phrases", done.stdout)]
    numbers.append(int(SUFFIX.search(done.stdout)[1]))
    ours = entities.by_type(answers, references)[entities.ALL]
    for name, theirs, mine in zip(
        ("actual", "answered", "right"),
        numbers,
        (ours.actual, ours.answered, ours.right),
        strict=True,
    ):
        found.add(f"{name} entities (conlleval)", mine, theirs)


def main(options):
    warnings.simplefilter("ignore")  # of scores without a value, which are left out or 0
    rng, found = np.random.default_rng(options.seed), Differences()
    compare_labels(found, rng, options.num_cases)
    compare_label_sets(found, rng, options.num_cases)
    compare_values(found, rng, options.num_cases)
    compare_entities(found, random.Random(options.seed), options.num_cases, options.conlleval)
    for name in found.largest:
        print(
            f"{name:32}{found.count[name]:>7,} values, largest difference {found.largest[name]:.1e}"
        )
    summary = {
        "scikit-learn": metadata.version("scikit-learn"),
        "seqeval": metadata.version("seqeval"),
        "num_cases": options.num_cases,
        "values": found.count,
        "largest_difference": found.largest,
    }
    files.write_text(RESULTS, json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
