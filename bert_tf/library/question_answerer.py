"""Answers questions by a part of a text."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from bert_tf import features
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples import batching, readers
from bert_tf.examples.labelled import SpanExample
from bert_tf.library import presets, texts
from bert_tf.library.text_model import TextModel
from bert_tf.library.tokenizer import Tokenizer
from bert_tf.modeling import Tensor, heads
from bert_tf.tasks import squad
from bert_tf.tasks.kinds.question_answering import QuestionAnswering

_BATCH_SIZE = 32


class Answer(NamedTuple):
    """The answer to one question.

    Attributes:
      text: `context[start:end]`; "" if the context holds no answer.
      probability: of this answer among the 20 best.
      start, end: characters; None if the context holds no answer.
    """

    text: str
    probability: float
    start: int | None
    end: int | None


@keras.saving.register_keras_serializable(package="bert_tf")
class QuestionAnswerer(TextModel):
    """The part of a text that answers a question (BERT sections 4.2 and 4.3).

    On plain strings it gives what `ask` gives.

    Args:
      may_be_unanswerable: whether it was trained with questions that have no answer (SQuAD 2.0).
      settings: how it is asked, by the names of the flags of run_squad.py: doc_stride,
        max_query_length, n_best_size, max_answer_length and null_score_diff_threshold; those that
        are left out have the flags' defaults, made smaller where windows are short.

    Call arguments:
      inputs: a tuple (questions, contexts), or the encoder's inputs.
    Returns:
      dict: `start_logits` and `end_logits`, float32 [B T], very negative at padding.
    """

    def __init__(
        self,
        config: BertConfig | dict[str, Any],
        tokenizer: Tokenizer | dict[str, Any],
        may_be_unanswerable: bool = False,
        settings: Mapping[str, Any] | None = None,
        name: str = "question_answerer",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, tokenizer, name=name, **kwargs)
        self.may_be_unanswerable = may_be_unanswerable
        self.settings = dict(settings or {})
        self.span = heads.SpanHead(self.config, dtype=self.dtype_policy)
        self.built = True

    @classmethod
    def of(
        cls, source: presets.Source, *, max_seq_length: int | None = None, **kwargs: Any
    ) -> "QuestionAnswerer":
        """Makes the model from an opened preset; see `from_preset`."""
        if source.metadata:
            task = QuestionAnswering.of_model(source.metadata)
            kwargs.setdefault("may_be_unanswerable", task.version_2_with_negative)
            kwargs.setdefault("settings", dict(source.metadata.settings))
        return super().of(source, max_seq_length=max_seq_length, **kwargs)

    @classmethod
    def _heads_to_load(cls, source: presets.Source) -> Sequence[str]:
        if source.kind != "span":
            raise InputError(
                f"{source.checkpoint.path} has no head for question answering. Give the "
                "--output_dir of run_squad.py, or a checkpoint that was trained on SQuAD."
            )
        return ("span",)

    def call(self, inputs: Any, training: bool = False) -> dict[str, Tensor]:
        batch = self.encoder_inputs(inputs)
        encoded = self.encoder(batch, training=training)
        start, end = self.span(encoded["sequence_output"], batch[features.MASK.name])
        return {"start_logits": start, "end_logits": end}

    def __call__(self, inputs: Any, contexts: Any = None, **kwargs: Any) -> Any:
        """`ask`, for plain strings; otherwise what `call` gives."""
        return super().__call__(inputs if contexts is None else (inputs, contexts), **kwargs)

    def answer(self, inputs: texts.Texts) -> Any:
        """`ask`, which calling the model on plain strings means."""
        if not isinstance(inputs, tuple) or len(inputs) != 2:
            raise TypeError("A question needs a context: give both, questions first.")
        return self.ask(*inputs)

    def ask(
        self,
        questions: texts.Column,
        contexts: texts.Column,
        max_answer_length: int | None = None,
    ) -> Any:
        """Answers questions. A long context is read in overlapping windows.

        Args:
          questions: a string or a list of strings.
          contexts: as many; one string is the context of all questions.
          max_answer_length: in tokens; None: that of `settings`.

        Returns:
          a list of `Answer`, or one for one question.
        """
        if isinstance(contexts, str | bytes) and not isinstance(questions, str | bytes):
            contexts = [contexts] * len(questions)
        given = texts.read(questions, contexts)
        pairs = zip(*given.columns, strict=True)
        examples = [
            SpanExample(str(index), texts.decoded(question), texts.decoded(context))
            for index, (question, context) in enumerate(pairs)
        ]
        predictions = self._predictions(examples, max_answer_length)
        answers = [_answer(prediction) for prediction in predictions]
        return answers[0] if given.is_one else answers

    def _predictions(
        self, examples: list[SpanExample], max_answer_length: int | None
    ) -> list[squad.Prediction]:
        length = self.tokenizer.max_seq_length
        task = QuestionAnswering.new(
            readers.SquadLayout(version_2_with_negative=self.may_be_unanswerable)
        )
        settings = {
            "doc_stride": min(task.doc_stride, length // 3),
            "max_query_length": min(task.max_query_length, length // 2),
        } | self.settings
        if max_answer_length is not None:
            settings["max_answer_length"] = max_answer_length
        task = task.with_settings(settings)
        rows = task.encode(examples, self.tokenizer.in_python, length)
        logits: dict[int, np.ndarray] = {}
        for indices in batching.length_batches(rows.lengths, _BATCH_SIZE):
            outputs = self.predict_on_batch(rows.batch(indices))
            pairs = np.stack([outputs["start_logits"], outputs["end_logits"]], axis=1)
            logits.update(zip(indices.tolist(), pairs, strict=True))
        return task.predict(examples, rows, [logits[index] for index in range(len(rows))])

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        own = {"may_be_unanswerable": self.may_be_unanswerable, "settings": self.settings}
        return {**super().get_config(), **own}


def _answer(prediction: squad.Prediction) -> Answer:
    """What a prediction says, with its place in the context."""
    texts_of_entries = [candidate.text for candidate in prediction.n_best]
    index = texts_of_entries.index(prediction.text)
    start = prediction.starts[index]
    probability = prediction.n_best[index].probability
    end = None if start is None else start + len(prediction.text)
    return Answer(prediction.text, probability, start, end)
