"""Every dataset of `run_classifier.py` is one entry of `REGISTRY`: files, columns, labels, metrics.

Adding a dataset adds an entry and no code. GLUE: Wang et al. 2018, arXiv 1804.07461. A user's own
data is a `Task` with other files and columns: see `own_data`.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping

from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.readers import Columns, LabelReader
from bert_tf.examples.readers.delimited import Dialect

KINDS = ("classify", "regress")

_ONE_FILE = {"train": {"": "train.tsv"}, "dev": {"": "dev.tsv"}, "test": {"": "test.tsv"}}
_TWO_DOMAINS = {
    "train": {"": "train.tsv"},
    "dev": {"matched": "dev_matched.tsv", "mismatched": "dev_mismatched.tsv"},
    "test": {"matched": "test_matched.tsv", "mismatched": "test_mismatched.tsv"},
}
# Columns of a user's own data, unless they are named; `TEXT` where there is no `TEXT_A`.
TEXT_A, TEXT, TEXT_B, LABEL = "text_a", "text", "text_b", "label"
_ENTAILMENT = ("entailment", "not_entailment")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A dataset.

    Attributes:
      name: its key in `REGISTRY`.
      summary: what is answered, for the list of tasks.
      kind: "classify" or "regress"; selects head, loss and prediction file.
      labels: in the order of the classes; empty to regress. In a user's own data it is empty until
        `fitted` or `with_labels`.
      metrics: names in `metrics.METRICS`; the first one picks the best checkpoint. First is what
        the BERT paper's table 1 reports.
      columns: of train and dev files.
      test_columns: of test files, which have no labels.
      files: from split to set name to file name, or to path where there is no --data_dir.
      value_range: lowest and highest value to regress, or None.
      skip_broken_rows: see `Dialect`.
      is_own_data: whether only the files tell labels and the number of texts.
    """

    name: str
    summary: str
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

    def read(
        self, split: str, data_dir: str | None, *, is_quiet: bool = False
    ) -> list[tuple[str, list[TextExample]]]:
        """Reads the sets of a split; of several, those whose files are there.

        Args:
          split: "train", "dev" or "test".
          data_dir: the directory of this task's files; X.tsv.gz is read where there is no X.tsv,
            X.csv where there is neither and the data is a user's own. None: `files` are paths.
          is_quiet: whether to say nothing of blank lines.

        Returns:
          (set name, examples) of each set. The name is "" where a split is one set.

        Raises:
          InputError: no file of the split is there, or one is not as wanted; see
            `Layout.read`.
        """
        if split not in self.files:
            raise ValueError(f"Unknown split {split!r}; known: {', '.join(self.files)}.")
        layout = readers.TextLayout(
            columns=self.columns,
            test_columns=self.test_columns,
            dialect=Dialect(skip_broken_rows=self.skip_broken_rows),
        )
        return [
            (
                set_name,
                layout.read(
                    self.path(split, data_dir, set_name),
                    self._label_reader(),
                    is_test=split == "test",
                    is_quiet=is_quiet,
                ),
            )
            for set_name in self._sets_there(split, data_dir)
        ]

    def path(self, split: str, data_dir: str | None, set_name: str = "") -> str:
        """The file of a set; see `read`."""
        name = self.files[split][set_name]
        if data_dir is None:
            return name
        twin = (name.replace(".tsv", ".csv"),) if self.is_own_data else ()
        return readers.find_file(data_dir, name, *twin)

    def _sets_there(self, split: str, data_dir: str | None) -> list[str]:
        """The sets of a split that have a file; says which have none. All, if none has one."""
        names = self.files[split]
        if data_dir is None or len(names) == 1:
            return list(names)
        there = [name for name, file in names.items() if readers.file_in(data_dir, file)]
        for name in names.keys() - set(there) if there else ():
            print(
                f"{names[name]} is not in --data_dir={data_dir}: {split} is {', '.join(there)} "
                "alone.",
                flush=True,
            )
        return there or list(names)

    def _label_reader(self) -> LabelReader:
        if self.kind == "regress":
            return readers.number(*self.value_range or ())
        return readers.one_of(self.labels) if self.labels else readers.any_label

    def fitted(self, data_dir: str | None) -> Task:
        """This task with labels and texts from the files of a user's own data; otherwise itself.

        Reads the header of the training file (whether there is a `text_b`, unless a column is
        named) and its labels.

        Raises:
          InputError: the file is not as wanted, or has fewer than two labels.
        """
        if not self.is_own_data:
            return self
        path = self.path("train", data_dir)
        is_pair = self.columns.text_b or TEXT_B in readers.read_header(path)
        task = self.with_num_texts(2 if is_pair else 1)
        if task.kind == "regress":
            return task
        ((_, examples),) = task.read("train", data_dir, is_quiet=True)
        return task.with_labels_of(examples, path)

    def with_labels_of(self, examples: Iterable[TextExample], where: str) -> Task:
        """This task with the labels of some examples, sorted.

        Args:
          where: what a message calls the examples.

        Raises:
          InputError: there are fewer than two labels.
        """
        labels = tuple(sorted({str(example.label) for example in examples}))
        if len(labels) < 2:
            raise InputError(f"{where} has one label only, {labels[0]!r}; at least two are wanted.")
        return dataclasses.replace(self, labels=labels)

    def with_labels(self, labels: Iterable[str], num_texts: int) -> Task:
        """This task with the labels a model was trained on (its model.json).

        Raises:
          InputError: the task has other labels or texts.
        """
        labels = tuple(labels)
        if self.is_own_data and num_texts >= self.num_texts:
            return dataclasses.replace(self.with_num_texts(num_texts), labels=labels)
        if (labels, num_texts) != (self.labels, self.num_texts):
            raise InputError(
                f"The model was trained on {num_texts} texts and labels {list(labels)}; "
                f"task {self.name!r} has {self.num_texts} and {list(self.labels)}."
            )
        return self

    def with_num_texts(self, num_texts: int) -> Task:
        """This task of a user's own data with 1 or 2 texts per example."""
        text_b = (self.columns.text_b or TEXT_B) if num_texts == 2 else None
        return dataclasses.replace(
            self,
            columns=dataclasses.replace(self.columns, text_b=text_b),
            test_columns=dataclasses.replace(self.test_columns, text_b=text_b),
        )


