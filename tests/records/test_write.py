"""Records as the released input function parses them; files whole or not at all."""

import os

import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.examples.pretraining import PretrainingExample
from bert_tf.records import write

EXAMPLE = PretrainingExample(
    word_ids=[2, 4, 300, 3, 70_000, 3],
    type_ids=[0, 0, 0, 0, 1, 1],
    positions=[1, 4],
    labels=[29_999, 5],
    is_random_next=True,
    is_capped=False,
)


def released_specification(max_seq_length, max_predictions_per_seq):
    """Names, lengths and types that the released run_pretraining.py asks for."""
    ints = {"input_ids", "input_mask", "segment_ids"}
    slots = {"masked_lm_positions", "masked_lm_ids"}
    return (
        {name: tf.io.FixedLenFeature([max_seq_length], tf.int64) for name in ints}
        | {name: tf.io.FixedLenFeature([max_predictions_per_seq], tf.int64) for name in slots}
        | {"masked_lm_weights": tf.io.FixedLenFeature([max_predictions_per_seq], tf.float32)}
        | {"next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64)}
    )


def test_the_released_input_function_reads_it():
    record = write.encode(write.pretraining_values(EXAMPLE, 11, 3))
    found = tf.io.parse_single_example(record, released_specification(11, 3))
    assert {name: value.numpy().tolist() for name, value in found.items()} == {
        "input_ids": [2, 4, 300, 3, 70_000, 3, 0, 0, 0, 0, 0],
        "input_mask": [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
        "segment_ids": [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0],
        "masked_lm_positions": [1, 4, 0],
        "masked_lm_ids": [29_999, 5, 0],
        "masked_lm_weights": [1.0, 1.0, 0.0],
        "next_sentence_labels": [1],
    }


def test_a_record_holds_these_features_and_no_others():
    record = write.encode(write.pretraining_values(EXAMPLE, 11, 3))
    names = tf.train.Example.FromString(record).features.feature.keys()
    assert set(names) == set(released_specification(11, 3))


def test_equal_values_give_equal_bytes_in_any_order():
    values = write.pretraining_values(EXAMPLE, 11, 3)
    assert write.encode(values) == write.encode(dict(reversed(values.items())))


def test_a_full_example_needs_no_padding():
    values = write.pretraining_values(EXAMPLE, 6, 2)
    assert values[features.WORD_IDS] == EXAMPLE.word_ids
    assert values[features.MASKED_LM_WEIGHTS] == [1.0, 1.0]


def test_files_appear_whole(tmp_path):
    paths = [str(tmp_path / name) for name in ("a", "b")]
    with write.replacing_all(paths) as writers:
        for number, writer in enumerate(writers):
            writer.write(b"%d" % number)
        assert not os.path.exists(paths[0])
    found = [[r.numpy() for r in tf.data.TFRecordDataset(path)] for path in paths]
    assert found == [[b"0"], [b"1"]]


def test_an_error_leaves_the_old_files(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        with write.replacing_all([str(path), str(tmp_path / "b")]) as writers:
            writers[0].write(b"new")
            raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]
