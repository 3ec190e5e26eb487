"""`Task`: a data set, and everything that its kind of example decides.

A kind is a subclass in a file of its own: how files become examples and examples rows, what is
learned, how answers are read off the logits, scored and written. A data set is an object of such a
class, an entry of `registry.REGISTRY`. Nobody else asks what kind a task is.

The modules of kinds load without TensorFlow, so that wrong input is refused at once. Methods that
run in the graph import Keras inside.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from bert_tf import features
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.model_directory import MEMBERS, ModelMetadata
from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import Example
from bert_tf.examples.rows import Rows, Values
from bert_tf.flagging import as_text
from bert_tf.tasks import set_files
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.text.wordpiece import WordPieceTokenizer

AnyExample = TypeVar("AnyExample", bound=Example)
Batch = dict[str, Any]  # of tensors, by the names of `features`
SumAndCount = tuple[Any, Any]  # float32 scalars


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(abc.ABC, Generic[AnyExample]):
    """A data set.

    Attributes:
      name: its key in `registry.REGISTRY`.
      summary: what is answered, for the list of tasks.
      layout: of its files.
      metrics: names in `metrics.METRICS`; the first one picks the best checkpoint. First is what
        the BERT paper reports.
      labels: in the order of the classes; empty for a kind without labels, and in a user's own data
        until `fitted` or `with_labels`.
      files: from split to set name to file name, or to path where there is no --data_dir. Of
        several names the first one that is there is read.
      is_own_data: whether only the files tell the labels.
      label_weights: of the labels in the loss, as the kind understands them; empty: 1 each.

    Class attributes:
      kind: key of `kinds.KINDS`: the model.
      answers: what they are, of those in `metrics`: which metrics suit.
      result_prefix: of the names of the dev set's scores in eval_results.txt.
    """

    name: str
    summary: str
    layout: readers.Layout[AnyExample]
    metrics: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    files: set_files.Files = dataclasses.field(default_factory=lambda: set_files.ONE_FILE)
    is_own_data: bool = False
    label_weights: tuple[float, ...] = ()

    kind: ClassVar[str]
    answers: ClassVar[str]
    result_prefix: ClassVar[str] = "eval_"

    @property
    def main_metric(self) -> str:
        """The metric that picks the best checkpoint."""
        return self.metrics[0]

    @property
    def deciding_metrics(self) -> tuple[str, ...]:
        """The metrics that may pick the best checkpoint."""
        return (*self.metrics, "loss")

    @property
    def num_texts(self) -> int:
        """Texts of an example that a served model is asked with, 1 or 2."""
        return 1

    @property
    def is_labelled(self) -> bool:
        """Whether each output of the model has a label."""
        return KINDS[self.kind].is_labelled

    # Files to examples.

    def read(
        self, split: str, data_dir: str | None, *, is_quiet: bool = False
    ) -> list[tuple[str, list[AnyExample]]]:
        """Reads the sets of a split; of several, those whose files are there.

        Args:
          split: "train", "dev" or "test".
          data_dir: the directory of this task's files; X.tsv.gz is read where there is no X.tsv.
            None: `files` are paths, which may hold `*`.
          is_quiet: whether to say nothing of blank lines.

        Returns:
          (set name, examples) of each set. The name is "" where a split is one set.

        Raises:
          InputError: no file of the split is there, or one is not as wanted.
        """
        if split not in self.files:
            raise InputError(
                f"Task {self.name} has no {split} set; it has: {', '.join(self.files)}."
            )
        task = self.for_training() if split == "train" else self
        found = [
            (
                set_name,
                readers.read_all(
                    task.layout.of_set(set_name),
                    self.path(split, data_dir, set_name),
                    self.read_label,
                    is_test=split == "test",
                    is_quiet=is_quiet,
                ),
            )
            for set_name in set_files.sets_there(self.files[split], split, data_dir)
        ]
        return [each for each in found if each[1]]  # a file of several sets may lack some

    def path(self, split: str, data_dir: str | None, set_name: str = "") -> str:
        """The file of a set; see `read`."""
        return set_files.path(self.files[split][set_name], data_dir)

    @property
    @abc.abstractmethod
    def read_label(self) -> readers.LabelReader:
        """From a cell of a file to a label, or a ValueError: it is none of this task's."""

    def for_training(self) -> Task:
        """This task as it reads and encodes what it is trained on."""
        return self

    def check(self, split: str, examples: Sequence[AnyExample]) -> None:
        """Checks the dev or the test set.

        Raises:
          InputError: it cannot be scored, or its predictions cannot be written.
        """

    # The labels of a user's own data.

    @property
    def needs_labels(self) -> bool:
        """Whether only the training set tells the labels."""
        return self.is_own_data and self.is_labelled and not self.labels

    def fitted(self, data_dir: str | None) -> Task:
        """This task with what the training file of a user's own data tells; otherwise itself.

        Raises:
          InputError: the file is not as wanted, or has fewer than two labels.
        """
        if not self.needs_labels:
            return self
        ((set_name, examples), *_) = self.read("train", data_dir, is_quiet=True)
        return self.with_labels_of(examples, self.path("train", data_dir, set_name))

    def with_labels_of(self, examples: Iterable[AnyExample], where: str) -> Task:
        """This task with the labels of some examples, sorted.

        Args:
          where: what a message calls the examples.

        Raises:
          InputError: there are fewer than two labels.
        """
        labels = tuple(sorted({label for each in examples for label in self.labels_of(each)}))
        if len(labels) < 2:
            raise InputError(
                f"{where} has one label only, {labels[0]!r}; at least two are wanted."
                if labels
                else f"{where} has no label; at least two are wanted."
            )
        return dataclasses.replace(self, labels=labels)

    def labels_of(self, example: AnyExample) -> Iterable[str]:
        """The labels that an example has, of a kind with labels."""
        return ()

    def with_labels(self, labels: Iterable[str], num_texts: int) -> Task:
        """This task with the labels a model was trained on (its model.json).

        Raises:
          InputError: the task has other labels or texts.
        """
        labels = tuple(labels)
        if self.is_own_data and num_texts == self.num_texts and not self.labels:
            return dataclasses.replace(self, labels=labels)
        if (labels, num_texts) != (self.labels, self.num_texts):
            raise InputError(
                f"The model was trained on {num_texts} texts and labels {list(labels)}; "
                f"task {self.name!r} has {self.num_texts} and {list(self.labels)}."
            )
        return self

    @classmethod
    def of_model(cls, metadata: ModelMetadata) -> Self:
        """The task of a trained model whose data set is not known, with defaults."""
        layout = cls.default_layout(metadata.num_texts)
        return cls(name=metadata.task, summary="", layout=layout, labels=metadata.labels)

    @classmethod
    @abc.abstractmethod
    def default_layout(cls, num_texts: int) -> readers.Layout[AnyExample]:
        """The layout of files that nothing is said about."""

    def metadata(self, *, do_lower_case: bool, max_seq_length: int) -> ModelMetadata:
        """What a model of this task answers, for its model.json."""
        return ModelMetadata(
            kind=self.kind,
            task=self.name,
            labels=self.labels,
            num_texts=self.num_texts,
            do_lower_case=do_lower_case,
            max_seq_length=max_seq_length,
            settings=self.settings,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What `with_settings` has changed, by the names of the flags; model.json remembers it."""
        return {}

    def with_settings(self, settings: Mapping[str, Any]) -> Task:
        """This task with other rows or another model than by default.

        Args:
          settings: see `ModelMetadata.settings`.

        Raises:
          InputError: they are of another kind of task.
        """
        kind = KINDS[self.kind]
        for name in settings.keys() - {*kind.settings, MEMBERS}:
            raise InputError(
                f"--{name}={as_text(settings[name])} is not for task {self.name!r}, which is of "
                f"kind {kind.title!r}. Leave it out."
            )
        return self

    def settings_found(self, scores: Mapping[str, float]) -> dict[str, Any]:
        """The settings that a model takes from the dev set's scores of its best weights."""
        return {}

    def weighted(
        self, class_weights: str, examples: Sequence[AnyExample]
    ) -> tuple[Task, Sequence[AnyExample]]:
        """This task and its training examples with weights of the labels in the loss.

        Args:
          class_weights: `class_weights.BALANCED`.
          examples: to train on.

        Raises:
          InputError: the task has no labels that could be weighted, or has weights already.
        """
        raise InputError(
            f"--class_weights={class_weights} is for tasks with labels; task {self.name} has none. "
            "Leave it out."
        )

    # Examples to rows.

    @property
    def shortest_row(self) -> int:
        """The least --max_seq_length: special tokens and one token of each text."""
        return 1 + 2 * self.num_texts

    @property
    def encodes_silently(self) -> bool:
        """Whether `encode` prints nothing but progress, so that worker processes can call it."""
        return True

    @abc.abstractmethod
    def encode(
        self, examples: Sequence[AnyExample], tokenizer: WordPieceTokenizer, max_seq_length: int
    ) -> Rows:
        """Tokenizes and packs examples; rows without labels where the examples have none."""

    # What is learned: as `training.step.objectives.Objective`.

    reads_hidden_states: ClassVar[bool] = False

    @property
    def identity(self) -> dict[str, Any]:
        """What of the task decides the result of a run, in addition to options and data."""
        return {"label_weights": list(self.label_weights)}

    @property
    def losses(self) -> tuple[str, ...]:
        """Names in what `measure` returns; the sum of their means is the training loss."""
        return ("loss",)

    def without_effect(self, num_layers: int) -> tuple[str, ...]:
        """Ends of the paths of weights that no loss of an encoder of L layers depends on."""
        return ()

    def prepare(self, batch: Batch) -> Batch:
        """The batch that the model, `counts` and `measure` take."""
        return batch

    def counts(self, batch: Batch) -> dict[str, Any]:
        """What each of `losses` is divided by, float32 scalars: told by the labels alone."""
        from keras import ops

        if (weights := batch.get(features.EXAMPLE_WEIGHTS.name)) is not None:
            return {"loss": ops.sum(weights)}
        return {"loss": ops.cast(ops.shape(batch[features.WORD_IDS.name])[0], "float32")}

    @abc.abstractmethod
    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        """Losses and accuracies of the model's outputs, as (sum, count)."""

    # What a student learns from a teacher; see `training.distillation`.

    def check_teacher_rows(self, rows: Rows, teacher_rows: Rows) -> None:
        """Checks the teacher's rows before it answers them; see `teacher_features`.

        Raises:
          InputError: its answers could not be assigned to the student's rows.
        """

    def teacher_features(
        self, rows: Rows, teacher_rows: Rows, logits: Sequence[np.ndarray]
    ) -> dict[str, Values]:
        """The features of a student's rows that hold a teacher's answers.

        Args:
          rows, teacher_rows: of the same examples, encoded for each of the two.
          logits: of the teacher's rows, see `evaluate`.
        """
        return {features.TEACHER_LOGITS.name: np.stack(logits).astype(np.float32)}

    def distillation_loss(
        self, outputs: dict[str, Any], batch: Batch, temperature: float
    ) -> SumAndCount:
        """How far the model's answers are from the teacher's; the count is that of the loss."""
        from bert_tf.modeling import distillation_losses

        logits = outputs["logits"]
        teacher = batch[features.TEACHER_LOGITS.name]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        return distillation_losses.classification(logits, teacher, temperature, weights)

    # Logits to answers.

    @abc.abstractmethod
    def evaluate(
        self, examples: Sequence[AnyExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> Evaluation:
        """Scores of a set with labels.

        Args:
          rows: of the examples, as `encode` made them.
          logits: of each row, float32 [C], [T' C] or [W'], where T' and W' may be padded.
        """

    @abc.abstractmethod
    def write_predictions(
        self,
        directory: str,
        suffix: str,
        examples: Sequence[AnyExample],
        rows: Rows,
        logits: Sequence[np.ndarray],
    ) -> list[str]:
        """Writes the prediction files of a set; returns their paths, the released one first.

        Args:
          suffix: of the files' names: "_" and the set's name, or "".
          rows, logits: see `evaluate`.
        """


def weights_of(examples: Sequence[Example]) -> dict[str, Values]:
    """The feature of the examples' weights; empty where all are 1."""
    weights = np.array([example.weight for example in examples], np.float32)
    return {} if np.all(weights == 1.0) else {features.EXAMPLE_WEIGHTS.name: weights}


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Natural logarithm of the softmax over the last axis, float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
