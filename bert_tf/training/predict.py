"""Outputs of a model for rows in memory, each batch padded to its own longest row only."""

import numpy as np
import tensorflow as tf

from bert_tf.examples import batching
from bert_tf.progress import Progress


class Predictor:
    """Runs a model forward; traced once, whatever the batch sizes and lengths."""

    def __init__(self, model):
        self._forward = tf.function(
            lambda inputs: {
                name: value
                for name, value in model(inputs, training=False).items()
                if name.endswith("logits")
            },
            reduce_retracing=True,
        )

    def batches(self, rows, batch_size, label="predict"):
        """Yields (row numbers [B], dict of logits) over all rows, longest rows first.

        Args:
          rows: `batching.Rows`; labels are not looked at.
          batch_size: int.
          label: str, of the progress display.
        """
        unlabelled = batching.Rows(rows.word_ids, rows.type_ids, {})
        progress = Progress(label, len(rows), "examples")
        for indices in batching.length_batches(rows.lengths, batch_size):
            outputs = self._forward(unlabelled.batch(indices))
            yield indices, {name: value.numpy() for name, value in outputs.items()}
            progress.advance(len(indices))
        progress.close()

    def logits(self, rows, batch_size, label="predict"):
        """float32 [N C]: the `logits` output of every row, in the order of the rows."""
        found = {}
        for indices, outputs in self.batches(rows, batch_size, label):
            found.update(zip(indices.tolist(), outputs["logits"], strict=True))
        return np.stack([found[i] for i in range(len(rows))])
