"""Any number of labels for a text or a pair of texts: a yes or no for each label."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from bert_tf import features
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.rows import Rows, Values
from bert_tf.tasks import metrics, predictions
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.kinds import class_weights as weights_of_classes
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.tasks.scoring import calibration, details
from bert_tf.tasks.task import Batch, SumAndCount, Task

_THRESHOLD = 0.5  # of the probability from which on a label holds


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultiLabel(TextTask):
    """A set of the C labels for each example, which may be empty.

    Attributes:
      separator: between the labels of a cell.
      label_weights: of an example that has the label, in the binary cross-entropy of each of
        `labels`; empty: 1 each.
    """

    kind: ClassVar[str] = "multi_label"
    answers: ClassVar[str] = metrics.LABEL_SETS
    metrics: tuple[str, ...] = ("micro_f1", "macro_f1", "exact_match")
    separator: str = ","

    @property
    def read_label(self) -> readers.LabelReader:
        one = readers.one_of(self.labels) if self.labels else readers.any_label
        return readers.several(one, self.separator)

    def labels_of(self, example: TextExample) -> Iterable[str]:
        return example.label if isinstance(example.label, tuple) else ()

    def label_features(self, examples: Sequence[TextExample]) -> dict[str, Values]:
        vectors = [[label in self.labels_of(each) for label in self.labels] for each in examples]
        return {features.LABEL_VECTORS.name: np.array(vectors, np.float32)}

    def weighted(
        self, class_weights: str, examples: Sequence[TextExample]
    ) -> tuple[Task, Sequence[TextExample]]:
        counts = collections.Counter(label for each in examples for label in self.labels_of(each))
        weights = weights_of_classes.of_positives(counts, len(examples), self.labels)
        return dataclasses.replace(self, label_weights=weights), examples

    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        from bert_tf.modeling import losses

        vectors = batch[features.LABEL_VECTORS.name]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        loss = losses.multi_label(outputs["logits"], vectors, weights, self.label_weights)
        return {"loss": loss}

    def distillation_loss(
        self, outputs: dict[str, Any], batch: Batch, temperature: float
    ) -> SumAndCount:
        from bert_tf.modeling import distillation_losses

        teacher = batch[features.TEACHER_LOGITS.name]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        return distillation_losses.multi_label(outputs["logits"], teacher, temperature, weights)

    def evaluate(
        self, examples: Sequence[TextExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> Evaluation:
        references = np.asarray(rows.labels[features.LABEL_VECTORS.name]) > 0  # [N C]
        probabilities = _sigmoid(np.stack(logits))
        answers = probabilities >= _THRESHOLD
        scores = metrics.evaluate(self.metrics, answers, references, probabilities)
        of_references = np.where(references, probabilities, 1.0 - probabilities)
        tiny = np.finfo(np.float64).tiny
        scores["loss"] = float(-np.mean(np.log(np.maximum(of_references, tiny))))
        return Evaluation(
            scores,
            calibration=calibration.of_label_sets(probabilities, references),
            tables=details.of_label_sets(examples, self.labels, probabilities, references),
        )

    def write_predictions(
        self,
        directory: str,
        suffix: str,
        examples: Sequence[TextExample],
        rows: Rows,
        logits: Sequence[np.ndarray],
    ) -> list[str]:
        probabilities = _sigmoid(np.stack(logits))  # [N C]
        answers = [
            self.separator.join(np.array(self.labels)[row >= _THRESHOLD]) for row in probabilities
        ]
        return predictions.write(directory, suffix, examples, answers, probabilities, self.labels)

    def answer(self, logits: Any) -> dict[str, Any]:
        import tensorflow as tf

        return {
            "labels": self.labels_of_rows(logits),  # [B C]
            "probabilities": tf.sigmoid(logits),  # [B C], of each label by itself
            "logits": logits,
        }


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    """float64, without overflow."""
    return np.exp(-np.logaddexp(0.0, -logits.astype(np.float64)))
