"""Outputs of a model for rows, on one device or on all of them."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Self, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import batching
from bert_tf.examples.rows import Batch, Rows
from bert_tf.options import FineTuning
from bert_tf.progress import Progress
from bert_tf.training.devices.strategies import local_replicas

_Graph: TypeAlias = tf.types.experimental.PolymorphicFunction


class Predictor:
    """Runs a model forward.

    Each batch is padded to its own longest row, and the model is traced once, whatever the batch
    sizes and lengths. With `lengths` the shapes are static, and there is a graph for each length.

    The weights may change between two calls.

    Args:
      model: a model of `modeling.models`.
      strategy: whose replicas in this process share each batch; None: one device.
      lengths: tokens that a batch may have, ascending; None: any.
      jit_compile: whether XLA compiles the graphs of static shape.

    Attributes:
      model: the one given.
    """

    def __init__(
        self,
        model: keras.Model,
        strategy: tf.distribute.Strategy | None = None,
        lengths: Sequence[int] | None = None,
        *,
        jit_compile: bool = False,
    ) -> None:
        self.model = model
        self._strategy = strategy or tf.distribute.get_strategy()
        self._num_replicas = len(local_replicas(self._strategy))
        self._lengths = lengths
        self._forward = self._logits
        if jit_compile:
            self._forward = tf.function(self._logits, jit_compile=True, autograph=False)
        self._graphs: dict[Hashable, _Graph] = {}

    @classmethod
    def of_run(
        cls, model: keras.Model, options: FineTuning, strategy: tf.distribute.Strategy
    ) -> Self:
        """A predictor with the shapes that the options ask for."""
        if not options.has_static_shapes:
            return cls(model, strategy)
        is_compiled = options.jit_compile and not options.use_tpu  # TPUs compile everything
        lengths = options.lengths(options.max_seq_length)
        return cls(model, strategy, lengths, jit_compile=is_compiled)

    def batches(
        self, rows: Rows, batch_size: int, label: str = "predict"
    ) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """Yields row numbers [B] and the logits of these rows, longest rows first.

        Args:
          rows: with or without labels.
          label: of the progress display.
        """
        unlabelled = rows.without_labels()
        graph = self._graph(rows)
        is_new = graph.experimental_get_tracing_count() == 0
        first = "compiling the model" if is_new else ""
        with Progress(label, len(rows), "examples", first=first) as progress:
            for indices in batching.prediction_batches(rows, batch_size):
                batch = self._padded(unlabelled.batch(indices), batch_size, rows.num_sequences)
                outputs = graph(batch)
                count = len(indices)
                yield indices, {name: value.numpy()[:count] for name, value in outputs.items()}
                progress.advance(count)

    def logits(self, rows: Rows, batch_size: int, label: str = "predict") -> Sequence[np.ndarray]:
        """The `logits` output of every row, float32, in the order of the rows.

        [C]; or [T C] or [W], where T and W are those of the row's batch.
        """
        by_row: dict[int, np.ndarray] = {}
        for indices, outputs in self.batches(rows, batch_size, label):
            by_row.update(zip(indices.tolist(), outputs["logits"], strict=True))
        return [by_row[index] for index in range(len(rows))]

    def _graph(self, rows: Rows) -> _Graph:
        """The graph for inputs [B T] or [B W T], and those that rows have besides.

        Where shapes are not static, sizes are open from the start. Otherwise every new batch size
        or length, and then an attempt to guess which sizes vary, would trace the model again.
        """
        num_more = 0 if rows.num_sequences is None else 1
        key = num_more, rows.extra_inputs
        if key not in self._graphs:
            inputs = {
                feature.name: tf.TensorSpec(
                    [None] * (len(feature.axes.split()) + num_more), feature.dtype
                )
                for feature in (*features.ENCODER_INPUTS, *rows.extra_inputs)
            }
            signature = [inputs] if self._lengths is None else None
            self._graphs[key] = tf.function(
                self._on_replicas, input_signature=signature, autograph=False
            )
        return self._graphs[key]

    def _padded(self, batch: Batch, batch_size: int, num_sequences: int | None) -> Batch:
        """A batch that the replicas share evenly, of static shape if that is wanted."""
        num_rows, *_, length = batch[features.WORD_IDS.name].shape
        if self._lengths is not None:
            num_rows = batch_size
            length = next(each for each in self._lengths if each >= length)
        num_rows += -num_rows % self._num_replicas
        padded = {}
        for name, values in batch.items():
            sizes = [num_rows, *values.shape[1:]]
            sizes[features.PER_TOKEN[name].token_axis] = length
            if self._lengths is not None and num_sequences is not None:
                sizes[1] = num_sequences
            missing = [size - had for size, had in zip(sizes, values.shape, strict=True)]
            padded[name] = np.pad(values, [(0, count) for count in missing])
        return padded

    def _on_replicas(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """The logits of a batch, which the replicas of this process share."""
        if self._num_replicas == 1:
            return self._local(self._strategy.run(self._forward, args=(batch,)))

        def share() -> dict[str, tf.Tensor]:
            context = tf.distribute.get_replica_context()
            number = context.replica_id_in_sync_group % self._num_replicas
            return self._forward({name: self._part(x, number) for name, x in batch.items()})

        return self._local(self._strategy.run(share))

    def _part(self, values: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        """The rows of a replica, [b ...] of [B ...]."""
        sizes = [
            tf.shape(values)[axis] if size is None else size
            for axis, size in enumerate(values.shape)
        ]
        shape = [self._num_replicas, sizes[0] // self._num_replicas, *sizes[1:]]
        return tf.gather(tf.reshape(values, shape), number)

    def _local(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """What the replicas of this process give, one after the other."""
        return {
            name: tf.concat(self._strategy.experimental_local_results(value), axis=0)
            for name, value in outputs.items()
        }

    def _logits(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        outputs = self.model(inputs, training=False)
        return {name: value for name, value in outputs.items() if name.endswith("logits")}
