"""Outputs of a model for rows in memory, each batch padded to its own longest row only."""

from collections.abc import Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import batching
from bert_tf.examples.rows import Rows
from bert_tf.progress import Progress


class Predictor:
    """Runs a model forward; traced once, whatever the batch sizes and lengths.

    The weights may change between two calls.

    Attributes:
      model: a model of `modeling.models`.
    """

    def __init__(self, model: keras.Model) -> None:
        self.model = model
        self._graphs: dict[int, tf.types.experimental.PolymorphicFunction] = {}

    def _graph(self, num_axes: int) -> tf.types.experimental.PolymorphicFunction:
        """The graph for inputs [B T] or [B W T].

        Sizes are open from the start. Otherwise every new batch size or length, and then an attempt
        to guess which sizes vary, would trace the model again.
        """
        if num_axes not in self._graphs:
            signature = {
                feature.name: tf.TensorSpec([None] * num_axes, feature.dtype)
                for feature in features.ENCODER_INPUTS
            }
            graph = tf.function(self._logits, input_signature=[signature], autograph=False)
            self._graphs[num_axes] = graph
        return self._graphs[num_axes]

    def _logits(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        outputs = self.model(inputs, training=False)
        return {name: value for name, value in outputs.items() if name.endswith("logits")}

    def batches(
        self, rows: Rows, batch_size: int, label: str = "predict"
    ) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """Yields row numbers [B] and the logits of these rows, longest rows first.

        Args:
          rows: with or without labels.
          label: of the progress display.
        """
        unlabelled = rows.without_labels()
        graph = self._graph(2 if rows.group_sizes is None else 3)
        is_new = graph.experimental_get_tracing_count() == 0
        first = "compiling the model" if is_new else ""
        with Progress(label, len(rows), "examples", first=first) as progress:
            for indices in batching.length_batches(rows.lengths, batch_size):
                outputs = graph(unlabelled.batch(indices))
                yield indices, {name: value.numpy() for name, value in outputs.items()}
                progress.advance(len(indices))

    def logits(self, rows: Rows, batch_size: int, label: str = "predict") -> Sequence[np.ndarray]:
        """The `logits` output of every row, float32, in the order of the rows.

        [C]; or [T C] or [W], where T and W are those of the row's batch.
        """
        by_row: dict[int, np.ndarray] = {}
        for indices, outputs in self.batches(rows, batch_size, label):
            by_row.update(zip(indices.tolist(), outputs["logits"], strict=True))
        return [by_row[index] for index in range(len(rows))]
