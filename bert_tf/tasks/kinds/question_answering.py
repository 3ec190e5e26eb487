"""The part of a passage that answers a question (BERT sections 4.2 and 4.3).

A passage that is longer than a row is read in overlapping windows, each of which is a row.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bert_tf import features, progress
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.errors import InputError
from bert_tf.examples import readers, spans
from bert_tf.examples.labelled import SpanExample
from bert_tf.examples.rows import Rows, Values
from bert_tf.examples.spans import Window
from bert_tf.tasks import metrics, squad, squad_metrics
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.scoring import questions
from bert_tf.tasks.task import Batch, SumAndCount, Task
from bert_tf.text.wordpiece import WordPieceTokenizer

THRESHOLD = "null_score_diff_threshold"
_NAMES = {False: "squad-1.1", True: "squad-2.0"}  # by whether questions may be unanswerable


@dataclasses.dataclass(frozen=True)
class WindowRows(Rows):
    """Rows that are windows of passages.

    Attributes:
      windows: in the order of the rows.
    """

    windows: Sequence[Window] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionAnswering(Task[SpanExample]):
    """Questions about passages; what the attributes mean the flags of run_squad.py say.

    Attributes:
      null_score_diff_threshold: None: the one with the best F1 on the set that is scored, and 0
        for predictions.
    """

    kind: ClassVar[str] = "span"
    answers: ClassVar[str] = metrics.SPANS
    result_prefix: ClassVar[str] = ""

    layout: readers.SquadLayout
    doc_stride: int = 128
    max_query_length: int = 64
    n_best_size: int = 20
    max_answer_length: int = 30
    null_score_diff_threshold: float | None = None
    unanswerable_window_rate: float | None = None

    @classmethod
    def new(
        cls,
        layout: readers.SquadLayout,
        files: Mapping[str, str] | None = None,
        unanswerable_window_rate: float | None = None,
    ) -> Self:
        """The task of some files.

        Args:
          files: from split to path.
          unanswerable_window_rate: see the attributes.
        """
        is_v2 = layout.version_2_with_negative
        return cls(
            name=_NAMES[is_v2],
            summary="",
            layout=layout,
            metrics=("f1", "exact" if is_v2 else "exact_match"),
            files={split: {"": path} for split, path in (files or {}).items()},
            unanswerable_window_rate=unanswerable_window_rate,
        )

    @classmethod
    def of_model(cls, metadata: ModelMetadata) -> Self:
        is_v2 = metadata.task == _NAMES[True]
        return cls.new(readers.SquadLayout(version_2_with_negative=is_v2))

    @classmethod
    def default_layout(cls, num_texts: int) -> readers.SquadLayout:
        return readers.SquadLayout()

    @property
    def version_2_with_negative(self) -> bool:
        """Whether questions may be unanswerable (SQuAD 2.0)."""
        return self.layout.version_2_with_negative

    @property
    def deciding_metrics(self) -> tuple[str, ...]:
        return self.metrics

    @property
    def num_texts(self) -> int:
        return 2

    @property
    def shortest_row(self) -> int:
        return self.max_query_length + 4  # [CLS] question [SEP] a token [SEP]

    @property
    def read_label(self) -> readers.LabelReader:
        return readers.any_label  # the layout knows what an answer is

    def for_training(self) -> Self:
        layout = dataclasses.replace(self.layout, is_training=True)
        return dataclasses.replace(self, layout=layout)

    @property
    def settings(self) -> dict[str, Any]:
        """Those that are not at their defaults."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        found = {name: getattr(self, name) for name in KINDS[self.kind].settings}
        return {name: value for name, value in found.items() if value != defaults[name]}

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        super().with_settings(settings)
        own = KINDS[self.kind].settings  # and not the members of an ensemble
        known = {name: value for name, value in settings.items() if name in own}
        return dataclasses.replace(self, **known)

    def settings_found(self, scores: Mapping[str, float]) -> dict[str, Any]:
        """The threshold of the best weights, unless a flag has set one."""
        if THRESHOLD not in scores or self.null_score_diff_threshold is not None:
            return {}
        return {THRESHOLD: scores[THRESHOLD]}

    def check(self, split: str, examples: Sequence[SpanExample]) -> None:
        """See `Task.check`; predictions are kept by id, and scores need right answers."""
        where = self.path(split, None)
        squad.require_unique_ids(examples, where)
        if split == "dev" and not any(example.answers for example in examples):
            raise InputError(
                f"--do_eval: no question of --predict_file={where} has a gold answer to score by; "
                "give --do_predict only."
            )

    # Examples to rows.

    def encode(
        self, examples: Sequence[SpanExample], tokenizer: WordPieceTokenizer, max_seq_length: int
    ) -> WindowRows:
        """Cuts passages into windows; those to train on have labels.

        Raises:
          InputError: there is no room for a window.
        """
        is_training = self.layout.is_training
        found = spans.make_windows(
            progress.counted(examples, "tokenize", "questions"),
            tokenizer,
            tokenizer.vocabulary,
            max_seq_length=max_seq_length,
            doc_stride=self.doc_stride,
            max_query_length=self.max_query_length,
        )
        windows = [each for each in found if not is_training or self._is_kept(examples, each)]
        labels: dict[str, Values] = {}
        if is_training:
            labels = {
                features.START_POSITIONS.name: np.array(
                    [each.start_position for each in windows], np.int32
                ),
                features.END_POSITIONS.name: np.array(
                    [each.end_position for each in windows], np.int32
                ),
            }
        return WindowRows(
            [each.word_ids for each in windows],
            [each.type_ids for each in windows],
            labels,
            windows=() if is_training else windows,
        )

    def _is_kept(self, examples: Sequence[SpanExample], window: Window) -> bool:
        """Whether to train on a window.

        [CLS] is never right in SQuAD 1.1, so the windows without an answer are left out there. The
        released code means to, but keeps them.
        """
        rate = self.unanswerable_window_rate
        if rate is None:
            rate = float(self.version_2_with_negative)
        if window.has_answer or rate == 1.0:
            return True
        # A hash, so that a window is kept or left out whatever else is in the data set.
        key = f"{examples[window.example_index].question_id} {window.context_start}"
        return zlib.crc32(key.encode()) < rate * 2**32

    # What is learned.

    @property
    def identity(self) -> dict[str, Any]:
        """Nothing that the rows do not tell."""
        return {}

    def without_effect(self, num_layers: int) -> tuple[str, ...]:
        """What adds the same number to the logits of all tokens: it cancels in their softmax."""
        return "span/bias", f"layer_{num_layers - 1}/output_layer_norm/beta"

    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        from bert_tf.modeling import losses

        logits = outputs["logits"]  # [B 2 T]
        start_logits, end_logits = logits[:, 0], logits[:, 1]
        starts = batch[features.START_POSITIONS.name]
        ends = batch[features.END_POSITIONS.name]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        both = losses.hits(start_logits, starts) * losses.hits(end_logits, ends)
        return {
            "loss": losses.span(start_logits, end_logits, starts, ends, weights),
            "exact_spans": losses.sum_and_size(both, weights),
        }

    # What a student learns from a teacher.

    def check_teacher_rows(self, rows: Rows, teacher_rows: Rows) -> None:
        """Raises InputError: the windows of a teacher are other windows."""
        if list(rows.word_ids) != list(teacher_rows.word_ids):
            raise InputError(
                "--teacher reads other windows than the student. Give the --max_seq_length, "
                "--doc_stride, --max_query_length and vocabulary of its training (its flags.txt)."
            )

    def teacher_features(
        self, rows: Rows, teacher_rows: Rows, logits: Sequence[np.ndarray]
    ) -> dict[str, Values]:
        """Arrays [2 T] of the rows, without padding."""
        found = [
            of_row[:, :length].astype(np.float32)
            for of_row, length in zip(logits, rows.lengths.tolist(), strict=True)
        ]
        return {features.TEACHER_TOKEN_LOGITS.name: found}

    def distillation_loss(
        self, outputs: dict[str, Any], batch: Batch, temperature: float
    ) -> SumAndCount:
        from bert_tf.modeling import distillation_losses

        return distillation_losses.spans(
            outputs["logits"],
            batch[features.TEACHER_TOKEN_LOGITS.name],
            batch[features.MASK.name],
            temperature,
            batch.get(features.EXAMPLE_WEIGHTS.name),
        )

    # Logits to answers.

    def evaluate(
        self, examples: Sequence[SpanExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> Evaluation:
        """The official metrics, in percent.

        Of SQuAD 2.0 also the thresholds with the best scores; `exact` and `f1` are those at
        `null_score_diff_threshold` or, if that is None, at the threshold with the best F1.
        """
        predictions = self.predict(examples, rows, logits)
        found: dict[str, float] = {}
        if self.version_2_with_negative:
            pairs = _by_id(examples, predictions)
            odds = {question_id: each.null_odds for question_id, each in pairs.items()}
            best = {question_id: each.best_text for question_id, each in pairs.items()}
            highest = squad_metrics.best_thresholds(examples, best, odds)
            # The names of the best weights' scores begin with "best" in eval_results.txt.
            found = {name.replace("best", "highest"): x for name, x in highest.items()}
            threshold = self.null_score_diff_threshold
            if threshold is None:
                threshold = squad_metrics.threshold_to_keep(examples, best, odds)
            found[THRESHOLD] = threshold
            predictions = [each.at_threshold(threshold) for each in predictions]
        texts = {name: each.text for name, each in _by_id(examples, predictions).items()}
        scores = squad_metrics.evaluate(
            examples, texts, version_2_with_negative=self.version_2_with_negative
        )
        scores = {"f1": scores.pop("f1"), **scores, **found}
        return questions.evaluation(scores, examples, predictions, found.get(THRESHOLD))

    def predict(
        self, examples: Sequence[SpanExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> list[squad.Prediction]:
        """The predictions of the questions, in their order; arguments as of `evaluate`."""
        assert isinstance(rows, WindowRows), "`encode` made them"
        return squad.decode(
            examples,
            rows.windows,
            [of_row[0] for of_row in logits],
            [of_row[1] for of_row in logits],
            n_best_size=self.n_best_size,
            max_answer_length=self.max_answer_length,
            version_2_with_negative=self.version_2_with_negative,
            null_score_diff_threshold=self.null_score_diff_threshold or 0.0,
        )

    def write_predictions(
        self,
        directory: str,
        suffix: str,
        examples: Sequence[SpanExample],
        rows: Rows,
        logits: Sequence[np.ndarray],
    ) -> list[str]:
        predictions = self.predict(examples, rows, logits)
        return squad.write_predictions(directory, examples, predictions)


def _by_id(
    examples: Sequence[SpanExample], predictions: Sequence[squad.Prediction]
) -> dict[str, squad.Prediction]:
    return {
        example.question_id: prediction
        for example, prediction in zip(examples, predictions, strict=True)
    }
