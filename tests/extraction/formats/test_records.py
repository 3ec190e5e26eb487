"""The records as TensorFlow parses them."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.extraction.formats.records import Records
from tests.extraction.formats import samples

N, H = samples.N, samples.H


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_vector_for_each_token(is_compressed, tmp_path):
    layout = samples.layout()
    rows = samples.rows(layout, numbers=(0, 1, 200))
    output = Records(layout, is_compressed=is_compressed)
    path = samples.write(output, tmp_path, [rows[:2], rows[2:]])
    compression = "GZIP" if is_compressed else None
    records = list(tf.data.TFRecordDataset(str(path), compression).as_numpy_iterator())
    assert len(records) == 3
    for record, row in zip(records, rows, strict=True):
        parsed = tf.io.parse_single_example(
            record,
            {
                "linex_index": tf.io.FixedLenFeature([], tf.int64),
                "input_ids": tf.io.RaggedFeature(tf.int64),
                "segment_ids": tf.io.RaggedFeature(tf.int64),
                "values": tf.io.FixedLenSequenceFeature([N, H], tf.float32, allow_missing=True),
            },
        )
        assert parsed["linex_index"] == row.row.number
        assert parsed["input_ids"].numpy().tolist() == row.row.word_ids
        assert parsed["segment_ids"].numpy().tolist() == row.row.type_ids
        np.testing.assert_array_equal(parsed["values"], row.vectors)


def test_half_precision_is_a_string_of_bytes(tmp_path):
    layout = samples.layout("mean", dtype="float16")
    rows = samples.rows(layout)
    path = samples.write(Records(layout), tmp_path, [rows])
    for record, row in zip(tf.data.TFRecordDataset(str(path)), rows, strict=True):
        parsed = tf.io.parse_single_example(
            record, {"values": tf.io.FixedLenFeature([], tf.string)}
        )
        found = tf.reshape(tf.io.decode_raw(parsed["values"], tf.float16), [N, H])
        np.testing.assert_array_equal(found, row.vectors)
