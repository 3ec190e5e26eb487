"""Rows in records are those in memory: the same batches, lengths and digest."""

import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.examples.rows import NO_LABEL, Rows
from bert_tf.records.rows import layout, write
from bert_tf.records.rows.read import RecordRows

LENGTH, NUM_ROWS, NUM_LABELS = 13, 11, 3
GROUP_SIZES = np.array([2, 3, 2, 4, 2, 3, 2, 2, 3, 2, 4])
MADE_FROM = {"examples": "digest", "labels": ["x", "y"]}


def rows(kind):
    rng = np.random.default_rng(5)
    group_sizes = GROUP_SIZES if kind == "choice" else None
    count = NUM_ROWS if group_sizes is None else group_sizes.sum()
    word_ids = [rng.integers(1, 300, rng.integers(3, LENGTH + 1)).tolist() for _ in range(count)]
    type_ids = [[0, *[1] * (len(row) - 1)] for row in word_ids]
    ids = {features.LABEL_IDS.name: rng.integers(0, 2, NUM_ROWS).astype(np.int32)}
    labels = {
        "classify": ids,
        "choice": ids,
        "weighted": ids | {features.EXAMPLE_WEIGHTS.name: np.arange(11).astype(np.float32)},
        "regress": {features.LABEL_VALUES.name: rng.normal(size=NUM_ROWS).astype(np.float32)},
        "multi_label": {
            features.LABEL_VECTORS.name: rng.integers(0, 2, (NUM_ROWS, 3)).astype(np.float32)
        },
        "tag": {
            features.TOKEN_LABEL_IDS.name: [
                rng.integers(NO_LABEL, NUM_LABELS, len(row)).astype(np.int32) for row in word_ids
            ]
        },
        "span": {
            feature.name: rng.integers(0, 3, NUM_ROWS).astype(np.int32)
            for feature in (features.START_POSITIONS, features.END_POSITIONS)
        },
    }[kind]
    return Rows(word_ids, type_ids, labels, group_sizes)


def part(data, first, end):
    """Some of the rows."""
    sizes = np.ones(len(data), int) if data.group_sizes is None else data.group_sizes
    start, stop = sizes[:first].sum(), sizes[:end].sum()
    labels = {name: values[first:end] for name, values in data.labels.items()}
    group_sizes = None if data.group_sizes is None else sizes[first:end]
    return Rows(data.word_ids[start:stop], data.type_ids[start:stop], labels, group_sizes)


@pytest.fixture
def written(tmp_path):
    """`written(rows)`: the same in records, written in parts of four."""

    def write_and_open(data, directory=tmp_path / "train_records"):
        parts = [part(data, first, first + 4) for first in range(0, len(data), 4)]
        encoded = ((rows, write.encode(rows, LENGTH)) for rows in parts)
        write.write(str(directory), encoded, made_from=MADE_FROM, max_seq_length=LENGTH)
        return RecordRows.open(str(directory), MADE_FROM)

    return write_and_open


@pytest.mark.parametrize(
    "kind", ["classify", "regress", "multi_label", "tag", "choice", "span", "weighted"]
)
def test_records_hold_the_rows(kind, written):
    wanted = rows(kind)
    found = written(wanted)
    assert (len(found), found.num_sequences) == (NUM_ROWS, wanted.num_sequences)
    assert found.digest() == wanted.digest()
    np.testing.assert_array_equal(found.lengths, wanted.lengths)
    for indices in (np.array([7, 0, 10]), np.array([3])):
        batch, expected = found.batch(indices), wanted.batch(indices)
        assert batch.keys() == expected.keys()
        for name, values in expected.items():
            np.testing.assert_array_equal(batch[name], values, err_msg=name)
            assert batch[name].dtype == values.dtype
    assert found.without_labels().batch(np.array([2])).keys() == {
        feature.name for feature in features.ENCODER_INPUTS
    }


def test_no_rows_have_the_types_of_the_others(written):
    wanted = rows("choice")
    batch, expected = written(wanted).batch(np.arange(0)), wanted.batch(np.arange(0))
    assert {name: (x.shape, x.dtype) for name, x in batch.items()} == {
        name: (x.shape, x.dtype) for name, x in expected.items()
    }


def test_the_first_rows(written):
    found, wanted = written(rows("tag")), rows("tag").head(5)
    assert found.head(None) is found and found.head(NUM_ROWS) is found
    head = found.head(5)
    assert len(head) == 5 and head.digest() != found.digest()
    np.testing.assert_array_equal(head.lengths, wanted.lengths)


def test_records_are_those_of_the_released_script(written):
    """As `file_based_convert_examples_to_features` writes them."""
    data = rows("classify")
    path = written(data).path
    assert os.path.basename(path) == "train.tf_record"
    names = {"input_ids", "input_mask", "segment_ids"}
    specification = {name: tf.io.FixedLenFeature([LENGTH], tf.int64) for name in names}
    for name in ("label_ids", "is_real_example"):
        specification[name] = tf.io.FixedLenFeature([], tf.int64)
    for number, record in enumerate(tf.data.TFRecordDataset(path)):
        found = tf.io.parse_single_example(record, specification)
        ids = data.word_ids[number]
        assert found["input_ids"].numpy().tolist() == ids + [0] * (LENGTH - len(ids))
        assert found["input_mask"].numpy().tolist() == [1] * len(ids) + [0] * (LENGTH - len(ids))
        assert found["label_ids"] == data.labels["label_ids"][number]
        assert found["is_real_example"] == 1
    assert number == NUM_ROWS - 1


def test_a_directory_made_from_something_else_or_cut_off_is_not_used(written, tmp_path):
    found = written(rows("classify"))
    assert RecordRows.open(found.directory, MADE_FROM | {"labels": ["x"]}) is None
    assert RecordRows.open(str(tmp_path / "none"), MADE_FROM) is None
    os.truncate(found.path, os.path.getsize(found.path) - 20)
    assert RecordRows.open(found.directory, MADE_FROM) is None
    (tmp_path / "train_records" / layout.DESCRIPTION).write_text("{}")
    assert RecordRows.open(found.directory, MADE_FROM) is None


def test_an_interrupted_write_leaves_nothing(written, tmp_path):
    def parts():
        data = part(rows("classify"), 0, 4)
        yield data, write.encode(data, LENGTH)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write.write(str(tmp_path / "new"), parts(), made_from=MADE_FROM, max_seq_length=LENGTH)
    assert os.listdir(tmp_path) == []
