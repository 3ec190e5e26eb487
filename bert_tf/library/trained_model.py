"""Models of a training that only answer: ensembles, and those that read long texts in windows."""

from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.examples import batching, packing
from bert_tf.examples.rows import Rows
from bert_tf.library import texts
from bert_tf.library.text_classifier import classification
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.text.wordpiece import WordPieceTokenizer

_BATCH_SIZE = 32


class TrainedModel:
    """A classifier or regressor, called on plain strings. It answers as run_classifier.py predicts.

    Attributes:
      labels: of the outputs, in their order; () for a regressor.
      num_texts: 1, or 2 if it takes pairs.
    """

    def __init__(self, directory: ModelDirectory) -> None:
        metadata = directory.metadata
        self.labels, self.num_texts = metadata.labels, metadata.num_texts
        task = registry.of_model(metadata)
        assert isinstance(task, TextTask), "`loading.load` has looked at the kind"
        self._windows = task.windows
        self._max_seq_length = metadata.max_seq_length
        self._tokenizer = WordPieceTokenizer(directory.vocabulary, metadata.do_lower_case)
        model = directory.build_model()
        axes = 2 if self._windows is None else 3
        signature = {
            feature.name: tf.TensorSpec([None] * axes, feature.dtype)
            for feature in features.ENCODER_INPUTS
        }
        self._logits = tf.function(
            lambda batch: model(batch, training=False)["logits"],
            input_signature=[signature],
            autograph=False,
        )

    def __call__(self, inputs: texts.Texts, batch_size: int = _BATCH_SIZE) -> Any:
        """Answers texts.

        Args:
          inputs: a string, a list of strings, or a tuple (first texts, second texts).
          batch_size: texts that are computed together.

        Returns:
          a list of `Classification`, or float32 [B] of a regressor; for one string one of them.

        Raises:
          ValueError: pairs for a model of single texts, or the other way round.
        """
        given = texts.read(inputs)
        if len(given.columns) != self.num_texts:
            wanted = {1: "single texts", 2: "pairs: (first texts, second texts)"}[self.num_texts]
            raise ValueError(f"This model takes {wanted}.")
        rows = self._rows(given)
        logits = np.empty((len(rows), len(self.labels) or 1), np.float32)
        for indices in batching.prediction_batches(rows, batch_size):
            logits[indices] = self._logits(rows.batch(indices)).numpy()
        if not self.labels:
            return logits[0, 0] if given.is_one else logits[:, 0]
        probabilities = tf.nn.softmax(logits).numpy()
        answers = [classification(self.labels, row) for row in probabilities]
        return answers[0] if given.is_one else answers

    def _rows(self, given: texts.Given) -> Rows:
        encoded = [map(self._tokenizer.encode, column) for column in given.columns]
        vocabulary, length = self._tokenizer.vocabulary, self._max_seq_length
        by_text: list[list[packing.Packed]] = []
        for first, *second in zip(*encoded, strict=True):
            pair = first, second[0] if second else None
            if self._windows is None:
                by_text.append([packing.pack(*pair, vocabulary, length)])
            else:
                by_text.append(packing.pack_windows(*pair, vocabulary, length, self._windows)[0])
        packed = [row for rows in by_text for row in rows]
        sizes = None if self._windows is None else np.array([len(rows) for rows in by_text])
        return Rows([row[0] for row in packed], [row[1] for row in packed], {}, sizes)
