"""Every data set of `run_classifier.py` is an entry of `REGISTRY`: files, columns, labels, metrics.

Adding a data set adds an entry to a table of `data_sets`, and no code. A user's own data is a task
with other files and columns: see `own_data` and `task_file`.
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
from bert_tf.tasks.data_sets import choices, entities, glue, languages
from bert_tf.tasks.kinds.classification import Classification
from bert_tf.tasks.kinds.regression import Regression
from bert_tf.tasks.kinds.text_task import LABEL, TEXT_A, TextTask
from bert_tf.tasks.set_files import OWN_FILES
from bert_tf.tasks.task import Task

# Kinds of models that a task trains.
KINDS = tuple(kind.name for kind in kinds.KINDS.values() if kind.task)
# Those of a user's own texts that flags name the columns of.
TEXT_KINDS = ("classify", "regress")


_OWN: dict[str, Task] = {
    "tsv": Classification(
        name="tsv",
        summary="Own data with labels, in TSV or CSV: one or two texts.",
        layout=TextLayout(
            columns=Columns(text_a=TEXT_A, label=LABEL),
            test_columns=Columns(text_a=TEXT_A),
            refuses_empty_text=True,
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
            refuses_empty_text=True,
        ),
        files=OWN_FILES,
        is_own_data=True,
    ),
}
REGISTRY: dict[str, Task] = {
    **glue.TASKS,
    **languages.TASKS,
    **entities.TASKS,
    **choices.TASKS,
    **_OWN,
}


def get(name: str) -> Task:
    """The task of that name; case, hyphens and underscores do not count: SST-2, sst2, sst_2.

    Raises:
      InputError: unknown; the message lists the known names.
    """
    if task := _find(name):
        return task
    squeezed = {_squeezed(known): known for known in REGISTRY}
    nearest = difflib.get_close_matches(_squeezed(name), squeezed, n=1)
    hint = f" Did you mean {squeezed[nearest[0]]}?" if nearest else ""
    raise InputError(
        f"Unknown task {name!r}; known: {', '.join(REGISTRY)}.{hint} Leave --task_name out for "
        "your own CSV or TSV files, named by --data_dir or --train_file; for your own data of "
        "another kind give --task_file."
    )


def _find(name: str) -> Task | None:
    squeezed = {_squeezed(known): task for known, task in REGISTRY.items()}
    return squeezed.get(_squeezed(name)) or languages.in_language(name)


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
        changes["layout"] = dataclasses.replace(
            task.layout, columns=columns, test_columns=without_label
        )
    if files is not None:
        changes["files"] = {split: {"": files[split]} for split in files}
    return dataclasses.replace(task, **changes)


def of_model(metadata: ModelMetadata) -> Task | None:
    """The task of a trained model; None if it is of a kind that no task trains.

    That of a data set which is not in `REGISTRY` has default columns and metrics.
    """
    if not (name := kinds.KINDS[metadata.kind].task):
        return None
    known = _find(metadata.task)
    if not known or (known.kind, known.labels) != (metadata.kind, metadata.labels):
        known = kinds.load_class(name).of_model(metadata)
    return known.with_settings(metadata.settings)


def overview() -> str:
    """The list of tasks, a line each, for --help."""
    width = max(map(len, REGISTRY))
    lines = [f"  {name:{width}}  {task.summary}" for name, task in REGISTRY.items()]
    return "\n".join(["Tasks (--task_name):", *lines])


def _squeezed(name: str) -> str:
    return re.sub(r"[-_]", "", name.strip().lower())
