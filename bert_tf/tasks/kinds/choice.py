"""One of several texts that may follow a text (BERT section 4.4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bert_tf import features, progress
from bert_tf.examples import packing, readers
from bert_tf.examples.labelled import ChoiceExample
from bert_tf.examples.rows import Rows, Values
from bert_tf.tasks import metrics, predictions
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.scoring import calibration, details
from bert_tf.tasks.task import Batch, SumAndCount, Task, log_softmax, weights_of
from bert_tf.text.wordpiece import WordPieceTokenizer

_NO_CHOICE = -1e9  # a logit whose exponential is 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice(Task[ChoiceExample]):
    """The number of the right one of W choices. A row has a sequence for each choice."""

    kind: ClassVar[str] = "choice"
    answers: ClassVar[str] = metrics.CHOICES
    metrics: tuple[str, ...] = ("accuracy",)

    @classmethod
    def default_layout(cls, num_texts: int) -> readers.ChoiceLayout:
        return readers.ChoiceLayout(context=("context",), choices=("choices",), label="label")

    @property
    def num_texts(self) -> int:
        return 2

    @property
    def read_label(self) -> readers.LabelReader:
        return readers.any_label  # the layout knows how many choices there are

    def encode(
        self, examples: Sequence[ChoiceExample], tokenizer: WordPieceTokenizer, max_seq_length: int
    ) -> Rows:
        word_ids: list[list[int]] = []
        type_ids: list[list[int]] = []
        for example in progress.counted(examples, "tokenize", "examples"):
            context = tokenizer.encode(example.context)
            for choice in example.choices:
                packed = packing.pack(
                    context, tokenizer.encode(choice), tokenizer.vocabulary, max_seq_length
                )
                word_ids.append(packed[0])
                type_ids.append(packed[1])
        sizes = np.array([len(example.choices) for example in examples], np.int64)
        labels: dict[str, Values] = {}
        if examples[0].label is not None:
            ids = np.array([int(example.label or 0) for example in examples], np.int32)
            labels = {features.LABEL_IDS.name: ids, **weights_of(examples)}
        return Rows(word_ids, type_ids, labels, sizes)

    def without_effect(self, num_layers: int) -> tuple[str, ...]:
        """The bias adds the same number to all choices: it cancels in their softmax."""
        return ("classifier/bias",)

    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        from bert_tf.modeling import losses

        logits, labels = outputs["logits"], batch[features.LABEL_IDS.name]  # [B W], [B]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        return {
            "loss": losses.classification(logits, labels, weights),
            "accuracy": losses.accuracy(logits, labels, weights),
        }

    def teacher_features(
        self, rows: Rows, teacher_rows: Rows, logits: Sequence[np.ndarray]
    ) -> dict[str, Values]:
        """[N W], very negative for choices that a row lacks, as the model's logits are."""
        padded = np.full((len(rows), rows.num_sequences or 1), _NO_CHOICE, np.float32)
        sizes = rows.sequence_counts
        assert sizes is not None, "a row has choices"
        for target, size, of_row in zip(padded, sizes, logits, strict=True):
            target[:size] = of_row[:size]
        return {features.TEACHER_LOGITS.name: padded}

    def distillation_loss(
        self, outputs: dict[str, Any], batch: Batch, temperature: float
    ) -> SumAndCount:
        from keras import ops

        num_choices = ops.shape(outputs["logits"])[1]  # of this batch, not of all rows
        teacher = batch[features.TEACHER_LOGITS.name][:, :num_choices]
        batch = batch | {features.TEACHER_LOGITS.name: teacher}
        return super().distillation_loss(outputs, batch, temperature)

    def evaluate(
        self, examples: Sequence[ChoiceExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> Evaluation:
        references = np.asarray(rows.labels[features.LABEL_IDS.name])
        probabilities = _probabilities(examples, logits)  # [N W]
        answers = probabilities.argmax(axis=-1)
        scores = metrics.evaluate(self.metrics, answers, references, probabilities)
        of_references = probabilities[np.arange(len(references)), references]
        tiny = np.finfo(np.float64).tiny
        scores["loss"] = float(-np.mean(np.log(np.maximum(of_references, tiny))))
        return Evaluation(
            scores,
            calibration=calibration.of_labels(probabilities, references),
            tables=details.of_choices(examples, probabilities, references),
        )

    def write_predictions(
        self,
        directory: str,
        suffix: str,
        examples: Sequence[ChoiceExample],
        rows: Rows,
        logits: Sequence[np.ndarray],
    ) -> list[str]:
        probabilities = _probabilities(examples, logits)
        answers = probabilities.argmax(axis=-1)
        numbers = [str(number) for number in range(probabilities.shape[1])]
        return predictions.write(directory, suffix, examples, answers, probabilities, numbers)


def _probabilities(examples: Sequence[ChoiceExample], logits: Sequence[np.ndarray]) -> np.ndarray:
    """float64 [N W]; 0 for choices that an example lacks."""
    sizes = [len(example.choices) for example in examples]
    found = np.zeros((len(sizes), max(sizes)))
    for row, size, of_row in zip(found, sizes, logits, strict=True):
        row[:size] = np.exp(log_softmax(of_row[:size]))
    return found
