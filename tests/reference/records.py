"""Records as protobuf itself writes them, one at a time."""

import hashlib
import os

import tensorflow as tf

from bert_tf import features
from bert_tf.options import PretrainingData
from bert_tf.records import manifest
from bert_tf.records.build import summary


def record(values):
    """The bytes of a `tf.train.Example`.

    Args:
      values: dict from `features.Feature` to a list of numbers.
    """
    example = tf.train.Example()
    for feature, numbers in values.items():
        if feature.dtype == "float32":
            value = tf.train.Feature(float_list=tf.train.FloatList(value=numbers))
        else:
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=numbers))
        example.features.feature[feature.record_name].CopyFrom(value)
    return example.SerializeToString(deterministic=True)


def pretraining_values(word_ids, positions, labels, *, type_ids=None, pair_label=None, sizes=None):
    """What `record` takes, for a pre-training example.

    Args:
      word_ids, positions, labels: lists of int, without padding.
      type_ids: list of int; none: all 0.
      pair_label: int; none: an example without a second text.
      sizes: dict with "T" and "P" to pad to; none: no padding.
    """

    def pad(numbers, axis):
        return numbers + [0] * (sizes[axis] - len(numbers) if sizes else 0)

    values = {
        features.WORD_IDS: pad(word_ids, "T"),
        features.MASK: pad([1] * len(word_ids), "T"),
        features.TYPE_IDS: pad(type_ids or [0] * len(word_ids), "T"),
        features.MASKED_LM_POSITIONS: pad(positions, "P"),
        features.MASKED_LM_IDS: pad(labels, "P"),
        features.MASKED_LM_WEIGHTS: pad([1.0] * len(positions), "P"),
    }
    if pair_label is not None:
        values[features.NEXT_SENTENCE_LABELS] = [pair_label]
    return values


def write_file(path, records):
    """Writes a TFRecord file of records given as bytes or as what `record` takes."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for values in records:
            writer.write(values if isinstance(values, bytes) else record(values))
    return str(path)


def enter(paths, vocabulary, **changes):
    """Writes the manifest.json of files as if a build with these options had made them."""
    values = {"input_file": "text.txt", "output_file": ",".join(paths), "vocab_file": "vocab.txt"}
    values["do_lower_case"] = not vocabulary.is_cased
    written = []
    for path in paths:
        num_records = sum(1 for _ in tf.data.TFRecordDataset(path))
        size = {"records": num_records, "bytes": os.path.getsize(path)}
        with open(path, "rb") as file:
            written.append(size | {"sha256": hashlib.sha256(file.read()).hexdigest()})
    counts = summary.TextCounts(), summary.ExampleCounts()
    manifest.add(paths, written, PretrainingData(**values | changes), vocabulary, [], *counts)
