"""What the kinds of tasks on one text or a pair of texts share."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bert_tf import progress
from bert_tf.examples import packing, readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.readers import Columns, TextLayout
from bert_tf.examples.rows import Rows, Values
from bert_tf.tasks.task import Task, weights_of
from bert_tf.text.wordpiece import WordPieceTokenizer

# Columns of a user's own data, unless they are named; `TEXT` where there is no `TEXT_A`.
TEXT_A, TEXT, TEXT_B, LABEL = "text_a", "text", "text_b", "label"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextTask(Task[TextExample]):
    """Texts or pairs of texts, each a row.

    Attributes:
      layout: its columns tell the number of texts.
      windows: how a text that is longer than a row is read; None: what does not fit is cut off.
    """

    layout: TextLayout
    windows: packing.Windows | None = None

    @classmethod
    def default_layout(cls, num_texts: int) -> TextLayout:
        columns = Columns(text_a=TEXT_A, text_b=TEXT_B if num_texts == 2 else None, label=LABEL)
        return TextLayout(columns=columns, test_columns=dataclasses.replace(columns, label=None))

    @property
    def num_texts(self) -> int:
        return self.layout.num_texts

    def with_num_texts(self, num_texts: int) -> TextTask:
        """This task of a user's own data with 1 or 2 texts per example."""
        columns, test_columns = self.layout.columns, self.layout.test_columns
        text_b = (columns.text_b or TEXT_B) if num_texts == 2 else None
        layout = dataclasses.replace(
            self.layout,
            columns=dataclasses.replace(columns, text_b=text_b),
            test_columns=dataclasses.replace(test_columns, text_b=text_b),
        )
        return dataclasses.replace(self, layout=layout)

    def fitted(self, data_dir: str | None) -> Task:
        """See `Task.fitted`; the header of the training file tells whether there are two texts."""
        if not self.is_own_data:
            return self
        first = readers.expand(self.path("train", data_dir))[0]
        header = readers.read_header(first, self.layout.dialect)
        is_pair = self.layout.columns.text_b or TEXT_B in header
        return Task.fitted(self.with_num_texts(2 if is_pair else 1), data_dir)

    def with_labels(self, labels: Iterable[str], num_texts: int) -> Task:
        if not self.is_own_data or num_texts < self.num_texts:
            return super().with_labels(labels, num_texts)
        return Task.with_labels(self.with_num_texts(num_texts), labels, num_texts)

    @property
    def settings(self) -> dict[str, Any]:
        if not self.windows:
            return {}
        return {
            "long_texts": "windows",
            "max_windows": self.windows.max_windows,
            "window_stride": self.windows.stride,
            "window_pooling": self.windows.pooling,
        }

    def with_settings(self, settings: Mapping[str, Any]) -> Task:
        super().with_settings(settings)
        if settings.get("long_texts") != "windows":
            return self
        windows = packing.Windows(
            settings["max_windows"], settings["window_stride"], settings["window_pooling"]
        )
        return dataclasses.replace(self, windows=windows)

    @property
    def encodes_silently(self) -> bool:
        return self.windows is None

    def encode(
        self, examples: Sequence[TextExample], tokenizer: WordPieceTokenizer, max_seq_length: int
    ) -> Rows:
        texts = (
            (
                tokenizer.encode(example.text_a),
                None if example.text_b is None else tokenizer.encode(example.text_b),
            )
            for example in progress.counted(examples, "tokenize", "examples")
        )
        vocabulary, sizes = tokenizer.vocabulary, None
        if self.windows:
            windows = [
                packing.pack_windows(*ids, vocabulary, max_seq_length, self.windows)
                for ids in texts
            ]
            _describe(windows, self.windows)
            packed = [row for rows, _ in windows for row in rows]
            sizes = np.array([len(rows) for rows, _ in windows], np.int64)
        else:
            packed = [packing.pack(*ids, vocabulary, max_seq_length) for ids in texts]
        labels: Mapping[str, Values] = {}
        if examples[0].label is not None:
            labels = {**self.label_features(examples), **weights_of(examples)}
        return Rows([row[0] for row in packed], [row[1] for row in packed], labels, sizes)

    @abc.abstractmethod
    def label_features(self, examples: Sequence[TextExample]) -> dict[str, Values]:
        """The label features of examples with labels."""

    @abc.abstractmethod
    def answer(self, logits: Any) -> dict[str, Any]:
        """What an exported model answers, in its graph: tensors [B ...] by name.

        Args:
          logits: float32 [B C].
        """

    def labels_of_rows(self, logits: Any) -> Any:
        """The labels in each row, string [B C]: TensorFlow Serving answers rows."""
        import tensorflow as tf

        return tf.tile(tf.constant(self.labels)[tf.newaxis], [tf.shape(logits)[0], 1])


def _describe(
    rows: Sequence[tuple[Sequence[packing.Packed], int]], windows: packing.Windows
) -> None:
    """Prints how many windows there are, and what is left out."""
    long = sum(len(of_text) > 1 for of_text, _ in rows)
    total = sum(len(of_text) for of_text, _ in rows)
    text = f"  {long:,} of {len(rows):,} examples are longer than a row; {total:,} windows in all"
    if cut := sum(left > 0 for _, left in rows):
        text += (
            f". {cut:,} need more than --max_windows={windows.max_windows} each: what follows "
            "them is cut off"
        )
    print(f"{text}.", flush=True)
