"""The teacher: what --teacher names, and its answers for the training rows.

They are computed once, without dropout, before the first update, and kept in the run's directory.
So a restart learns from the same answers, and an update takes no longer than without a teacher.
"""

import abc
import dataclasses
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bert_tf import features, files
from bert_tf.checkpoints.model_directory import MEMBERS, ModelDirectory
from bert_tf.errors import InputError
from bert_tf.examples.labelled import Example
from bert_tf.examples.rows import Rows, Values
from bert_tf.options import TaskTraining
from bert_tf.progress import Progress, status
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.tasks.task import Task
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.training.inputs import Inputs

_FILE = "teacher_logits.npz"
_GRAPH_FILE = "saved_model.pb"
_SIGNATURE = "serving_default"


@dataclasses.dataclass(frozen=True)
class Teacher(abc.ABC):
    """A trained model.

    Attributes:
      path: its directory.
    """

    path: str

    @abc.abstractmethod
    def check(self, task: Task, inputs: Inputs[TaskTraining]) -> None:
        """Refuses a student that this teacher cannot teach.

        Raises:
          InputError: the two answer different questions; the message has what differs.
        """

    @abc.abstractmethod
    def features(
        self, task: Task, examples: Sequence[Example], rows: Rows, batch_size: int
    ) -> dict[str, Values]:
        """The features of the student's rows that hold the answers.

        Args:
          task: the student's.
          rows: of the examples.
        """

    @abc.abstractmethod
    def files(self) -> Iterable[str]:
        """The files that decide its answers."""

    def digest(self) -> str:
        """sha256 over its files; equal for equal answers, wherever they lie."""
        return files.digest(self.path, self.files())


@dataclasses.dataclass(frozen=True)
class TrainedTeacher(Teacher):
    """A model directory. Its text side and its length are its own."""

    directory: ModelDirectory

    def check(self, task: Task, inputs: Inputs[TaskTraining]) -> None:
        """See `Teacher`; to teach its hidden states it must also be of the student's width."""
        theirs = self.directory.metadata
        wanted = {"kind": task.kind, "labels": task.labels, "num_texts": task.num_texts}
        differences = [
            f"{name} is {getattr(theirs, name)!r} there and {value!r} here"
            for name, value in wanted.items()
            if getattr(theirs, name) != value
        ]
        if theirs.feature_based:
            differences.append("it reads frozen layers, which only its own training computes")
        if inputs.options.distillation_alpha_cos:
            differences += self._differences_of_states(inputs)
        if differences:
            raise InputError(
                f"--teacher={self.path} cannot teach this student: {'; '.join(differences)}. Give "
                "a teacher that was trained on the same task."
            )

    def _differences_of_states(self, inputs: Inputs[TaskTraining]) -> list[str]:
        config, found = self.directory.config, []
        if MEMBERS in self.directory.metadata.settings:
            found.append("--distillation_alpha_cos needs one model, and it is an ensemble")
        if config.hidden_size != inputs.config.hidden_size:
            found.append(
                f"--distillation_alpha_cos compares hidden states, whose width is "
                f"{config.hidden_size} there and {inputs.config.hidden_size} here"
            )
        if self.directory.vocabulary.sha256 != inputs.vocabulary.sha256:
            found.append("--distillation_alpha_cos needs the same vocabulary, and they differ")
        if config.max_position_embeddings < inputs.options.max_seq_length:
            found.append(
                f"it has {config.max_position_embeddings} positions, fewer than "
                f"--max_seq_length={inputs.options.max_seq_length}"
            )
        return found

    def features(
        self, task: Task, examples: Sequence[Example], rows: Rows, batch_size: int
    ) -> dict[str, Values]:
        """See `Teacher`."""
        from bert_tf.training.finetuning.predict import (
            Predictor,  # TensorFlow takes seconds to load
        )

        metadata = self.directory.metadata
        own = registry.of_model(metadata)
        assert own is not None, "`check` has compared the kinds"
        tokenizer = WordPieceTokenizer(self.directory.vocabulary, metadata.do_lower_case)
        rows_of = own.for_training().encode
        teacher_rows = rows_of(examples, tokenizer, metadata.max_seq_length)
        task.check_teacher_rows(rows, teacher_rows)
        with status("Loading the weights of the teacher"):
            predictor = Predictor(self.directory.build_model())
        logits = predictor.logits(teacher_rows, batch_size, "teacher")
        return task.teacher_features(rows, teacher_rows, logits)

    def files(self) -> Iterable[str]:
        """See `Teacher`."""
        return self.directory.files()


