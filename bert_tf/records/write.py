"""Examples to TFRecord files: `tf.train.Example` bytes under the released feature names."""

import contextlib

import tensorflow as tf

from bert_tf import features, files


def encode(values):
    """Encodes one example.

    Args:
      values: dict from `features.Feature` to a sequence of numbers, in its record's length.

    Returns:
      bytes of a `tf.train.Example`; equal values give equal bytes.
    """
    example = tf.train.Example()
    record = example.features.feature
    for feature, numbers in values.items():
        if feature.dtype == "float32":
            record[feature.record_name].float_list.value.extend(numbers)
        else:
            record[feature.record_name].int64_list.value.extend(numbers)
    return example.SerializeToString(deterministic=True)


def pretraining_values(example, max_seq_length, max_predictions_per_seq):
    """Pads an example to the fixed lengths of a record, zeros behind.

    Args:
      example: `examples.pretraining.PretrainingExample`.
      max_seq_length: int, T.
      max_predictions_per_seq: int, P.

    Returns:
      dict for `encode` with the rows of `features.PRETRAINING`.
    """
    num_tokens, num_predictions = len(example.word_ids), len(example.positions)
    unused = [0] * (max_seq_length - num_tokens)
    unused_slots = [0] * (max_predictions_per_seq - num_predictions)
    return {
        features.WORD_IDS: example.word_ids + unused,
        features.MASK: [1] * num_tokens + unused,
        features.TYPE_IDS: example.type_ids + unused,
        features.MASKED_LM_POSITIONS: example.positions + unused_slots,
        features.MASKED_LM_IDS: example.labels + unused_slots,
        features.MASKED_LM_WEIGHTS: [1.0] * num_predictions + unused_slots,
        features.NEXT_SENTENCE_LABELS: [int(example.is_random_next)],
    }


@contextlib.contextmanager
def replacing_all(paths):
    """Yields one TFRecord writer for each path; the files appear together if the block ends well.

    Args:
      paths: list of str.

    Yields:
      list of `tf.io.TFRecordWriter`.
    """
    with contextlib.ExitStack() as stack:
        temporary = [stack.enter_context(files.replacing(path)) for path in paths]
        with contextlib.ExitStack() as open_writers:
            yield [open_writers.enter_context(tf.io.TFRecordWriter(path)) for path in temporary]
