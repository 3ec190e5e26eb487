"""One label for a text or a pair of texts (BERT section 4.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from bert_tf import features
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.rows import Rows, Values
from bert_tf.tasks import metrics, predictions
from bert_tf.tasks.evaluation import Evaluation, confusion
from bert_tf.tasks.task import Batch, SumAndCount, accuracy, log_softmax
from bert_tf.tasks.text_task import TextTask


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classification(TextTask):
    """One of C labels for each example."""

    kind: ClassVar[str] = "classify"
    answers: ClassVar[str] = metrics.LABELS
    metrics: tuple[str, ...] = ("accuracy",)

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
            "accuracy": accuracy(logits, labels, batch),
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
        return Evaluation(scores, confusion(answers, references, len(self.labels)))

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
