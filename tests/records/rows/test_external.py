"""Records of the released script are rows like others; wrong ones are refused with the way out."""

import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.examples.rows import Rows
from bert_tf.records.rows import external

LENGTH, NUM_ROWS, VOCAB_SIZE = 13, 7, 300


def rows():
    rng = np.random.default_rng(5)
    word_ids = [rng.integers(1, 300, rng.integers(3, LENGTH + 1)).tolist() for _ in range(NUM_ROWS)]
    type_ids = [[0, *[1] * (len(row) - 1)] for row in word_ids]
    labels = {features.LABEL_IDS.name: rng.integers(0, 3, NUM_ROWS).astype(np.int32)}
    return Rows(word_ids, type_ids, labels)


def example(word_ids, type_ids, label, is_real=1):
    """As `file_based_convert_examples_to_features` makes it."""
    behind = [0] * (LENGTH - len(word_ids))
    values = {
        "input_ids": word_ids + behind,
        "input_mask": [1] * len(word_ids) + behind,
        "segment_ids": type_ids + behind,
        "label_ids": [label],
        "is_real_example": [is_real],
    }
    found = tf.train.Example()
    for name, numbers in values.items():
        found.features.feature[name].int64_list.value.extend(numbers)
    return found.SerializeToString()


@pytest.fixture
def path(tmp_path):
    data = rows()
    path = str(tmp_path / "train.tf_record")
    with tf.io.TFRecordWriter(path) as writer:
        for ids, types, label in zip(
            data.word_ids, data.type_ids, data.labels["label_ids"], strict=True
        ):
            writer.write(example(ids, types, int(label)))
        writer.write(example([2, 3, 1], [0, 0, 0], 0, is_real=0))
    return path


def index(path, **changes):
    sizes = {"max_seq_length": LENGTH, "vocab_size": VOCAB_SIZE, "num_labels": 3}
    return external.index(path, path + ".rows", **sizes | changes)


def test_the_real_examples_are_rows(path):
    found, wanted = index(path), rows()
    assert (len(found), found.num_sequences) == (NUM_ROWS, None)
    assert found.digest() == wanted.digest()
    for name, values in wanted.batch(np.array([5, 0])).items():
        np.testing.assert_array_equal(found.batch(np.array([5, 0]))[name], values)


def test_the_index_is_made_once(path):
    index(path)
    before = os.stat(os.path.join(path + ".rows", "index.npy")).st_ino
    index(path)
    assert os.stat(os.path.join(path + ".rows", "index.npy")).st_ino == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_seq_length": 12}, "Give --max_seq_length=13"),
        ({"vocab_size": 100}, "the vocabulary has 100 tokens. Give the --vocab_file"),
        ({"num_labels": 2}, r"has label_ids \[2\]; one from 0 to 1 was wanted"),
    ],
)
def test_other_records_are_refused_and_leave_nothing(path, changes, message):
    with pytest.raises(InputError, match=message):
        index(path, **changes)
    assert not os.path.exists(path + ".rows")
