"""Every dataset of `run_classifier.py` is one entry of `REGISTRY`: files, columns, labels, metrics.

Adding a dataset adds an entry and no code. GLUE: Wang et al. 2018, arXiv 1804.07461.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.readers import Columns, LabelReader, TextExample

KINDS = ("classify", "regress")

_ONE_FILE = {"train": {"": "train.tsv"}, "dev": {"": "dev.tsv"}, "test": {"": "test.tsv"}}
_TWO_DOMAINS = {
    "train": {"": "train.tsv"},
    "dev": {"matched": "dev_matched.tsv", "mismatched": "dev_mismatched.tsv"},
    "test": {"matched": "test_matched.tsv", "mismatched": "test_mismatched.tsv"},
}
_ENTAILMENT = ("entailment", "not_entailment")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A dataset.

    Attributes:
      name: its key in `REGISTRY`.
      kind: "classify" or "regress"; selects head, loss and prediction file.
      labels: in the order of the classes; empty to regress. In a user's own data it is empty until
        `fitted` or `with_labels`.
      metrics: names in `metrics.METRICS`; the first one picks the best checkpoint. First is what
        the BERT paper's table 1 reports.
      columns: of train and dev files.
      test_columns: of test files, which have no labels.
      files: from split to set name to file name.
      value_range: lowest and highest value to regress, or None.
      skip_broken_rows: see `readers.read_tsv`.
      is_own_data: whether only the files tell labels and the number of texts.
    """

    name: str
    kind: str
    labels: tuple[str, ...] = ()
    metrics: tuple[str, ...]
    columns: Columns
    test_columns: Columns
    files: dict[str, dict[str, str]] = dataclasses.field(default_factory=lambda: _ONE_FILE)
    value_range: tuple[float, float] | None = None
    skip_broken_rows: bool = False
    is_own_data: bool = False

    @property
    def num_texts(self) -> int:
        """1 for single sentences, 2 for pairs."""
        return 1 if self.columns.text_b is None else 2

    @property
    def main_metric(self) -> str:
        """The metric that picks the best checkpoint; more is better for all of them."""
        return self.metrics[0]

    def read(self, split: str, data_dir: str) -> list[tuple[str, list[TextExample]]]:
        """Reads the sets of a split.

        Args:
          split: "train", "dev" or "test".
          data_dir: the directory of this task's files; X.tsv.gz is read where there is no X.tsv.

        Returns:
          (set name, examples) of each set. The name is "" where a split is one set.

        Raises:
          InputError: a file is missing or not as wanted; see `readers.read_tsv`.
        """
        if split not in self.files:
            raise ValueError(f"Unknown split {split!r}; known: {', '.join(self.files)}.")
        columns = self.test_columns if split == "test" else self.columns
        return [
            (
                set_name,
                readers.read_tsv(
                    readers.find_file(data_dir, file_name),
                    columns,
                    self._label_reader(),
                    skip_broken_rows=self.skip_broken_rows,
                ),
            )
            for set_name, file_name in self.files[split].items()
        ]

    def _label_reader(self) -> LabelReader:
        if self.kind == "regress":
            return readers.number(*self.value_range or ())
        return readers.one_of(self.labels) if self.labels else readers.any_label

    def fitted(self, data_dir: str) -> Task:
        """This task with labels and texts from the files of a user's own data; otherwise itself.

        Reads the header of train.tsv (whether there is a `text_b`) and its labels, sorted.

        Raises:
          InputError: train.tsv is not as wanted, or has fewer than two labels.
        """
        if not self.is_own_data:
            return self
        path = readers.find_file(data_dir, self.files["train"][""])
        task = self._with_texts(2 if "text_b" in readers.read_header(path) else 1)
        if task.kind == "regress":
            return task
        ((_, examples),) = task.read("train", data_dir)
        labels = tuple(sorted({str(example.label) for example in examples}))
        if len(labels) < 2:
            raise InputError(f"{path} has one label only, {labels[0]!r}; at least two are wanted.")
        return dataclasses.replace(task, labels=labels)

    def with_labels(self, labels: Iterable[str], num_texts: int) -> Task:
        """This task with the labels a model was trained on (its model.json).

        Raises:
          InputError: the task is not a user's own data and has other labels or texts.
        """
        labels = tuple(labels)
        if self.is_own_data:
            return dataclasses.replace(self._with_texts(num_texts), labels=labels)
        if (labels, num_texts) != (self.labels, self.num_texts):
            raise InputError(
                f"The model was trained on {num_texts} texts and labels {list(labels)}; "
                f"task {self.name!r} has {self.num_texts} and {list(self.labels)}."
            )
        return self

    def _with_texts(self, num_texts: int) -> Task:
        text_b = "text_b" if num_texts == 2 else None
        return dataclasses.replace(
            self,
            columns=dataclasses.replace(self.columns, text_b=text_b),
            test_columns=dataclasses.replace(self.test_columns, text_b=text_b),
        )


