"""One number for a text or a pair of texts, as STS-B asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bert_tf import features
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.rows import Rows, Values
from bert_tf.tasks import metrics, predictions
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.tasks.scoring import details
from bert_tf.tasks.task import Batch, SumAndCount


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regression(TextTask):
    """A number for each example.

    Attributes:
      value_range: lowest and highest number that a label may be, or None.
    """

    kind: ClassVar[str] = "regress"
    answers: ClassVar[str] = metrics.VALUES
    metrics: tuple[str, ...] = ("spearman", "pearson")
    value_range: tuple[float, float] | None = None

    @property
    def read_label(self) -> readers.LabelReader:
        return readers.number(*self.value_range or ())

    def label_features(self, examples: Sequence[TextExample]) -> dict[str, Values]:
        values = np.array([example.label for example in examples], np.float32)
        return {features.LABEL_VALUES.name: values}

    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        from bert_tf.modeling import losses

        values = batch[features.LABEL_VALUES.name]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        return {"loss": losses.regression(outputs["logits"], values, weights)}

    def distillation_loss(
        self, outputs: dict[str, Any], batch: Batch, temperature: float
    ) -> SumAndCount:
        """The squared error against the teacher's numbers, which have no temperature."""
        from bert_tf.modeling import losses

        teacher = batch[features.TEACHER_LOGITS.name][:, 0]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        return losses.regression(outputs["logits"], teacher, weights)

    def evaluate(
        self, examples: Sequence[TextExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> Evaluation:
        answers = np.stack(logits)[:, 0]  # [N]
        references = np.asarray(rows.labels[features.LABEL_VALUES.name])
        scores = metrics.evaluate(self.metrics, answers, references)
        scores["loss"] = float(np.mean((answers - references) ** 2))
        return Evaluation(scores, tables=details.of_values(examples, answers, references))

    def write_predictions(
        self,
        directory: str,
        suffix: str,
        examples: Sequence[TextExample],
        rows: Rows,
        logits: Sequence[np.ndarray],
    ) -> list[str]:
        values = np.stack(logits)  # [N 1]
        return predictions.write(directory, suffix, examples, values[:, 0], values)

    def answer(self, logits: Any) -> dict[str, Any]:
        return {"score": logits[:, 0], "logits": logits}
