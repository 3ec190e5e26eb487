"""A served batch: texts or ids packed to rows, computed in chunks of rows of similar length.

Short rows are not padded to the longest row of the batch, so little padding is computed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from bert_tf import features
from bert_tf.text.graph_packing import PackedRows

# Lengths are padded to a multiple of this. Each new shape costs the CPU library a few milliseconds
# once; each padded position costs as much as a real one every time.
LENGTH_MULTIPLE = 4


class IdRows:
    """Rows that are packed and padded already.

    Args:
      batch: int32 [B T] each: `input_word_ids`, `input_mask`, `input_type_ids`.

    Attributes:
      lengths: int32 [B], 1 + position of the last real token.
      max_length: int32 scalar, T.
    """

    def __init__(self, batch: dict[str, tf.Tensor]) -> None:
        self._batch = batch
        mask = batch[features.MASK.name]
        self.max_length = tf.shape(mask)[1]
        ends = tf.where(mask > 0, tf.range(self.max_length) + 1, 1)
        self.lengths = tf.reduce_max(tf.pad(ends, [[0, 0], [0, 1]]), axis=1)

    def batch(self, rows: tf.Tensor, length: tf.Tensor) -> dict[str, tf.Tensor]:
        """The encoder's inputs for some rows, cut to `length`; see `PackedRows.batch`."""
        return {name: tf.gather(x, rows)[:, :length] for name, x in self._batch.items()}


def compute(
    rows: PackedRows | IdRows,
    function: Callable[[dict[str, tf.Tensor]], tf.Tensor],
    num_outputs: int,
    chunk_rows: int,
) -> tf.Tensor:
    """Applies `function` to a batch, chunk by chunk; see `compute_each`.

    Args:
      function: from the encoder's inputs, int32 [B' T] each, to float32 [B' C].
      num_outputs: C.
      chunk_rows: maximum rows of a chunk.

    Returns:
      float32 [B C].
    """
    specs = {"": tf.TensorSpec([None, num_outputs], tf.float32)}
    return compute_each(rows, lambda batch, _: {"": function(batch)}, specs, chunk_rows)[""]


def compute_each(
    rows: PackedRows | IdRows,
    function: Callable[[dict[str, tf.Tensor], tf.Tensor], dict[str, tf.Tensor]],
    specs: Mapping[str, tf.TensorSpec],
    chunk_rows: int,
    empty_shapes: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, tf.Tensor]:
    """Applies a function of several outputs to a batch, chunk by chunk.

    Rows are sorted by length; each chunk is padded only to its own longest row. Except for the
    rounding of float32, the output of a row does not depend on the chunk that it is in.

    Args:
      function: from the encoder's inputs, int32 [B' T] each, and the row numbers, int32 [B'].
      specs: of its outputs, [B' ...] each.
      chunk_rows: maximum rows of a chunk.
      empty_shapes: of the outputs for no rows, where the specs do not tell them. All chunks must
        agree on these axes.

    Returns:
      The outputs [B ...], in the order of the batch. An empty batch gives empty tensors.
    """
    order = tf.argsort(rows.lengths)
    num_rows = tf.size(order)
    num_chunks = (num_rows + chunk_rows - 1) // chunk_rows
    outputs = {
        name: tf.TensorArray(
            spec.dtype, num_chunks, infer_shape=False, element_shape=spec.shape, name=name or None
        )
        for name, spec in specs.items()
    }

    def add_chunk(
        index: tf.Tensor, outputs: dict[str, tf.TensorArray]
    ) -> tuple[tf.Tensor, dict[str, tf.TensorArray]]:
        chunk = order[index * chunk_rows : (index + 1) * chunk_rows]  # [B']
        longest = rows.lengths[chunk[-1]]
        length = tf.minimum(
            (longest + LENGTH_MULTIPLE - 1) // LENGTH_MULTIPLE * LENGTH_MULTIPLE, rows.max_length
        )
        given = function(rows.batch(chunk, length), chunk)
        return index + 1, {
            name: array.write(index, tf.ensure_shape(given[name], specs[name].shape))
            for name, array in outputs.items()
        }

    _, outputs = tf.while_loop(
        lambda index, _: index < num_chunks,
        add_chunk,
        (0, outputs),
        parallel_iterations=1,
    )
    position = tf.math.invert_permutation(order)
    empty_shapes = empty_shapes or {}

    def joined(name: str) -> tf.Tensor:
        return tf.gather(outputs[name].concat(), position)

    def joined_or_empty(name: str) -> tf.Tensor:
        empty = tf.zeros(empty_shapes[name], specs[name].dtype)
        result = tf.cond(num_rows > 0, lambda: joined(name), lambda: empty)
        return tf.ensure_shape(result, specs[name].shape)

    return {name: (joined_or_empty if name in empty_shapes else joined)(name) for name in outputs}
