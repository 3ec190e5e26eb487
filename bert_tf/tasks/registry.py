"""Every data set of `run_classifier.py` is an entry of `REGISTRY`: files, columns, labels, metrics.

Adding a data set adds an entry and no code. GLUE: Wang et al. 2018, arXiv 1804.07461. A user's own
data is a task with other files and columns: see `own_data`.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import Any

from bert_tf.checkpoints import kinds
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.errors import InputError
from bert_tf.examples.readers import Columns, TextLayout
from bert_tf.examples.readers.delimited import Dialect
from bert_tf.tasks.classification import Classification
from bert_tf.tasks.regression import Regression
from bert_tf.tasks.task import OWN_FILES, Task
from bert_tf.tasks.text_task import LABEL, TEXT_A, TextTask

# Kinds of models that a task trains.
KINDS = tuple(kind.name for kind in kinds.KINDS.values() if kind.task)
# Those of a user's own texts that flags name the columns of.
TEXT_KINDS = ("classify", "regress")

_TWO_DOMAINS = {
    "train": {"": "train.tsv"},
    "dev": {"matched": "dev_matched.tsv", "mismatched": "dev_mismatched.tsv"},
    "test": {"matched": "test_matched.tsv", "mismatched": "test_mismatched.tsv"},
}
_ENTAILMENT = ("entailment", "not_entailment")


REGISTRY: dict[str, Task] = {
    "cola": Classification(
        name="cola",
        summary="Is the sentence grammatical?",
        labels=("0", "1"),
        metrics=("matthews", "accuracy"),
        layout=TextLayout(
            columns=Columns(text_a=3, label=1),  # train and dev have no header, test has one
            test_columns=Columns(text_a="sentence", row_id="index"),
        ),
    ),
    "sst-2": Classification(
        name="sst-2",
        summary="Is the sentence of a film review positive?",
        labels=("0", "1"),
        layout=TextLayout(
            columns=Columns(text_a="sentence", label="label"),
            test_columns=Columns(text_a="sentence", row_id="index"),
        ),
    ),
    "mrpc": Classification(
        name="mrpc",
        summary="Do the two sentences say the same?",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        layout=TextLayout(
            columns=Columns(text_a="#1 String", text_b="#2 String", label="Quality"),
            test_columns=Columns(text_a="#1 String", text_b="#2 String", row_id="index"),
        ),
    ),
    "sts-b": Regression(
        name="sts-b",
        summary="How similar are the two sentences, from 0 to 5?",
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="score"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
        value_range=(0.0, 5.0),
    ),
    "qqp": Classification(
        name="qqp",
        summary="Do the two questions ask the same?",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        layout=TextLayout(
            columns=Columns(text_a="question1", text_b="question2", label="is_duplicate"),
            test_columns=Columns(text_a="question1", text_b="question2", row_id="id"),
            # Line ends inside questions break a few rows of the official file.
            dialect=Dialect(skip_broken_rows=True),
        ),
    ),
    "mnli": Classification(
        name="mnli",
        summary="Does the second sentence follow, contradict, or neither?",
        labels=("contradiction", "entailment", "neutral"),
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="gold_label"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
        files=_TWO_DOMAINS,
    ),
    "qnli": Classification(
        name="qnli",
        summary="Does the sentence answer the question?",
        labels=_ENTAILMENT,
        layout=TextLayout(
            columns=Columns(text_a="question", text_b="sentence", label="label"),
            test_columns=Columns(text_a="question", text_b="sentence", row_id="index"),
        ),
    ),
    "rte": Classification(
        name="rte",
        summary="Does the second sentence follow from the first?",
        labels=_ENTAILMENT,
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
    ),
    "wnli": Classification(
        name="wnli",
        summary="Does the second sentence name what a pronoun refers to?",
        labels=("0", "1"),
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
    ),
    "tsv": Classification(
        name="tsv",
        summary="Own data with labels, in TSV or CSV: one or two texts.",
        layout=TextLayout(
            columns=Columns(text_a=TEXT_A, label=LABEL),
            test_columns=Columns(text_a=TEXT_A),
        ),
        files=OWN_FILES,
        is_own_data=True,
    ),
    "tsv-regression": Regression(
        name="tsv-regression",
        summary="Own data with numbers in place of labels.",
        layout=TextLayout(
            columns=Columns(text_a=TEXT_A, label=LABEL),
            test_columns=Columns(text_a=TEXT_A),
        ),
        files=OWN_FILES,
        is_own_data=True,
    ),
}


def get(name: str) -> Task:
    """The task of that name; case, hyphens and underscores do not count: SST-2, sst2, sst_2.

    Raises:
      InputError: unknown; the message lists the known names.
    """
    squeezed = {_squeezed(known): task for known, task in REGISTRY.items()}
    if task := squeezed.get(_squeezed(name)):
        return task
    nearest = difflib.get_close_matches(_squeezed(name), squeezed, n=1)
    hint = f" Did you mean {squeezed[nearest[0]].name}?" if nearest else ""
    raise InputError(
        f"Unknown task {name!r}; known: {', '.join(REGISTRY)}.{hint} Leave --task_name out for "
        "your own CSV or TSV files, named by --data_dir or --train_file."
    )


def own_data(
    kind: str, columns: Columns | None = None, files: Mapping[str, str] | None = None
) -> TextTask:
    """The task of a user's own texts, whose labels are not known yet.

    Args:
      kind: of `TEXT_KINDS`.
      columns: None: `text_a` and `label`.
      files: from split to path; None: train.tsv, train.csv and so on in a directory.
    """
    (task,) = [
        each
        for each in REGISTRY.values()
        if each.is_own_data and each.kind == kind and isinstance(each, TextTask)
    ]
    changes: dict[str, Any] = {}
    if columns:
        without_label = dataclasses.replace(columns, label=None)
        changes["layout"] = TextLayout(columns=columns, test_columns=without_label)
    if files is not None:
        changes["files"] = {split: {"": files[split]} for split in files}
    return dataclasses.replace(task, **changes)


def of_model(metadata: ModelMetadata) -> Task | None:
    """The task of a trained model; None if it is of a kind that no task trains.

    That of a data set which is not in `REGISTRY` has default columns and metrics.
    """
    if not (name := kinds.KINDS[metadata.kind].task):
        return None
    known = REGISTRY.get(metadata.task)
    if known and (known.kind, known.labels) == (metadata.kind, metadata.labels):
        return known
    return kinds.load_class(name).of_model(metadata)


def overview() -> str:
    """The list of tasks, a line each, for --help."""
    width = max(map(len, REGISTRY))
    lines = [f"  {name:{width}}  {task.summary}" for name, task in REGISTRY.items()]
    return "\n".join(["Tasks (--task_name):", *lines])


def _squeezed(name: str) -> str:
    return re.sub(r"[-_]", "", name.strip().lower())
