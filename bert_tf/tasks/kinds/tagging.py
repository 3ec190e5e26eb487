"""A tag for each word of a sentence, such as named entities (BERT section 5.3).

The first wordpiece of a word carries its tag, the others none. A sentence that does not fit is cut
between words into several rows, so that every word gets a tag.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bert_tf import features, progress
from bert_tf.examples import readers
from bert_tf.examples.labelled import TokenExample
from bert_tf.examples.rows import NO_LABEL, Rows, Values
from bert_tf.tasks import metrics, predictions
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.kinds import class_weights as weights_of_classes
from bert_tf.tasks.scoring import calibration, details
from bert_tf.tasks.task import Batch, SumAndCount, Task, log_softmax
from bert_tf.text.wordpiece import WordPieceTokenizer

_NUM_SPECIAL = 2  # [CLS] words [SEP]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tagging(Task[TokenExample]):
    """One of C tags for each word.

    Attributes:
      document_context: whether rows are filled up with words of the document around the sentence,
        as in the paper; these have no tags.
    """

    kind: ClassVar[str] = "tag"
    answers: ClassVar[str] = metrics.TAGS
    metrics: tuple[str, ...] = ("entity_f1", "entity_precision", "entity_recall")
    document_context: bool = False

    @classmethod
    def default_layout(cls, num_texts: int) -> readers.TokenLayout:
        return readers.TokenLayout()

    @property
    def settings(self) -> dict[str, Any]:
        return {"document_context": True} if self.document_context else {}

    def with_settings(self, settings: Mapping[str, Any]) -> Task:
        super().with_settings(settings)
        context = self.document_context or settings.get("document_context", False)
        return dataclasses.replace(self, document_context=context)

    @property
    def read_label(self) -> readers.LabelReader:
        return readers.one_of(self.labels) if self.labels else readers.any_label

    def labels_of(self, example: TokenExample) -> Iterable[str]:
        return example.tags or ()

    @property
    def encodes_silently(self) -> bool:
        return False

    def encode(
        self, examples: Sequence[TokenExample], tokenizer: WordPieceTokenizer, max_seq_length: int
    ) -> Rows:
        """Rows have labels even without tags: then 0 for the first wordpiece of each word."""
        encode = _WordEncoder(tokenizer)
        index = {tag: i for i, tag in enumerate(self.labels)}
        word_ids: list[list[int]] = []
        label_ids: list[np.ndarray] = []
        weights: list[float] = []
        for example in progress.counted(examples, "tokenize", "sentences"):
            tags = example.tags or (self.labels[0],) * len(example.words)
            for ids, words in self._rows(example, encode, max_seq_length):
                labels = np.full(len(ids), NO_LABEL, np.int32)
                for word, position in words:
                    labels[position] = index[tags[word]]
                word_ids.append(ids)
                label_ids.append(labels)
                weights.append(example.weight)
        if encode.num_empty:
            print(
                f"{encode.num_empty:,} words have no wordpiece (control characters and the like); "
                "each is read as [UNK], and keeps its tag.",
                flush=True,
            )
        found: dict[str, Values] = {features.TOKEN_LABEL_IDS.name: label_ids}
        if any(weight != 1.0 for weight in weights):
            found[features.EXAMPLE_WEIGHTS.name] = np.array(weights, np.float32)
        return Rows(word_ids, [[0] * len(ids) for ids in word_ids], found)

    def _rows(
        self, example: TokenExample, encode: _WordEncoder, max_seq_length: int
    ) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
        """Ids of each row of a sentence, and the (word, position of its first wordpiece) in it."""
        budget = max_seq_length - _NUM_SPECIAL
        pieces = [encode(word)[:budget] for word in example.words]
        for first, last in _cut([len(ids) for ids in pieces], budget):
            left: list[int] = []
            right: list[int] = []
            if self.document_context:
                around = budget - sum(map(len, pieces[first:last]))
                # A word is at least one wordpiece: those further away cannot fit.
                before = example.before[max(0, len(example.before) - around) :]
                left, right = _context(
                    [encode(word) for word in before] + pieces[:first],
                    pieces[last:] + [encode(word) for word in example.after[:around]],
                    around,
                )
            ids = [encode.tokenizer.vocabulary.cls_id, *left]
            words = []
            for word in range(first, last):
                words.append((word, len(ids)))
                ids += pieces[word]
            yield [*ids, *right, encode.tokenizer.vocabulary.sep_id], words

    def weighted(
        self, class_weights: str, examples: Sequence[TokenExample]
    ) -> tuple[Task, Sequence[TokenExample]]:
        counts = collections.Counter(tag for example in examples for tag in example.tags or ())
        weights = weights_of_classes.balanced(counts, self.labels)
        return dataclasses.replace(self, label_weights=weights), examples

    def counts(self, batch: Batch) -> dict[str, Any]:
        from keras import ops

        from bert_tf.modeling import losses

        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        of_tokens = losses.token_weights(
            batch[features.TOKEN_LABEL_IDS.name], weights, self.label_weights
        )
        return {"loss": ops.sum(of_tokens)}

    def measure(self, outputs: dict[str, Any], batch: Batch) -> dict[str, SumAndCount]:
        from keras import ops

        from bert_tf.modeling import losses

        logits, labels = outputs["logits"], batch[features.TOKEN_LABEL_IDS.name]
        weights = batch.get(features.EXAMPLE_WEIGHTS.name)
        right = losses.hits(logits, labels) * losses.token_weights(labels, weights)
        return {
            "loss": losses.tagging(logits, labels, weights, self.label_weights),
            "token_accuracy": (ops.sum(right), ops.sum(losses.token_weights(labels, weights))),
        }

    def teacher_features(
        self, rows: Rows, teacher_rows: Rows, logits: Sequence[np.ndarray]
    ) -> dict[str, Values]:
        """Arrays [C T]; the words are the same, whatever wordpieces and rows the teacher has."""
        of_words = _of_words(teacher_rows, logits).astype(np.float32)  # [words C]
        found, first = [], 0
        for labels in rows.labels[features.TOKEN_LABEL_IDS.name]:
            is_word = labels >= 0
            of_row = np.zeros((of_words.shape[1], len(labels)), np.float32)
            last = first + int(is_word.sum())
            of_row[:, is_word] = of_words[first:last].T
            found.append(of_row)
            first = last
        return {features.TEACHER_TOKEN_LOGITS.name: found}

    def distillation_loss(
        self, outputs: dict[str, Any], batch: Batch, temperature: float
    ) -> SumAndCount:
        from bert_tf.modeling import distillation_losses

        return distillation_losses.tagging(
            outputs["logits"],
            batch[features.TEACHER_TOKEN_LOGITS.name],
            batch[features.TOKEN_LABEL_IDS.name],
            temperature,
            batch.get(features.EXAMPLE_WEIGHTS.name),
        )

    def evaluate(
        self, examples: Sequence[TokenExample], rows: Rows, logits: Sequence[np.ndarray]
    ) -> Evaluation:
        references = [list(example.tags or ()) for example in examples]
        log_probabilities = log_softmax(_of_words(rows, logits))  # [words C]
        answers = self._by_sentence(examples, log_probabilities)
        scores = metrics.evaluate(self.metrics, answers, references)
        index = {tag: i for i, tag in enumerate(self.labels)}
        ids = np.array([index[tag] for tags in references for tag in tags])
        scores["loss"] = float(-np.mean(log_probabilities[np.arange(len(ids)), ids]))
        tables = (
            details.of_entities(examples, answers, references)
            if self.are_entities
            else details.of_word_tags(examples, self.labels, answers, references)
        )
        found = calibration.of_labels(np.exp(log_probabilities), ids)
        return Evaluation(scores, calibration=found, tables=tables)

    @property
    def are_entities(self) -> bool:
        """Whether tags are a prefix and a type, as in B-PER."""
        return any("-" in label for label in self.labels)

    def write_predictions(
        self,
        directory: str,
        suffix: str,
        examples: Sequence[TokenExample],
        rows: Rows,
        logits: Sequence[np.ndarray],
    ) -> list[str]:
        probabilities = np.exp(log_softmax(_of_words(rows, logits)))  # [words C]
        answers = self._by_sentence(examples, probabilities)
        ends = np.cumsum([len(example.words) for example in examples])[:-1]
        chances = np.split(probabilities.max(axis=-1), ends)
        return predictions.write_tags(
            directory, suffix, examples, answers, chances, self.are_entities
        )

    def _by_sentence(self, examples: Sequence[TokenExample], scores: np.ndarray) -> list[list[str]]:
        """The tags with the highest scores [words C], by sentence."""
        tags = [self.labels[i] for i in scores.argmax(axis=-1)]
        ends = np.cumsum([len(example.words) for example in examples]).tolist()
        return [tags[first:end] for first, end in zip([0, *ends], ends, strict=False)]


class _WordEncoder:
    """Words to ids, at least one each.

    Attributes:
      num_empty: words without a wordpiece, which became [UNK].
    """

    def __init__(self, tokenizer: WordPieceTokenizer) -> None:
        self.tokenizer = tokenizer
        self.num_empty = 0

    def __call__(self, word: str) -> list[int]:
        if ids := list(self.tokenizer.encode(word)):
            return ids
        self.num_empty += 1
        return [self.tokenizer.vocabulary.unk_id]


def _cut(lengths: Sequence[int], budget: int) -> Iterator[tuple[int, int]]:
    """Cuts words into ranges (first, one after the last) of at most `budget` wordpieces."""
    first = total = 0
    for word, length in enumerate(lengths):
        if total + length > budget:
            yield first, word
            first, total = word, 0
        total += length
    yield first, len(lengths)


def _context(
    before: Sequence[list[int]], after: Sequence[list[int]], budget: int
) -> tuple[list[int], list[int]]:
    """Wordpieces around a sentence: the nearest ones, equally many on both sides if there are."""
    left = [piece for ids in before for piece in ids]
    right = [piece for ids in after for piece in ids]
    num_left = min(len(left), max(budget // 2, budget - len(right)))
    return left[len(left) - num_left :], right[: budget - num_left]


def _of_words(rows: Rows, logits: Sequence[np.ndarray]) -> np.ndarray:
    """Logits [words C] of the first wordpieces of all words, one sentence after the other."""
    labels = rows.labels[features.TOKEN_LABEL_IDS.name]
    return np.concatenate(
        [of_row[: len(ids)][ids >= 0] for of_row, ids in zip(logits, labels, strict=True)]
    )
