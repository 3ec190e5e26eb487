"""One label for a text or a pair of texts (BERT section 4.1)."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.rows import Rows, Values
from bert_tf.tasks import metrics, predictions
from bert_tf.tasks.evaluation import Evaluation, confusion
from bert_tf.tasks.kinds import class_weights as weights_of_classes
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.tasks.scoring import calibration, details
from bert_tf.tasks.task import Batch, SumAndCount, Task, log_softmax


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classification(TextTask):
    """One of C labels for each example.

    Attributes:
      class_weights: "balanced", or from label to the weight of its rows in training, 1 for labels
        that it lacks; None: all are 1. Weights of rows are multiplied.
    """

    kind: ClassVar[str] = "classify"
    answers: ClassVar[str] = metrics.LABELS
    metrics: tuple[str, ...] = ("accuracy",)
    class_weights: str | Mapping[str, float] | None = None

    def read(
        self, split: str, data_dir: str | None, *, is_quiet: bool = False
    ) -> list[tuple[str, list[TextExample]]]:
        """See `Task.read`; training examples have the weights of their classes."""
        sets = super().read(split, data_dir, is_quiet=is_quiet)
        if split != "train" or self.class_weights is None:
            return sets
        return [(name, self._weighted(examples)) for name, examples in sets]

    def weighted(
        self, class_weights: str, examples: Sequence[TextExample]
    ) -> tuple[Task, Sequence[TextExample]]:
        if self.class_weights is not None:
            raise InputError(
                f"--class_weights={class_weights} and class_weights of the task file exclude each "
                "other. Leave one out."
            )
        task = dataclasses.replace(self, class_weights=class_weights)
        return task, task._weighted(examples)

    def _weighted(self, examples: Sequence[TextExample]) -> list[TextExample]:
        counts = collections.Counter(str(example.label) for example in examples)
        if isinstance(self.class_weights, Mapping):
            weights = self.class_weights
            if unknown := set(weights) - set(self.labels or counts):
                raise InputError(
                    f"class_weights names {sorted(unknown)[0]!r}, which is no label; labels: "
                    f"{', '.join(self.labels or sorted(counts))}."
                )
        else:
            labels = list(counts)
            found = weights_of_classes.balanced(counts, labels)
            weights = dict(zip(labels, found, strict=True))
        return [
            dataclasses.replace(each, weight=each.weight * weights.get(str(each.label), 1.0))
            for each in examples
        ]

    @property
    def read_label(self) -> readers.LabelReader:
        return readers.one_of(self.labels) if self.labels else readers.any_label

    def labels_of(self, example: TextExample) -> Iterable[str]:
        return () if example.label is None else (str(example.label),)

    def label_features(self, examples: Sequence[TextExample]) -> dict[str, Values]:
        index: dict[object, int] = {label: i for i, label in enumerate(self.labels)}
        ids = np.array([index[example.label] for example in examples], np.int32)
        return {features.LABEL_IDS.name: ids}

    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        from bert_tf.modeling import losses

        logits, labels = outputs["logits"], batch[features.LABEL_IDS.name]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        return {
            "loss": losses.classification(logits, labels, weights),
            "accuracy": losses.accuracy(logits, labels, weights),
        }

    def evaluate(
        self, examples: Sequence[TextExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> Evaluation:
        references = np.asarray(rows.labels[features.LABEL_IDS.name])
        log_probabilities = log_softmax(np.stack(logits))  # [N C]
        answers = log_probabilities.argmax(axis=-1)
        probabilities = np.exp(log_probabilities)
        scores = metrics.evaluate(self.metrics, answers, references, probabilities)
        of_references = log_probabilities[np.arange(len(references)), references]
        scores["loss"] = float(-np.mean(of_references))
        return Evaluation(
            scores,
            confusion(answers, references, len(self.labels)),
            calibration.of_labels(probabilities, references),
            details.of_labels(examples, self.labels, probabilities, references),
        )

    def write_predictions(
        self,
        directory: str,
        suffix: str,
        examples: Sequence[TextExample],
        rows: Rows,
        logits: Sequence[np.ndarray],
    ) -> list[str]:
        probabilities = np.exp(log_softmax(np.stack(logits)))  # [N C]
        answers = [self.labels[i] for i in probabilities.argmax(axis=-1)]
        return predictions.write(directory, suffix, examples, answers, probabilities, self.labels)

    def answer(self, logits: Any) -> dict[str, Any]:
        import tensorflow as tf

        return {
            "label": tf.gather(tf.constant(self.labels), tf.argmax(logits, axis=1)),  # [B]
            "labels": self.labels_of_rows(logits),  # [B C]
            "probabilities": tf.nn.softmax(logits),  # [B C]
            "logits": logits,
        }
