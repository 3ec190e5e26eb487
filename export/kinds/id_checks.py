"""What an ids signature refuses: inputs without a row in the model's tables, or unlike each other.

Without these checks a CPU answers them: a mask of fewer rows cuts the batch, and a type that the
table lacks reads another one.
"""

import tensorflow as tf

from bert_tf import features
from bert_tf.config import BertConfig


def checked(batch: dict[str, tf.Tensor], config: BertConfig) -> dict[str, tf.Tensor]:
    """The encoder's inputs, as they are; what is computed from them waits for the checks.

    Args:
      batch: int32 [... T] each: `input_word_ids`, `input_mask`, `input_type_ids`.
      config: of the encoder.

    Raises:
      tf.errors.InvalidArgumentError: when the graph runs: the shapes differ, a value is outside its
        table, or T is beyond the positions. The message names the input and both values.
    """
    word_ids = batch[features.WORD_IDS.name]
    sizes = {
        features.WORD_IDS.name: (config.vocab_size, "vocab_size"),
        features.MASK.name: (2, "1 for a token, 0 for padding"),
        features.TYPE_IDS.name: (config.type_vocab_size, "type_vocab_size"),
    }
    are_valid = [_has_room(word_ids, config.max_position_embeddings)]
    are_valid += [
        _is_shaped(name, values, word_ids)
        for name, values in batch.items()
        if values is not word_ids
    ]
    are_valid += [_is_inside(name, values, *sizes[name]) for name, values in batch.items()]
    with tf.control_dependencies(are_valid):
        return {name: tf.identity(values) for name, values in batch.items()}


def _has_room(word_ids: tf.Tensor, num_positions: int) -> tf.Operation:
    length = tf.shape(word_ids)[-1]
    return tf.debugging.Assert(
        length <= num_positions,
        [
            f"Tokens in a row of {features.WORD_IDS.name}:",
            length,
            f"At most {num_positions} are wanted (max_position_embeddings).",
        ],
    )


def _is_shaped(name: str, values: tf.Tensor, word_ids: tf.Tensor) -> tf.Operation:
    shape, wanted = tf.shape(values), tf.shape(word_ids)
    return tf.debugging.Assert(
        tf.reduce_all(shape == wanted),
        [
            f"Shape of {name}:",
            shape,
            f"The shape of {features.WORD_IDS.name} is wanted:",
            wanted,
        ],
    )


def _is_inside(name: str, values: tf.Tensor, size: int, meaning: str) -> tf.Operation:
    least, greatest = tf.reduce_min(values), tf.reduce_max(values)
    return tf.debugging.Assert(
        (least >= 0) & (greatest < size),
        [
            f"Least value of {name}:",
            least,
            "Greatest:",
            greatest,
            f"Values from 0 to {size - 1} are wanted ({meaning}).",
        ],
    )
