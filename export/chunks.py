"""A batch computed in pieces of rows of similar length, so that little padding is computed."""

import tensorflow as tf


def compute(rows, function, num_outputs, piece_rows, multiple):
    """Applies `function` to a batch, piece by piece.

    Rows are sorted by length; each piece is padded to its own longest row only. What a row
    gives does not depend on the piece it is in but for the rounding of float32.

    Args:
      rows: `inputs.TextRows` or `inputs.IdRows`.
      function: from the encoder's inputs, a dict of int32 [B' T], to float32 [B' C].
      num_outputs: int, C.
      piece_rows: int, rows per piece at the most.
      multiple: int, lengths are padded to a multiple of it, so that few shapes occur.

    Returns:
      float32 [B C], in the order of the batch. An empty batch gives an empty tensor.
    """
    order = tf.argsort(rows.lengths)
    num_rows = tf.size(order)
    num_pieces = (num_rows + piece_rows - 1) // piece_rows
    outputs = tf.TensorArray(
        tf.float32, num_pieces, infer_shape=False, element_shape=[None, num_outputs]
    )

    def add_piece(index, outputs):
        piece = order[index * piece_rows : (index + 1) * piece_rows]  # [B']
        longest = rows.lengths[piece[-1]]
        length = tf.minimum((longest + multiple - 1) // multiple * multiple, rows.max_length)
        output = tf.ensure_shape(function(rows.batch(piece, length)), [None, num_outputs])
        return index + 1, outputs.write(index, output)

    _, outputs = tf.while_loop(
        lambda index, _: index < num_pieces,
        add_piece,
        (0, outputs),
        parallel_iterations=1,
    )
    return tf.gather(outputs.concat(), tf.math.invert_permutation(order))