REGISTRY = {
    "cola": Task(
        name="cola",
        kind="classify",
        labels=("0", "1"),
        metrics=("matthews", "accuracy"),
        columns=Columns(text_a=3, label=1),  # train and dev have no header, test has one
        test_columns=Columns(text_a="sentence", row_id="index"),
    ),
    "sst-2": Task(
        name="sst-2",
        kind="classify",
        labels=("0", "1"),
        metrics=("accuracy",),
        columns=Columns(text_a="sentence", label="label"),
        test_columns=Columns(text_a="sentence", row_id="index"),
    ),
    "mrpc": Task(
        name="mrpc",
        kind="classify",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        columns=Columns(text_a="#1 String", text_b="#2 String", label="Quality"),
        test_columns=Columns(text_a="#1 String", text_b="#2 String", row_id="index"),
    ),
    "sts-b": Task(
        name="sts-b",
        kind="regress",
        metrics=("spearman", "pearson"),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="score"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        value_range=(0.0, 5.0),
    ),
    "qqp": Task(
        name="qqp",
        kind="classify",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        columns=Columns(text_a="question1", text_b="question2", label="is_duplicate"),
        test_columns=Columns(text_a="question1", text_b="question2", row_id="id"),
        skip_broken_rows=True,  # line ends inside questions break a few rows of the official file
    ),
    "mnli": Task(
        name="mnli",
        kind="classify",
        labels=("contradiction", "entailment", "neutral"),
        metrics=("accuracy",),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="gold_label"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        files=_TWO_DOMAINS,
    ),
    "qnli": Task(
        name="qnli",
        kind="classify",
        labels=_ENTAILMENT,
        metrics=("accuracy",),
        columns=Columns(text_a="question", text_b="sentence", label="label"),
        test_columns=Columns(text_a="question", text_b="sentence", row_id="index"),
    ),
    "rte": Task(
        name="rte",
        kind="classify",
        labels=_ENTAILMENT,
        metrics=("accuracy",),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
    ),
    "wnli": Task(
        name="wnli",
        kind="classify",
        labels=("0", "1"),
        metrics=("accuracy",),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
    ),
    "tsv": Task(
        name="tsv",
        kind="classify",
        metrics=("accuracy",),
        columns=Columns(text_a="text_a", label="label"),
        test_columns=Columns(text_a="text_a"),
        is_own_data=True,
    ),
    "tsv-regression": Task(
        name="tsv-regression",
        kind="regress",
        metrics=("spearman", "pearson"),
        columns=Columns(text_a="text_a", label="label"),
        test_columns=Columns(text_a="text_a"),
        is_own_data=True,
    ),
}


def get(name: str) -> Task:
    """The task of that name; case, hyphens and underscores do not count: SST-2, sst2, sst_2.

    Raises:
      InputError: unknown; the message lists the known names.
    """
    for known, task in REGISTRY.items():
        if _squeezed(known) == _squeezed(name):
            return task
    raise InputError(f"Unknown task {name!r}; known: {', '.join(REGISTRY)}.")


def _squeezed(name: str) -> str:
    return re.sub(r"[-_]", "", name.strip().lower())