@dataclasses.dataclass(frozen=True)
class ExportedTeacher(Teacher):
    """A SavedModel that `export.savedmodel` wrote: texts in, logits out."""

    def check(self, task: Task, inputs: Inputs[TaskTraining]) -> None:
        """See `Teacher`."""
        if not isinstance(task, TextTask):
            raise InputError(
                f"--teacher={self.path} is a SavedModel, which answers texts, and task "
                f"{task.name!r} has other examples. Give the model directory it was made from."
            )
        labels: tuple[str, ...] = ()
        labels_file = os.path.join(self.path, "assets", "labels.txt")
        if os.path.isfile(labels_file):
            with open(labels_file, encoding="utf-8") as file:
                labels = tuple(file.read().splitlines())
        if labels != task.labels:
            raise InputError(
                f"--teacher={self.path} cannot teach this student: its labels are {list(labels)}, "
                f"and those of the task {list(task.labels)}."
            )
        if inputs.options.distillation_alpha_cos:
            raise InputError(
                f"--distillation_alpha_cos needs hidden states, which --teacher={self.path}, a "
                "SavedModel, does not give. Give the model directory it was made from."
            )

    def features(
        self, task: Task, examples: Sequence[Example], rows: Rows, batch_size: int
    ) -> dict[str, Values]:
        """See `Teacher`."""
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  the graph has its operations

        with status("Loading the teacher"):
            model = tf.saved_model.load(self.path)  # the signature does not keep it alive
            signature = model.signatures[_SIGNATURE]
        names = sorted(signature.structured_input_signature[1])  # text, or text_a and text_b
        if len(names) != task.num_texts:
            raise InputError(
                f"--teacher={self.path} takes {len(names)} texts, and the task has "
                f"{task.num_texts}."
            )
        columns = [[getattr(each, name) for each in examples] for name in ("text_a", "text_b")]
        logits: list[np.ndarray] = []
        with Progress("teacher", len(examples), "examples") as progress:
            for start in range(0, len(examples), batch_size):
                chunk = [column[start : start + batch_size] for column in columns[: len(names)]]
                texts = {name: tf.constant(x) for name, x in zip(names, chunk, strict=True)}
                logits += list(signature(**texts)["logits"].numpy())
                progress.advance(len(chunk[0]))
        return task.teacher_features(rows, rows, logits)

    def files(self) -> Iterable[str]:
        """See `Teacher`."""
        for parent, _, names in os.walk(self.path):
            yield from (os.path.join(parent, name) for name in names)


def open_teacher(path: str) -> Teacher:
    """What --teacher names.

    Raises:
      InputError: it is neither a model directory nor an export.
    """
    versions = [name for name in os.listdir(path) if name.isdigit()] if os.path.isdir(path) else []
    newest = os.path.join(path, max(versions, key=int)) if versions else path
    if os.path.isfile(os.path.join(newest, _GRAPH_FILE)):
        return ExportedTeacher(newest)
    return TrainedTeacher(path, ModelDirectory.open(path, "--teacher"))


def answered(
    teacher: Teacher,
    teacher_digest: str,
    task: Task,
    examples: Sequence[Example],
    rows: Rows,
    directory: str,
    batch_size: int,
) -> Rows:
    """The rows with the teacher's answers, which are computed unless `directory` has them.

    Args:
      teacher_digest: what `Teacher.digest` gives.
      rows: of the examples, with labels.
      directory: of the run.

    Raises:
      InputError: `directory` has the answers of another teacher, or for other rows.
    """
    path = os.path.join(directory, _FILE)
    key = hashlib.sha256(f"{teacher_digest} {rows.digest()}".encode()).hexdigest()
    found = _read(path, key, rows)
    if found is None:
        found = teacher.features(task, examples, rows, batch_size)
        _write(path, key, found)
    return dataclasses.replace(rows, labels={**rows.labels, **found})


def _read(path: str, key: str, rows: Rows) -> dict[str, Values] | None:
    """The features that a start before this one has kept for the same rows and teacher."""
    if not os.path.isfile(path):
        return None
    with np.load(path) as kept:
        if str(kept["key"]) != key:
            raise InputError(
                f"{path} holds the answers of another teacher, or for other rows: --output_dir is "
                "another run's. Give a new directory."
            )
        arrays = {name: kept[name] for name in kept.files if name != "key"}
    ends = np.cumsum(rows.lengths)[:-1]
    return {
        name: np.split(array, ends, axis=-1)
        if name == features.TEACHER_TOKEN_LOGITS.name
        else array
        for name, array in arrays.items()
    }


def _write(path: str, key: str, found: Mapping[str, Values]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    arrays: dict[str, Any] = {
        name: x if isinstance(x, np.ndarray) else np.concatenate(x, axis=-1)
        for name, x in found.items()
    }
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, key=np.array(key), **arrays)