REGISTRY = {
    "cola": Task(
        name="cola",
        summary="Is the sentence grammatical?",
        kind="classify",
        labels=("0", "1"),
        metrics=("matthews", "accuracy"),
        columns=Columns(text_a=3, label=1),  # train and dev have no header, test has one
        test_columns=Columns(text_a="sentence", row_id="index"),
    ),
    "sst-2": Task(
        name="sst-2",
        summary="Is the sentence of a film review positive?",
        kind="classify",
        labels=("0", "1"),
        metrics=("accuracy",),
        columns=Columns(text_a="sentence", label="label"),
        test_columns=Columns(text_a="sentence", row_id="index"),
    ),
    "mrpc": Task(
        name="mrpc",
        summary="Do the two sentences say the same?",
        kind="classify",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        columns=Columns(text_a="#1 String", text_b="#2 String", label="Quality"),
        test_columns=Columns(text_a="#1 String", text_b="#2 String", row_id="index"),
    ),
    "sts-b": Task(
        name="sts-b",
        summary="How similar are the two sentences, from 0 to 5?",
        kind="regress",
        metrics=("spearman", "pearson"),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="score"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        value_range=(0.0, 5.0),
    ),
    "qqp": Task(
        name="qqp",
        summary="Do the two questions ask the same?",
        kind="classify",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        columns=Columns(text_a="question1", text_b="question2", label="is_duplicate"),
        test_columns=Columns(text_a="question1", text_b="question2", row_id="id"),
        skip_broken_rows=True,  # line ends inside questions break a few rows of the official file
    ),
    "mnli": Task(
        name="mnli",
        summary="Does the second sentence follow, contradict, or neither?",
        kind="classify",
        labels=("contradiction", "entailment", "neutral"),
        metrics=("accuracy",),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="gold_label"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        files=_TWO_DOMAINS,
    ),
    "qnli": Task(
        name="qnli",
        summary="Does the sentence answer the question?",
        kind="classify",
        labels=_ENTAILMENT,
        metrics=("accuracy",),
        columns=Columns(text_a="question", text_b="sentence", label="label"),
        test_columns=Columns(text_a="question", text_b="sentence", row_id="index"),
    ),
    "rte": Task(
        name="rte",
        summary="Does the second sentence follow from the first?",
        kind="classify",
        labels=_ENTAILMENT,
        metrics=("accuracy",),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
    ),
    "wnli": Task(
        name="wnli",
        summary="Does the second sentence name what a pronoun refers to?",
        kind="classify",
        labels=("0", "1"),
        metrics=("accuracy",),
        columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
        test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
    ),
    "tsv": Task(
        name="tsv",
        summary="Own data with labels, in TSV or CSV: one or two texts.",
        kind="classify",
        metrics=("accuracy",),
        columns=Columns(text_a=TEXT_A, label=LABEL),
        test_columns=Columns(text_a=TEXT_A),
        is_own_data=True,
    ),
    "tsv-regression": Task(
        name="tsv-regression",
        summary="Own data with numbers in place of labels.",
        kind="regress",
        metrics=("spearman", "pearson"),
        columns=Columns(text_a=TEXT_A, label=LABEL),
        test_columns=Columns(text_a=TEXT_A),
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
) -> Task:
    """The task of a user's own data, whose labels are not known yet.

    Args:
      kind: of `KINDS`.
      columns: None: those of `REGISTRY`.
      files: from split to path; None: train.tsv or train.csv and so on in a directory.
    """
    (task,) = [each for each in REGISTRY.values() if each.is_own_data and each.kind == kind]
    if columns:
        without_label = dataclasses.replace(columns, label=None)
        task = dataclasses.replace(task, columns=columns, test_columns=without_label)
    if files is not None:
        task = dataclasses.replace(task, files={split: {"": files[split]} for split in files})
    return task


def overview() -> str:
    """The list of tasks, a line each, for --help."""
    width = max(map(len, REGISTRY))
    lines = [f"  {name:{width}}  {task.summary}" for name, task in REGISTRY.items()]
    return "\n".join(["Tasks (--task_name):", *lines])


def _squeezed(name: str) -> str:
    return re.sub(r"[-_]", "", name.strip().lower())
